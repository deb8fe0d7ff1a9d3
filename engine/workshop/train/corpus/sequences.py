"""Training sequences for the Dual-AR: exactly the prompts that the engine builds, with targets.

    <system> <instruction> <end>  turn  [turn ...]
    turn: <user> text <end> <assistant> frames <end>

or, when a voice is cloned, <system> <clone> <speaker:0> text <speech> frames <end> before the
first user. Every frame of an assistant is predicted from the position before it, and so is the
end; the frames of a reference are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.text.frontend import vocabulary
from engine.text.prompt import ASSISTANT, CLONE, SPEAK, SPEECH, SYSTEM, USER
from engine.text.tokenizer import IM_END, PAD

Codes = NDArray[np.uint16]
IGNORE = -100
_IDS = vocabulary.ids()


@dataclass(frozen=True, slots=True)
class Spoken:
    """A text as tokens, its codes [frames, books], and the index of the token that each frame
    speaks.
    """

    tokens: list[str]
    codes: Codes
    frame_token: NDArray[np.int64]

    def then(self, other: Spoken, joint: Sequence[str] = ()) -> Spoken:
        """Both, one after the other, as one text; `joint`: tokens between them."""
        shift = len(self.tokens) + len(joint)
        return Spoken(
            [*self.tokens, *joint, *other.tokens],
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.frame_token, other.frame_token + shift]),
        )

    def split(self, token: int) -> tuple[Spoken, Spoken]:
        """Cut before this token."""
        frame = int(np.searchsorted(self.frame_token, token))
        return (
            Spoken(self.tokens[:token], self.codes[:frame], self.frame_token[:frame]),
            Spoken(self.tokens[token:], self.codes[frame:], self.frame_token[frame:] - token),
        )


@dataclass(slots=True)
class TrainingSequence:
    """One sequence. Arrays run over positions; `target` is the semantic code to predict there, or
    the number of semantic codes for the end, or IGNORE; `guide` is the position of the text
    token, or -1.
    """

    ids: list[int] = field(default_factory=list)
    codes: list[Codes] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    target_codes: list[Codes] = field(default_factory=list)
    guide: list[int] = field(default_factory=list)


class Builder:
    """Builds sequences. `books`: codes per frame; `num_semantic`: size of codebook 0."""

    def __init__(self, books: int, num_semantic: int) -> None:
        self.books, self.num_semantic = books, num_semantic
        self._blank = np.zeros(books, np.uint16)

    def sequence(
        self,
        turns: Sequence[Spoken],
        reference: Spoken | None = None,
        rng: np.random.Generator | None = None,
    ) -> TrainingSequence:
        """A dialogue's turns, after a reference to clone; with `rng` what the model reads is
        corrupted.
        """
        out = TrainingSequence()
        self._tokens(out, [SYSTEM])
        if reference is None:
            self._tokens(out, [SPEAK])
        else:
            self._tokens(out, [CLONE, vocabulary.SPEAKERS[0], *reference.tokens, SPEECH])
            for row in corrupted(reference.codes, rng):
                self._frame(out, row)
        self._tokens(out, [IM_END])
        for turn in turns:
            self._turn(out, turn, rng)
        return out

    def _tokens(self, out: TrainingSequence, tokens: Sequence[str]) -> None:
        for token in tokens:
            self._put(out, _IDS[token], self._blank)

    def _frame(self, out: TrainingSequence, row: Codes) -> None:
        self._put(out, vocabulary.SEMANTIC_START + int(row[0]), row)

    def _put(self, out: TrainingSequence, token_id: int, row: Codes) -> None:
        out.ids.append(token_id)
        out.codes.append(row)
        out.target.append(IGNORE)
        out.target_codes.append(self._blank)
        out.guide.append(-1)

    def _turn(self, out: TrainingSequence, turn: Spoken, rng: np.random.Generator | None) -> None:
        self._tokens(out, [USER])
        text_at = len(out.ids)
        self._tokens(out, [*turn.tokens, IM_END, ASSISTANT])
        for read, true, token in zip(
            corrupted(turn.codes, rng), turn.codes, turn.frame_token, strict=True
        ):
            out.target[-1] = int(true[0])
            out.target_codes[-1] = true
            out.guide[-1] = text_at + int(token)
            self._frame(out, read)
        out.target[-1] = self.num_semantic
        self._tokens(out, [IM_END])


def corrupted(codes: Codes, rng: np.random.Generator | None) -> Codes:
    """What the model reads of its own past: some frames come from elsewhere in the utterance,
    some have foreign residual codes. Without it a model trusts its past too much and loses its
    way after the first error.
    """
    if rng is None or not len(codes):
        return codes
    result, frames = codes.copy(), len(codes)
    other = codes[rng.integers(0, frames, frames)]
    whole = rng.random(frames) < rng.uniform(0.0, 0.15)
    result[whole] = other[whole]
    residual = rng.random(frames) < rng.uniform(0.0, 0.25)
    result[residual, 1:] = other[residual, 1:]
    return result


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded sequences. ids, target, guide [B, L]; codes, target_codes [B, L, books]."""

    ids: Tensor
    codes: Tensor
    target: Tensor
    target_codes: Tensor
    guide: Tensor


def collate(sequences: Sequence[TrainingSequence], books: int) -> Batch:
    """Pad at the right; causal attention keeps the padding from mattering."""
    length = max(len(s.ids) for s in sequences)
    shape = (len(sequences), length)
    ids = np.full(shape, _IDS[PAD], np.int64)
    target, guide = np.full(shape, IGNORE, np.int64), np.full(shape, -1, np.int64)
    codes, target_codes = np.zeros((*shape, books), np.int64), np.zeros((*shape, books), np.int64)
    for row, s in enumerate(sequences):
        n = len(s.ids)
        ids[row, :n], target[row, :n], guide[row, :n] = s.ids, s.target, s.guide
        codes[row, :n], target_codes[row, :n] = np.stack(s.codes), np.stack(s.target_codes)
    arrays = (ids, codes, target, target_codes, guide)
    return Batch(*(torch.from_numpy(array) for array in arrays))
