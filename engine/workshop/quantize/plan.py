"""What will be quantised, and how that is said in `config.json`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from engine.checkpoint.config_json import LanguageModelConfig, TransformerConfig
from engine.errors import CheckpointError
from engine.models.linear import Scheme

SECTIONS = ("text_config", "audio_decoder_config")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def parse_layers(text: str, n_layer: int) -> tuple[int, ...]:
    """Layers by name: "last:12", "first:2", "all", "none", or a list such as "0,3,30-35".

    Raises ValueError when the text is none of these or names a layer that is not there.
    """
    text = text.strip()
    if text in ("", "none"):
        return ()
    if text == "all":
        return tuple(range(n_layer))
    end, _, number = text.partition(":")
    if end in ("first", "last") and number.isdecimal():
        count = int(number)
        if count > n_layer:
            raise ValueError(f"expected at most {n_layer} layers, got {text}")
        return tuple(range(count) if end == "first" else range(n_layer - count, n_layer))
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(
                f"expected layers as last:N, first:N, all, none or a list (0,3,30-35), got {text!r}"
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < n_layer:
            raise ValueError(f"expected layers of 0 to {n_layer - 1}, got {part.strip()}")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class Plan:
    """A scheme, and for the slow and the fast AR the layers whose matrices are kept as they are."""

    scheme: Scheme
    keep_attention: tuple[int, ...] = ()
    keep_feed_forward: tuple[int, ...] = ()
    keep_fast_attention: tuple[int, ...] = ()
    keep_fast_feed_forward: tuple[int, ...] = ()

    def applied(self, raw: dict[str, Any], config: LanguageModelConfig) -> dict[str, Any]:
        """`config.json`, parsed, with this plan in it. Raises CheckpointError if it has one."""
        if config.quantization != (None, None):
            raise CheckpointError("expected a checkpoint in full precision, got a quantised one")
        kept = (
            (self.keep_attention, self.keep_feed_forward),
            (self.keep_fast_attention, self.keep_fast_feed_forward),
        )
        parts = (config.text_config, config.audio_decoder_config)
        changed = dict(raw)
        for section, part, (attention, feed_forward) in zip(SECTIONS, parts, kept, strict=True):
            described = self._described(part, attention, feed_forward)
            if described is not None:
                changed[section] = {**raw[section], "quantization": described}
        return changed

    def _described(
        self, part: TransformerConfig, attention: tuple[int, ...], feed_forward: tuple[int, ...]
    ) -> dict[str, Any] | None:
        if len(attention) == len(feed_forward) == part.n_layer:
            return None  # all of it stays
        return {
            "scheme": self.scheme,
            "keep_attention": list(attention),
            "keep_feed_forward": list(feed_forward),
        }
