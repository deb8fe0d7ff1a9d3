"""What a request asks of the sampler, the checkpoint's defaults and ours -> one row's settings."""

from __future__ import annotations

import secrets

from engine.api import InvalidRequestError, Sampling
from engine.checkpoint.config_json import SamplingDefaults
from engine.models.request_table import RowSettings
from engine.models.sampling import MAX_TOP_K, OMNI_TOP_K, STYLES, Style

# the references' defaults: the authors' API's and SGLang-Omni's are the same
_TEMPERATURE, _TOP_P, _TOP_K = 0.8, 0.8, 30

# A cap that no honest segment reaches: speech needs about 1.4 frames per letter, 5 per CJK sign
# (3 bytes); the constant covers pauses and very short texts.
_CAP_FRAMES, _CAP_FRAMES_PER_BYTE = 40, 4


def row_settings(asked: Sampling, default: SamplingDefaults, style: Style) -> RowSettings:
    """The request's own, else the checkpoint's, else ours. `style`: the worker's default.

    Raises InvalidRequestError, which says what was expected and what came.
    """
    temperature = _first(asked.temperature, default.temperature, _TEMPERATURE)
    residual = _first(asked.residual_temperature, default.residual_temperature, temperature)
    top_p = _first(asked.top_p, default.top_p, _TOP_P)
    top_k = int(_first(asked.top_k, default.top_k, _TOP_K))
    min_frames = 1 if asked.min_frames is None else asked.min_frames
    style = style if asked.style is None else asked.style
    if not (0 <= temperature <= 10 and 0 <= residual <= 10):
        raise InvalidRequestError(f"temperature: expected 0 to 10, got {temperature}, {residual}")
    if not 0 < top_p <= 1:
        raise InvalidRequestError(f"top_p: expected above 0 and at most 1, got {top_p}")
    if not 1 <= top_k <= MAX_TOP_K:
        raise InvalidRequestError(f"top_k: expected 1 to {MAX_TOP_K}, got {top_k}")
    if min_frames < 0:
        raise InvalidRequestError(f"min_frames: expected at least 0, got {min_frames}")
    if style not in STYLES:
        raise InvalidRequestError(f"style: expected one of {', '.join(STYLES)}, got {style!r}")
    if style == "omni":
        top_k = min(top_k, OMNI_TOP_K)
    seed = secrets.randbits(63) if asked.seed is None else _wrapped(asked.seed)
    return RowSettings(temperature, residual, top_p, top_k, seed, min_frames, style)


def frame_cap(asked: Sampling, text: str, most: int) -> int:
    """After how many frames a segment is cut: what was asked for, else what the text can need.

    Raises InvalidRequestError on less than one.
    """
    if asked.max_frames is None:
        size = len(text.encode(errors="surrogatepass"))
        return min(_CAP_FRAMES + _CAP_FRAMES_PER_BYTE * size, most)
    if asked.max_frames < 1:
        raise InvalidRequestError(f"max_frames: expected at least 1, got {asked.max_frames}")
    return min(asked.max_frames, most)


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)


def _wrapped(seed: int) -> int:
    """Any whole number as an int64."""
    return (seed + 2**63) % 2**64 - 2**63
