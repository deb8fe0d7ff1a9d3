"""A corpus of tones instead of a teacher: each phone token is a pitch."""

from __future__ import annotations

import numpy as np

from engine.text.frontend import phones
from engine.workshop.train.corpus.corpus import Utterance
from engine.workshop.train.corpus.teacher import Voice

RATE_HZ, FRAME_SAMPLES, STEP_SAMPLES = 4000, 128, 16


def tone_utterance(seed: int, tokens: int = 12) -> Utterance:
    """A random text whose phones sound as sines, 40 to 90 ms each."""
    rng = np.random.default_rng(seed)
    names = [str(t) for t in rng.choice(phones.PHONE_TOKENS[:40], tokens)]
    lengths = rng.integers(160, 360, tokens)
    ends = 300 + np.cumsum(lengths)
    pieces = [np.zeros(300)]
    for name, length in zip(names, lengths, strict=True):
        hz = 100 + 40 * phones.anchor(name)
        pieces.append(0.4 * np.sin(2 * np.pi * hz * np.arange(length) / RATE_HZ))
    samples = (np.concatenate(pieces) * 32767).astype(np.int16)
    ends[-1] = len(samples)
    voice = Voice() if seed % 4 else Voice(1.2, 1.1)
    pitches = np.repeat([100 + 40 * phones.anchor(name) for name in names], lengths)
    f0_hz = np.concatenate([np.zeros(300), pitches])[STEP_SAMPLES - 1 :: STEP_SAMPLES]
    return Utterance(
        f"text {seed}", names, ends.astype(np.int64), samples, "", voice, f0_hz.astype(np.float32)
    )
