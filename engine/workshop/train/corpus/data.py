"""The corpus in memory: utterances cut into code frames, with the token and the anchor of each
frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.text.frontend import phones
from engine.workshop.train.corpus.corpus import Utterance, read_shard
from engine.workshop.train.corpus.teacher import lead_samples


def frame_tokens(ends: NDArray[np.int64], frames: int, frame_samples: int) -> NDArray[np.int64]:
    """Index of the token that sounds at the centre of each frame; int64 [frames]."""
    centres = np.arange(frames) * frame_samples + frame_samples // 2
    return np.minimum(np.searchsorted(ends, centres, side="right"), len(ends) - 1)


@dataclass(frozen=True, slots=True)
class Framed:
    """An utterance in whole frames. `frame_token`, `anchors`: int64 [frames]."""

    utterance: Utterance
    frame_token: NDArray[np.int64]
    anchors: NDArray[np.int64]

    @property
    def frames(self) -> int:
        """Number of code frames (the last one padded with silence)."""
        return len(self.frame_token)


def framed(utterance: Utterance, frame_samples: int, rate_hz: int) -> Framed:
    """Cut an utterance into frames and say what each one sounds."""
    frames = -(-len(utterance.samples) // frame_samples)
    tokens = frame_tokens(utterance.ends, frames, frame_samples)
    anchor_of_token = np.array([phones.anchor(token) for token in utterance.tokens], np.int64)
    anchors = anchor_of_token[tokens]
    centres = np.arange(frames) * frame_samples + frame_samples // 2
    anchors[centres < lead_samples(utterance.voice, rate_hz)] = len(phones.ANCHORS) - 1
    return Framed(utterance, tokens, anchors)


def load_corpus(
    paths: Sequence[Path], frame_samples: int, rate_hz: int, sound: bool = True
) -> list[Framed]:
    """Read shards, in order; without `sound` the samples, gigabytes of them, are let go."""

    def load(path: Path) -> list[Framed]:
        items = [framed(u, frame_samples, rate_hz) for u in read_shard(path)]
        return items if sound else [replace(i, utterance=silent(i.utterance)) for i in items]

    with ThreadPoolExecutor(2) as pool:
        return [item for shard in pool.map(load, paths) for item in shard]


def silent(utterance: Utterance) -> Utterance:
    """An utterance without its samples, and without what it shares with its shard."""
    return replace(utterance, samples=np.zeros(0, np.int16), ends=utterance.ends.copy())


class Crops:
    """Random stretches of `frames` frames, drawn so that every frame is equally likely."""

    def __init__(
        self, corpus: Sequence[Framed], frames: int, frame_samples: int, seed: int
    ) -> None:
        self._corpus = [item for item in corpus if item.frames >= 3]
        self._frames, self._frame_samples = frames, frame_samples
        lengths = np.array([item.frames for item in self._corpus], np.float64)
        self._cumulative = np.cumsum(lengths) / lengths.sum()
        self._rng = np.random.default_rng(seed)

    def draw(self) -> tuple[int, int]:
        """Index of an utterance and the first frame of the stretch."""
        index = int(np.searchsorted(self._cumulative, self._rng.random()))
        spare = self._corpus[index].frames - self._frames
        return index, int(self._rng.integers(0, spare + 1)) if spare > 0 else 0

    def stretch(self, index: int, first: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Samples [frames * frame_samples] and anchors [frames]; silence beyond the end."""
        item, size = self._corpus[index], self._frame_samples
        pcm = item.utterance.samples[first * size : (first + self._frames) * size]
        samples = np.zeros(self._frames * size, np.float32)
        samples[: len(pcm)] = pcm.astype(np.float32) / 32768.0
        anchors = np.full(self._frames, len(phones.ANCHORS) - 1, np.int64)
        own = item.anchors[first : first + self._frames]
        anchors[: len(own)] = own
        return samples, anchors

    def batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Waveforms [size, frames * frame_samples] and anchors [size, frames]."""
        pairs = [self.stretch(*self.draw()) for _ in range(size)]
        waves, anchors = zip(*pairs, strict=True)
        return torch.from_numpy(np.stack(waves)), torch.from_numpy(np.stack(anchors))
