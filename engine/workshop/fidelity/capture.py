"""One model's answers to teacher-forced sequences, kept for comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from engine.models.plain import PlainLoop
from engine.workshop.fidelity.sequences import Sequence as Said

# "whole": all columns in one pass. "stepwise": the prompt, then one frame a pass over the cache, as
# the engine decodes.
Manner = Literal["whole", "stepwise"]

FRAMES_AT_ONCE = 32  # of the fast AR; bounds memory, does not change a result


@dataclass(frozen=True, slots=True)
class Capture:
    """What a model made of one sequence of L columns and T frames; fp32, on the CPU.

    layers: output of every block of the slow AR, [layers, L, dim].
    hidden: after the final norm, at the columns that predict the frames, [T, dim].
    slow: scores of the semantic ids and of the end, [T, S + 1].
    fast: scores of the residual codebooks, [T, N - 1, C].
    """

    name: str
    layers: Tensor
    hidden: Tensor
    slow: Tensor
    fast: Tensor


@contextmanager
def _tap(layers: nn.ModuleList) -> Iterator[list[list[Tensor]]]:
    """Collect what each block puts out, pass by pass."""
    outputs: list[list[Tensor]] = [[] for _ in layers]

    def collect(seen: list[Tensor]) -> Callable[[nn.Module, object, Tensor], None]:
        return lambda module, args, output: seen.append(output.detach().float().cpu())

    handles = [
        layer.register_forward_hook(collect(seen))
        for layer, seen in zip(layers, outputs, strict=True)
    ]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


@torch.inference_mode()
def capture(loop: PlainLoop, said: Said, manner: Manner) -> Capture:
    """Run one sequence. `loop` must have been built with `frames_at_once` FRAMES_AT_ONCE."""
    prompt, length = said.first_frame, said.matrix.shape[1]
    first = length if manner == "whole" else prompt
    with _tap(loop.slow.layers) as outputs:
        passes = [loop.hidden(said.matrix[:, :first])]
        for position in range(first, length):
            passes.append(loop.advance(said.matrix[:, position : position + 1], position))
    # the last frame's own column predicts a frame that is not there
    predicting = torch.cat(passes)[prompt - 1 : length - 1]
    normed = loop.slow.norm(predicting)
    return Capture(
        said.name,
        torch.stack([torch.cat(seen) for seen in outputs]),
        normed.float().cpu(),
        loop.slow.logits(normed).float().cpu(),
        fast_scores(loop, normed, said),
    )


@torch.inference_mode()
def fast_scores(loop: PlainLoop, normed: Tensor, said: Said) -> Tensor:
    """Normed hidden [T, dim] -> scores of the residual codebooks, [T, N - 1, C]; as a Capture."""
    normed = normed.to(loop.slow.norm.weight)
    codes = torch.from_numpy(np.ascontiguousarray(said.frames[1:].T)).to(normed.device)
    if codes.shape[1] == 1:
        return torch.zeros(len(codes), 0, loop.fast.codebook_size)
    scores = [
        loop.fast.teacher_forced(
            normed[start : start + FRAMES_AT_ONCE], codes[start : start + FRAMES_AT_ONCE]
        )
        for start in range(0, len(codes), FRAMES_AT_ONCE)
    ]
    return torch.cat(scores).float().cpu()


def capture_all(
    loop: PlainLoop,
    sequences: Sequence[Said],
    manner: Manner,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Capture]:
    """`capture` for each sequence in turn, telling `progress` its name."""
    captures = []
    for said in sequences:
        progress(said.name)
        captures.append(capture(loop, said, manner))
    return captures
