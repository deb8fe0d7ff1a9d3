"""What the scheduler knows and the model needs before a step: codes of prompts, rows of the table.

Runs as a hook before `Scheduler.run_batch`, which sees the batch's requests in row order. A
request's `custom_params` hold its sampling, and its prompt's codes with their positions; frames it
generated before a retraction are in its `customized_info`. From these every embedding of an extend
step can be rebuilt, whichever part of the sequence the step covers: cold, after a cached prefix, in
chunks, or after a retraction.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.models.request_table import RequestTable, RowSettings

_SPANS, _CODES, _TEXT, _ANSWERED = "spans", "codes", "text", "answered"


def to_custom_params(
    settings: RowSettings,
    spans: Sequence[tuple[int, int]],
    codes: NDArray[np.uint16],
    text: tuple[int, int],
    answered: int = 0,
) -> dict[str, Any]:
    """Pack for SGLang's `custom_params`: flat JSON values only.

    `spans`: [start, end) of each run of codes in the prompt; `codes` [total, N]; `text`: [start,
    end) of the text to be spoken; `answered`: so many of the last codes begin the answer.
    """
    flat = [number for span in spans for number in span]
    packed = base64.b64encode(np.ascontiguousarray(codes, "<u2").tobytes()).decode("ascii")
    places = {_SPANS: flat, _CODES: packed, _TEXT: list(text), _ANSWERED: answered}
    return asdict(settings) | places


def settings_of(params: Mapping[str, Any]) -> RowSettings:
    """The inverse of `to_custom_params`, settings part."""
    return RowSettings(**{field.name: params[field.name] for field in fields(RowSettings)})


def answered_codes(params: Mapping[str, Any], num_codebooks: int) -> list[int]:
    """The semantic codes of those frames of the prompt that begin the answer."""
    if not params[_ANSWERED]:
        return []
    codes = np.frombuffer(base64.b64decode(params[_CODES]), "<u2").reshape(-1, num_codebooks)
    return [int(code) for code in codes[-params[_ANSWERED] :, 0]]


def window_codes(
    params: Mapping[str, Any],
    prompt_length: int,
    generated: list[bytes],
    start: int,
    stop: int,
    num_codebooks: int,
) -> NDArray[np.int64]:
    """Codes of positions start..stop: [stop - start, num_codebooks], zero off the spans."""
    out = np.zeros((stop - start, num_codebooks), np.int64)
    codes = np.frombuffer(base64.b64decode(params[_CODES]), "<u2").reshape(-1, num_codebooks)
    flat, taken = params[_SPANS], 0
    runs = []
    for first, end in zip(flat[::2], flat[1::2], strict=True):
        runs.append((first, codes[taken : taken + end - first]))
        taken += end - first
    if generated and stop > prompt_length:
        frames = np.frombuffer(b"".join(generated), "<u2").reshape(-1, num_codebooks)
        runs.append((prompt_length, frames))
    for first, run in runs:
        low, high = max(first, start), min(first + len(run), stop)
        if low < high:
            out[low - start : high - start] = run[low - first : high - first]
    return out


def stage_extend(table: RequestTable, batch: Any, codes_key: str) -> None:
    """Fill the table for an extend step of SGLang's `ScheduleBatch`."""
    parts = []
    for req, start, length in zip(batch.reqs, batch.prefix_lens, batch.extend_lens, strict=True):
        params = req.sampling_params.custom_params
        generated = (req.customized_info or {}).get(codes_key, [])
        # a frame's first number is its semantic code
        spoken = [int.from_bytes(frame[:2], "little") for frame in generated]
        spoken = answered_codes(params, table.num_codebooks) + spoken
        table.begin(req.kv.req_pool_idx, settings_of(params), spoken, tuple(params[_TEXT]))
        prompt = len(req.origin_input_ids)
        parts.append(
            window_codes(params, prompt, generated, start, start + length, table.num_codebooks)
        )
    table.stage_prefill([req.rid for req in batch.reqs], np.concatenate(parts))
