"""Which layers suffer most from 8 bits: each piece quantised alone, everything else in fp32.

A piece is the attention or the feed-forward part of one layer of one transformer. Independent small
errors add in the divergence (it is quadratic in them), so pieces can be judged one by one and what
is left when some are kept is the sum of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from engine.checkpoint.folder import Checkpoint
from engine.errors import CheckpointError
from engine.models.layers import Block
from engine.models.linear import Scheme
from engine.models.plain import PlainLoop
from engine.workshop.fidelity.capture import FRAMES_AT_ONCE, Capture, capture, fast_scores
from engine.workshop.fidelity.gate import GateOptions
from engine.workshop.fidelity.marks import MARKS
from engine.workshop.fidelity.measure import compare
from engine.workshop.fidelity.sequences import Sequence as Said
from engine.workshop.fidelity.sequences import speak_sequences
from engine.workshop.quantize.scheme import dequantise, quantise

Part = Literal["slow", "fast"]
Kind = Literal["attention", "feed_forward"]

# of the mark on divergence: the rest is for bf16 itself and for what does not quite add
_BUDGET_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Piece:
    """What quantising one piece alone does. `divergence_nats`: of the worst codebook.

    `saved_bytes`: what storing it in 8 bits saves, against bf16.
    """

    part: Part
    layer: int
    kind: Kind
    divergence_nats: float
    hidden_cosine: float
    saved_bytes: int


def measure_pieces(
    loop: PlainLoop,
    sequences: Sequence[Said],
    scheme: Scheme,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Piece]:
    """Every piece of an fp32 `loop` that was built with FRAMES_AT_ONCE, in the order of layers."""
    reference = [capture(loop, said, "whole") for said in sequences]
    pieces = []
    parts: tuple[tuple[Part, nn.ModuleList], ...] = (
        ("slow", loop.slow.layers),
        ("fast", loop.fast.layers),
    )
    kinds: tuple[Kind, ...] = ("attention", "feed_forward")
    for part, layers in parts:
        for layer, block in enumerate(layers):
            for kind in kinds:
                progress(f"{part} layer {layer} {kind}")
                assert isinstance(block, Block)
                matrices = _matrices(block, kind)
                with _quantised(matrices, scheme):
                    found = _captures(loop, sequences, reference, part)
                comparison = compare(reference, found)
                pieces.append(
                    Piece(
                        part,
                        layer,
                        kind,
                        max(comparison.divergence_nats),
                        comparison.hidden_cosine,
                        sum(matrix.weight.numel() for matrix in matrices),
                    )
                )
    return pieces


def report_pieces(
    source: Path, options: GateOptions, scheme: Scheme, progress: Callable[[str], None]
) -> list[Piece]:
    """`measure_pieces` of a checkpoint, with sayings of its own."""
    checkpoint = Checkpoint.open(source)
    if checkpoint.config.quantization != (None, None):
        raise CheckpointError(f"expected {source} in full precision, got a quantised checkpoint")
    loop = PlainLoop(source, torch.float32, options.device, FRAMES_AT_ONCE)
    sequences = speak_sequences(loop, checkpoint, options.frames)
    return measure_pieces(loop, sequences, scheme, progress)


def _captures(
    loop: PlainLoop, sequences: Sequence[Said], reference: Sequence[Capture], part: Part
) -> list[Capture]:
    if part == "slow":
        return [capture(loop, said, "whole") for said in sequences]
    # the slow AR does not see what the fast one does: its half of the capture stays
    return [
        replace(known, fast=fast_scores(loop, known.hidden, said))
        for known, said in zip(reference, sequences, strict=True)
    ]


def _matrices(block: Block, kind: Kind) -> list[nn.Linear]:
    modules = (
        (block.attention.wqkv, block.attention.wo)
        if kind == "attention"
        else (block.feed_forward.w13, block.feed_forward.w2)
    )
    return [module for module in modules if isinstance(module, nn.Linear)]


@contextmanager
def _quantised(matrices: Sequence[nn.Linear], scheme: Scheme) -> Iterator[None]:
    """What 8 bits leave of some weights, for a while."""
    kept = [matrix.weight.detach().clone() for matrix in matrices]
    try:
        with torch.no_grad():
            for matrix in matrices:
                matrix.weight.copy_(dequantise(*quantise(matrix.weight, scheme)))
        yield
    finally:
        with torch.no_grad():
            for matrix, weight in zip(matrices, kept, strict=True):
                matrix.weight.copy_(weight)


def pieces_to_keep(pieces: Sequence[Piece]) -> tuple[list[Piece], float]:
    """The pieces to leave in bf16, dearest first, and the divergence of all others together.

    Kept are those with the most divergence a byte, until the sum of the rest is within half the
    gate's mark.
    """
    budget = _BUDGET_SHARE * MARKS["quantised"]["divergence_nats"].bound
    ranked = sorted(pieces, key=lambda p: p.divergence_nats / p.saved_bytes, reverse=True)
    rest = sum(piece.divergence_nats for piece in pieces)
    kept: list[Piece] = []
    for piece in ranked:
        if rest <= budget:
            break
        kept.append(piece)
        rest -= piece.divergence_nats
    return kept, max(rest, 0.0)


def as_flags(kept: Sequence[Piece]) -> str:
    """The options of `python -m engine.workshop.quantize` that keep these pieces."""
    flags = []
    for part, prefix in (("slow", "--keep-"), ("fast", "--keep-fast-")):
        for kind in ("attention", "feed_forward"):
            layers = sorted(p.layer for p in kept if (p.part, p.kind) == (part, kind))
            if layers:
                name = prefix + kind.replace("_", "-")
                flags.append(f"{name} {','.join(str(layer) for layer in layers)}")
    return " ".join(flags)
