"""Recordings whose word times are known: the teacher's, timed by its own durations. Extra `train`.

    python -m engine.workshop.train recordings FOLDER     # writes name.wav, name.txt, name.json

engine.workshop.align finds alignment heads by such recordings; benchmarks.word_times judges
aligners by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.text.frontend import phones
from engine.workshop.train.corpus.teacher import Speech, Teacher
from engine.workshop.train.corpus.timed_words import TimedWord
from engine.workshop.train.corpus.wav import write_wav


def timed_words(text: str, speech: Speech, rate_hz: int) -> list[TimedWord] | None:
    """When each word of a text sounds; None where writing and speech have not as many words."""
    groups: list[list[int]] = [[]]
    for index, token in enumerate(speech.tokens):
        if token == phones.SPACE:
            groups.append([])
        elif token not in phones.PUNCTUATION:
            groups[-1].append(index)
    groups = [group for group in groups if group]
    written = text.split()
    if len(groups) != len(written):
        return None
    words, at = [], 0
    for word, group in zip(written, groups, strict=True):
        start = text.index(word, at)
        at = start + len(word)
        begin = int(speech.ends[group[0] - 1]) if group[0] else speech.lead_samples
        words.append(
            TimedWord(
                round(begin / rate_hz, 4),
                round(int(speech.ends[group[-1]]) / rate_hz, 4),
                start,
                at,
            )
        )
    return words


def make_recordings(folder: Path, texts: Sequence[str], rate_hz: int, seed: int = 0) -> list[Path]:
    """Record the texts that are written word by word as they are spoken, one sentence each."""
    folder.mkdir(parents=True, exist_ok=True)
    teacher = Teacher(rate_hz)
    paths = []
    for index, text in enumerate(texts):
        sentences = teacher.phonemes(text)
        if len(sentences) != 1:
            continue
        speech = teacher.speak(sentences[0], seed=seed + index)
        words = timed_words(text, speech, rate_hz)
        if words is None:
            continue
        path = folder / f"{index:03d}.wav"
        write_wav(path, speech.samples, rate_hz)
        path.with_suffix(".txt").write_text(text, "utf-8")
        path.with_suffix(".json").write_bytes(msgspec.json.encode(words))
        paths.append(path)
    return paths
