"""Which text token a frame speaks: where the checkpoint's alignment heads attend.

A checkpoint may name heads of the slow AR that follow the text (`voice_gateway.alignment_heads`).
At the step that makes a frame, the attention of these heads alone is computed once more, over the
text's cached keys: the token with the greatest weight, summed over the heads, is the one that the
frame speaks. Nothing looks ahead, so the answer leaves with the frame.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

# Longer texts are followed as far as this; a segment has at most a few hundred characters.
MAX_TEXT_TOKENS = 512


class Alignment:
    """The watched heads of one model. Static shapes, no question to the device."""

    def __init__(self, heads: Sequence[tuple[int, int]], num_heads: int, num_kv_heads: int) -> None:
        self.heads: dict[int, list[int]] = {}
        for layer, head in heads:
            self.heads.setdefault(layer, []).append(head)
        self._group = num_heads // num_kv_heads

    def weights(self, layer: int, query: Tensor, keys: Tensor, inside: Tensor) -> Tensor:
        """Attention of a layer's watched heads over the text, summed: [B, W].

        query [B, H, d] and keys [B, W, K, d], both rotated; inside [B, W]: which are text.
        """
        watched = self.heads[layer]
        q = query[:, watched]  # [B, h, d]
        k = keys[:, :, [head // self._group for head in watched]]  # [B, W, h, d]
        scores = torch.einsum("bhd,bwhd->bhw", q, k).float() * q.shape[-1] ** -0.5
        scores = scores.masked_fill(~inside.unsqueeze(1), float("-inf"))
        # a row without text (SGLang's own warm-up) would be all -inf; its answer is not read
        return scores.softmax(dim=-1).nan_to_num(0.0).sum(dim=1)


def text_window(spans: Tensor, width: int = MAX_TEXT_TOKENS) -> tuple[Tensor, Tensor]:
    """Text spans [B, 2] -> positions [B, width] (kept legal by repeating the first) and inside."""
    start, end = spans[:, :1], spans[:, 1:]
    positions = start + torch.arange(width, device=spans.device)
    inside = positions < end
    return torch.where(inside, positions, start), inside
