"""The segmenter against sentence segmentation libraries, and how long it holds up the event loop.

    uv run --with pysbd==0.3.4 --with sentencex==1.0.32 --with sentencesplit==0.1.0 \
        --with yasbd-lib==1.0.4 --with blingfire==0.1.8 --with stream2sentence==1.1.0 \
        python -m benchmarks.segment

Every row goes in whole, then character by character. A library with a streaming mode is used
through it; the others as voice agents use them: after each character the buffer is segmented
again and all but the last sentence is given out. A cut is counted by the non-space characters
before it. Libraries that are not installed are left out. Then sessions are given 19,000 characters
in one message, of several kinds, and the longest turn of the loop is measured, in CPU time. The
last line is one JSON object: `rows`; `segmenters`: per name `right_whole`, `right_streamed` (share
of rows), `wrong_cuts`, `missed_cuts` (streamed), `us_per_char` (streamed); `ours_minus_best` (share
of rows, streamed); `longest_turn_ms`: per kind of text, the least of three runs.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gateway.audio import make_chain
from gateway.session.session import Session
from gateway.text.segment import Segmenter, SegmentPolicy
from gateway.types import (
    AudioChain,
    AudioFormat,
    Configure,
    EngineFacts,
    Limits,
    SettingsPatch,
    Text,
)
from tests.gateway.text.segment_cases import CASES

OURS = "voice-gateway"
# What each row's label is to a library that wants a language.
_LANGUAGES = {"numbers": "en", "links": "en", "graphemes": "en"}
# text, language, pieces or None -> segments in order
Run = Callable[[str, Iterable[str] | None], list[str]]


def ours(language: str) -> Run:
    """This project's rules, one for all languages."""
    policy = SegmentPolicy(first_mode="sentence", first_min_chars=0, min_chars=0, lead_growth=0)

    def run(text: str, pieces: Iterable[str] | None) -> list[str]:
        segmenter = Segmenter(policy)
        segments = [s for piece in pieces or [text] for s in segmenter.push(piece, 0.0)]
        return [segment.text for segment in segments + segmenter.flush()]

    return run


def rebuffered(segment: Callable[[str], list[str]]) -> Run:
    """A library without streaming: segment the buffer again, keep the last sentence back."""

    def run(text: str, pieces: Iterable[str] | None) -> list[str]:
        if pieces is None:
            return segment(text)
        done: list[str] = []
        buffer = ""
        for piece in pieces:
            buffer += piece
            sentences = segment(buffer)
            if len(sentences) > 1:
                done += sentences[:-1]
                buffer = sentences[-1]
        return done + segment(buffer)

    return run


def pysbd(language: str) -> Run:
    import pysbd

    segmenter = _first_of(lambda name: pysbd.Segmenter(language=name, clean=False), language)
    return rebuffered(lambda text: list(segmenter.segment(text)))


def sentencex(language: str) -> Run:
    import sentencex

    return rebuffered(lambda text: list(sentencex.segment(language, text)))


def yasbd(language: str) -> Run:
    import yasbd

    detector = _first_of(yasbd.BoundaryDetector, language)
    return rebuffered(lambda text: list(detector.segment(text, preserve_whitespace=True)))


def blingfire(language: str) -> Run:
    import blingfire

    return rebuffered(lambda text: blingfire.text_to_sentences(text).split("\n"))


def sentencesplit(language: str) -> Run:
    import sentencesplit

    def run(text: str, pieces: Iterable[str] | None) -> list[str]:
        stream = _first_of(sentencesplit.StreamSegmenter, language)
        done: list[str] = []
        for piece in pieces or [text]:
            stream.feed(piece)
            done += stream.get_completed_sentences()
        return done + list(stream.flush())

    return run


def stream2sentence(language: str) -> Run:
    import stream2sentence

    def run(text: str, pieces: Iterable[str] | None) -> list[str]:
        sentences: Iterator[str] = stream2sentence.generate_sentences(
            iter(pieces or [text]),
            minimum_sentence_length=1,
            minimum_first_fragment_length=1,
            language=language,
        )
        return list(sentences)

    return run


LIBRARIES = (pysbd, sentencex, yasbd, blingfire, sentencesplit, stream2sentence)


def _first_of(make: Callable[[str], Any], language: str) -> Any:
    """The library's rules for the language, or its English ones if it has none."""
    try:
        return make(language)
    except Exception:
        return make("en")


def cuts(segments: Iterable[str]) -> set[int]:
    """Where segments end, counted in non-space characters; the end of the text is no cut."""
    ends = itertools.accumulate(len("".join(segment.split())) for segment in segments)
    *inner, last = list(ends) or [0]
    return set(inner) - {0, last}


def measure(make: Callable[[str], Run]) -> dict[str, float]:
    """Run every row of the table through one segmenter."""
    rows = right_whole = right_streamed = wrong = missed = chars = 0
    spent_s = 0.0
    for label, cases in CASES.items():
        run = make(_LANGUAGES.get(label, label))
        for case in cases:
            text, wanted = case.replace("¦", ""), cuts(case.split("¦"))
            rows += 1
            right_whole += cuts(run(text, None)) == wanted
            started_s = time.perf_counter()
            found = cuts(run(text, list(text)))
            spent_s += time.perf_counter() - started_s
            chars += len(text)
            right_streamed += found == wanted
            wrong += len(found - wanted)
            missed += len(wanted - found)
    return {
        "right_whole": round(right_whole / rows, 3),
        "right_streamed": round(right_streamed / rows, 3),
        "wrong_cuts": wrong,
        "missed_cuts": missed,
        "us_per_char": round(spent_s / chars * 1e6, 1),
    }


MESSAGE_CHARS = 19_000
LONG_TEXTS = {
    "prose": "The next train leaves at nine. We should go now, shouldn't we? ",
    "abbreviations": "Dr. A. ",
    "lines": "a\n",
    "markdown": "**Bold** [a](http://x.y/z) `c`\n- an item\n",
    "numbers": "12 3/4 $5 2020-01-02 ",
    "no spaces": "x",
    "Chinese": "今天天气很好，我们去公园吧。",
}


def longest_turn_ms(unit: str) -> float:
    """The longest turn, when one message brings as much as may wait to be spoken."""
    text = (unit * MESSAGE_CHARS)[:MESSAGE_CHARS]
    settings = SettingsPatch(normalize=True, pronunciations={"train": "trayne"})

    def run() -> float:
        session = Session("s", EngineFacts(), Limits(), make_chain_for, 0.0)
        session.receive((Configure("c", settings),), 0.0)
        session.effects()
        longest_s = _timed(lambda: session.receive((Text("c", text),), 0.0))
        while (due_ms := session.next_deadline_ms()) is not None and due_ms <= 0.0:
            longest_s = max(longest_s, _timed(lambda: session.tick(0.0)))
            session.effects()
        return 1000.0 * longest_s

    return min(run() for _ in range(3))


def make_chain_for(audio_format: AudioFormat, speed: float) -> AudioChain:
    return make_chain(audio_format, EngineFacts().sample_rate_hz, speed)


def _timed(turn: Callable[[], object]) -> float:
    started_s = time.thread_time()
    turn()
    return time.thread_time() - started_s


def main() -> None:
    """Print a table, then one JSON line."""
    warnings.simplefilter("ignore")
    results = {OURS: measure(ours)}
    for library in LIBRARIES:
        if importlib.util.find_spec(library.__name__) is not None:
            results[library.__name__] = measure(library)
        else:
            print(f"{library.__name__}: not installed, left out", file=sys.stderr)
    for name, result in results.items():
        print(f"{name:16}", " ".join(f"{key}={value}" for key, value in result.items()))
    turns = {name: round(longest_turn_ms(unit), 2) for name, unit in LONG_TEXTS.items()}
    print("longest turn of the loop, ms:", " ".join(f"{k}={v}" for k, v in turns.items()))
    others = [result["right_streamed"] for name, result in results.items() if name != OURS]
    report = {
        "rows": sum(map(len, CASES.values())),
        "segmenters": results,
        "ours_minus_best": round(results[OURS]["right_streamed"] - max(others, default=0.0), 3),
        "longest_turn_ms": turns,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
