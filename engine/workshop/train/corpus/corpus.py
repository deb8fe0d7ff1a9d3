"""The corpus on disk: shards of utterances with their phone tokens and phone times.

A shard is an uncompressed .npz written under another name and renamed, so an interrupted run
leaves no half shard and the next one goes on where it stopped. Every shard depends on its number
alone.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.text.frontend import phones
from engine.workshop.train.corpus.teacher import (
    F0_STEP_SAMPLES,
    STYLE_DELIVERY,
    Delivery,
    Samples,
    Speech,
    Teacher,
    Voice,
)
from engine.workshop.train.corpus.texts import texts

MAX_SECONDS = 14.0


@dataclass(frozen=True, slots=True)
class Utterance:
    """One utterance. `ends`: sample at which each token's sound ends. `style`: a tag or "".

    `f0_hz`: as in `Speech`.
    """

    text: str
    tokens: list[str]
    ends: NDArray[np.int64]
    samples: NDArray[np.int16]
    style: str
    voice: Voice
    f0_hz: Samples


@dataclass(frozen=True, slots=True)
class CorpusPlan:
    """What a corpus is made of; shares are of utterances."""

    rate_hz: int
    utterances_per_shard: int = 250
    salad_share: float = 0.4
    other_voice_share: float = 0.25
    voices_per_shard: int = 8
    style_share: float = 0.06
    pause_share: float = 0.03
    speeds: tuple[float, float] = (0.92, 1.12)


def random_voice(rng: random.Random) -> Voice:
    """A speaker between a deep man and a child; pitch follows the formants, loosely."""
    formant = rng.uniform(0.84, 1.16)
    return Voice(pitch=formant**3 * rng.uniform(0.85, 1.2), formant=formant)


def with_pause(speech: Speech, gap_samples: int, rng: random.Random) -> Speech:
    """Put a [pause] of `gap_samples` at one of the word boundaries; unchanged where there is
    none.
    """
    tokens, ends, samples, f0_hz = speech.tokens, speech.ends, speech.samples, speech.f0_hz
    places = [
        i for i, token in enumerate(tokens) if token == phones.SPACE and 0 < i < len(tokens) - 1
    ]
    if not places:
        return speech
    index = rng.choice(places)
    begin, end = int(ends[index - 1]), int(ends[index])
    cut = (begin + end) // 2
    fade = np.linspace(1.0, 0.0, 220, dtype=np.float32)
    left, right = samples[:cut].copy(), samples[cut:].copy()
    left[-220:] *= fade[-len(left[-220:]) :]
    right[:220] *= fade[::-1][: len(right[:220])]
    whole = np.concatenate([left, np.zeros(gap_samples, np.float32), right])
    at = cut // F0_STEP_SAMPLES
    gap_f0_hz = np.zeros(len(whole) // F0_STEP_SAMPLES - len(f0_hz), np.float32)
    return replace(
        speech,
        samples=whole,
        tokens=[*tokens[:index], phones.SPACE, phones.PAUSE, *tokens[index:]],
        ends=np.concatenate(
            [ends[:index], [cut, cut + gap_samples], ends[index:] + gap_samples]
        ).astype(np.int64),
        f0_hz=np.concatenate([f0_hz[:at], gap_f0_hz, f0_hz[at:]]),
    )


def _utterance(
    teacher: Teacher, text: str, plan: CorpusPlan, voices: Sequence[Voice], rng: random.Random
) -> Utterance | None:
    sentences = teacher.phonemes(text)
    if len(sentences) != 1:
        return None
    voice = rng.choice(voices) if rng.random() < plan.other_voice_share else Voice()
    style = rng.choice(phones.STYLES) if rng.random() < plan.style_share else ""
    base = STYLE_DELIVERY[style]
    delivery = Delivery(base.speed * rng.uniform(*plan.speeds), base.gain, base.whisper)
    speech = teacher.speak(sentences[0], voice, delivery, seed=rng.randrange(2**31))
    if rng.random() < plan.pause_share:
        speech = with_pause(speech, round(rng.uniform(0.45, 0.6) * plan.rate_hz), rng)
    if len(speech.tokens) < 3 or len(speech.samples) > MAX_SECONDS * plan.rate_hz:
        return None
    pcm = np.clip(np.rint(speech.samples * 32767.0), -32768, 32767).astype(np.int16)
    return Utterance(text, speech.tokens, speech.ends, pcm, style, voice, speech.f0_hz)


def write_shard(path: Path, utterances: Sequence[Utterance]) -> None:
    """Write a shard at once or not at all."""
    meta = [
        {
            "text": u.text,
            "tokens": u.tokens,
            "style": u.style,
            "voice": [u.voice.pitch, u.voice.formant],
        }
        for u in utterances
    ]
    part = path.with_suffix(".part.npz")
    np.savez(
        part,
        meta=np.frombuffer(json.dumps(meta, ensure_ascii=False).encode(), np.uint8),
        ends=np.concatenate([u.ends for u in utterances]),
        samples=np.concatenate([u.samples for u in utterances]),
        lengths=np.array([len(u.samples) for u in utterances], np.int64),
        f0_hz=np.concatenate([u.f0_hz for u in utterances]),
        steps=np.array([len(u.f0_hz) for u in utterances], np.int64),
    )
    os.replace(part, path)


def read_shard(path: Path) -> list[Utterance]:
    """Read one shard whole."""
    with np.load(path) as data:
        meta = json.loads(data["meta"].tobytes())
        ends, samples, f0_hz = data["ends"], data["samples"], data["f0_hz"]
        lengths, steps = data["lengths"], data["steps"]
    tokens = np.array([len(item["tokens"]) for item in meta])
    rows = zip(
        meta, _parts(ends, tokens), _parts(samples, lengths), _parts(f0_hz, steps), strict=True
    )
    return [
        Utterance(
            item["text"],
            item["tokens"],
            own_ends,
            own_samples,
            item["style"],
            Voice(*item["voice"]),
            own_f0_hz,
        )
        for item, own_ends, own_samples, own_f0_hz in rows
    ]


def _parts(joined: NDArray[Any], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
    return np.split(joined, np.cumsum(lengths)[:-1])


def make_shard(
    teacher: Teacher, plan: CorpusPlan, number: int, excluded: Sequence[str]
) -> list[Utterance]:
    """The utterances of shard `number`."""
    rng = random.Random(f"corpus {number}")
    voices = [random_voice(rng) for _ in range(plan.voices_per_shard)]
    stream = texts(number, teacher.lexicon_words(), plan.salad_share, excluded)
    utterances: list[Utterance] = []
    while len(utterances) < plan.utterances_per_shard:
        utterance = _utterance(teacher, next(stream), plan, voices, rng)
        if utterance is not None:
            utterances.append(utterance)
    return utterances


def make_corpus(
    folder: Path, plan: CorpusPlan, shards: Sequence[int], excluded: Sequence[str]
) -> Iterator[Path]:
    """Make the missing ones among `shards`; yields each path when it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    teacher: Teacher | None = None
    for number in shards:
        path = folder / f"shard_{number:04d}.npz"
        if not path.exists():
            teacher = teacher or Teacher(plan.rate_hz)
            write_shard(path, make_shard(teacher, plan, number, excluded))
        yield path
