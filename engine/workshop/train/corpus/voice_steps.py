"""The corpus as a vocoder's parameters: stretches to learn from, and other speakers made of them.

A speaker is changed where it is cheapest: a longer throat is an envelope drawn together along the
mel scale, a deeper voice another F0. So every stretch can be of another speaker in every batch.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.codec.kernels.source_filter import VoiceParameters
from engine.codec.sizes import CodecConfig
from engine.codec.vocoder import voice_parameters
from engine.text.frontend import phones
from engine.workshop.train.corpus.analysis import analyse
from engine.workshop.train.corpus.corpus import read_shard
from engine.workshop.train.corpus.data import framed
from engine.workshop.train.corpus.teacher import F0_STEP_SAMPLES
from engine.workshop.train.networks.vocoder_codec import normalised


@dataclass(frozen=True, slots=True)
class Stepped:
    """One utterance. `steps`: normalised parameters, float16 [frames * steps a frame, size];
    `anchors`: int64 [frames].
    """

    steps: NDArray[np.float16]
    anchors: NDArray[np.int64]


def stepped(
    raw: NDArray[np.floating],
    anchors: NDArray[np.int64],
    parameters: VoiceParameters,
    steps_per_frame: int,
) -> Stepped:
    """Physical parameters [K, size] in whole frames; what is missing of the last one is silence."""
    values = normalised(torch.from_numpy(raw.astype(np.float32)), parameters).numpy()
    missing = len(anchors) * steps_per_frame - len(values)
    silence = normalised(torch.full((1, parameters.size), -100.0), parameters).numpy()
    silence[:, -2] = values[-1, -2] if len(values) else 0.0
    whole = np.concatenate([values, np.repeat(silence, max(missing, 0), 0)])
    return Stepped(whole[: len(anchors) * steps_per_frame].astype(np.float16), anchors)


def write_steps(shard: Path, target: Path, config: CodecConfig) -> bool:
    """Analyse a shard of the corpus into `target`, at once or not at all; False: it was there.

    Raises ValueError for a codec whose steps are not those that the corpus knows the pitch of.
    """
    if target.exists():
        return False
    if config.vocoder_hop_samples != F0_STEP_SAMPLES:
        raise ValueError(
            f"expected vocoder_hop_samples {F0_STEP_SAMPLES}, as the corpus has F0, got "
            f"{config.vocoder_hop_samples}"
        )
    parameters, rate_hz = voice_parameters(config), config.sample_rate_hz
    rows = [
        analyse(
            item.samples / 32768.0, item.f0_hz, parameters, config.vocoder_hop_samples, rate_hz
        ).astype(np.float16)
        for item in read_shard(shard)
    ]
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part.npz")
    np.savez(part, steps=np.concatenate(rows), lengths=np.array([len(row) for row in rows]))
    os.replace(part, target)
    return True


def read_steps(shard: Path, target: Path, config: CodecConfig) -> list[Stepped]:
    """A shard's utterances as parameters, with the anchors of its frames."""
    with np.load(target) as data:
        rows = np.split(data["steps"], np.cumsum(data["lengths"])[:-1])
    parameters, frame_samples = voice_parameters(config), config.frame_samples
    steps_per_frame = frame_samples // config.vocoder_hop_samples
    return [
        stepped(
            row,
            framed(item, frame_samples, config.sample_rate_hz).anchors,
            parameters,
            steps_per_frame,
        )
        for item, row in zip(read_shard(shard), rows, strict=True)
    ]


class StepCrops:
    """Random stretches of `frames` frames, drawn so that every frame is equally likely."""

    def __init__(
        self,
        corpus: Sequence[Stepped],
        frames: int,
        parameters: VoiceParameters,
        other_voices: float,
        seed: int,
    ) -> None:
        self._corpus, self._frames, self._parameters = corpus, frames, parameters
        lengths = np.array([len(item.anchors) for item in corpus], np.float64)
        self._cumulative = np.cumsum(lengths) / lengths.sum()
        self._other_voices = other_voices
        self._rng = np.random.default_rng(seed)

    def _stretch(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        index = int(np.searchsorted(self._cumulative, self._rng.random()))
        item = self._corpus[min(index, len(self._corpus) - 1)]
        frames, each = self._frames, len(item.steps) // len(item.anchors)
        first = int(self._rng.integers(0, max(len(item.anchors) - frames, 0) + 1))
        steps = item.steps[first * each : (first + frames) * each].astype(np.float32)
        anchors = item.anchors[first : first + frames]
        missing = frames - len(anchors)
        if missing:  # an utterance ends in silence: more of it
            steps = np.concatenate([steps, np.repeat(steps[-1:], missing * each, 0)])
            quiet = np.full(missing, len(phones.ANCHORS) - 1)
            anchors = np.concatenate([anchors, quiet])
        return steps, anchors

    def batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Parameters [size, frames * steps a frame, parameters] and anchors [size, frames]."""
        steps, anchors = zip(*(self._stretch() for _ in range(size)), strict=True)
        made = np.stack(steps)
        for row in made:
            if self._rng.random() < self._other_voices:
                other_voice(row, self._parameters, self._rng)
        return torch.from_numpy(made), torch.from_numpy(np.stack(anchors))


def other_voice(
    steps: NDArray[np.float32], parameters: VoiceParameters, rng: np.random.Generator
) -> None:
    """Make normalised parameters [K, size] another speaker's, in place: between a deep man and a
    child; F0 follows the formants, loosely.
    """
    bands = parameters.bands
    stretch = rng.uniform(0.86, 1.16)  # of the mel axis: above 1, a longer throat
    source = np.clip(np.arange(bands) * stretch, 0, bands - 1)
    low = source.astype(int)
    high, share = np.minimum(low + 1, bands - 1), (source - low).astype(np.float32)
    envelope = steps[:, :bands]
    warped = envelope[:, low] * (1 - share) + envelope[:, high] * share
    tilt = rng.normal(0.0, 0.15) * np.linspace(-1.0, 1.0, bands) + rng.normal(0.0, 0.15)
    silence = normalised(torch.full((parameters.size,), -100.0), parameters)[0].item()
    steps[:, :bands] = np.maximum(warped + tilt.astype(np.float32), silence)
    # F0 follows the formants by a power, and varies by a fifth beyond that; 0.35 is its unit here
    steps[:, -2] += np.float32((-2.5 * np.log(stretch) + rng.normal(0.0, 0.22)) / 0.35)
