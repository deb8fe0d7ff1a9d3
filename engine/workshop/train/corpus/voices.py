"""Thirty voices for the registry: the teacher with other pitches, formants and speeds.

    python -m engine.workshop.train voices FOLDER   # name.wav + name.txt, as the engine reads them

Each is a recording of a few seconds with its transcript; the engine clones it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.workshop.train.corpus.teacher import Delivery, Teacher, Voice
from engine.workshop.train.corpus.wav import write_wav

NAMES = (
    "ada amos bela cora dora elias fern gus hope iris jonas kay lena milo nora otto pia quinn rosa "
    "silas tess ugo vera wade xena yuri zelda arlo brie cleo"
).split()
_TEXTS = (
    "The morning was clear, and the boats were already far out on the water.",
    "I keep a small notebook by the door, so that nothing important gets lost.",
    "We walked along the river for an hour before anyone said a word.",
    "There is fresh bread on the table, and the coffee will be ready soon.",
    "Nobody remembers who planted the old tree behind the school.",
)
# Formants from a tall speaker's to a small one's; pitch below, at and above what goes with them.
_FORMANTS = (0.84, 0.9, 0.96, 1.02, 1.08, 1.14)
_PITCHES = (0.86, 1.0, 1.16)
_SPEEDS = (0.94, 1.06)


def variants(count: int) -> Iterator[tuple[str, Voice, Delivery, str]]:
    """Name, speaker, delivery and text of each voice.

    Raises ValueError for more voices than there are names.
    """
    if not 1 <= count <= len(NAMES):
        raise ValueError(f"expected 1 to {len(NAMES)} voices, got {count}")
    for index, name in enumerate(NAMES[:count]):
        # 7 and 36 have no common factor: every combination once, neighbours far apart.
        place, formant_at = divmod(7 * index % 36, len(_FORMANTS))
        speed_at, pitch_at = divmod(place, len(_PITCHES))
        formant = _FORMANTS[formant_at]
        pitch = formant**3 * _PITCHES[pitch_at]
        delivery = Delivery(speed=_SPEEDS[speed_at])
        yield name, Voice(round(pitch, 4), formant), delivery, _TEXTS[index % len(_TEXTS)]


def make_voices(folder: Path, count: int, rate_hz: int) -> list[Path]:
    """Write `count` voices; returns the recordings."""
    folder.mkdir(parents=True, exist_ok=True)
    teacher = Teacher(rate_hz)
    made = []
    for seed, (name, voice, delivery, text) in enumerate(variants(count)):
        (phonemes,) = teacher.phonemes(text)
        speech = teacher.speak(phonemes, voice, delivery, seed)
        path = folder / f"{name}.wav"
        write_wav(path, speech.samples, rate_hz)
        path.with_suffix(".txt").write_text(text, "utf-8")
        made.append(path)
    return made
