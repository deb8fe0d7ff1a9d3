"""The segmenter against sentence segmentation libraries, on the table of cases, whole and streamed.

    uv run --with pysbd==0.3.4 --with sentencex==1.0.32 --with sentencesplit==0.1.0 \
        --with yasbd-lib==1.0.4 --with blingfire==0.1.8 --with stream2sentence==1.1.0 \
        python -m benchmarks.segment

Every row goes in whole, then character by character. A library with a streaming mode is used
through it; the others as voice agents use them: after each character the buffer is segmented
again and all but the last sentence is given out. A cut is counted by the non-space characters
before it. Libraries that are not installed are left out. The last line is one JSON object:
`rows`; `segmenters`: per name `right_whole`, `right_streamed` (share of rows), `wrong_cuts`,
`missed_cuts` (streamed), `us_per_char` (streamed); `ours_minus_best` (share of rows, streamed).
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

from gateway.text.segment import Segmenter, SegmentPolicy
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
    others = [result["right_streamed"] for name, result in results.items() if name != OURS]
    report = {
        "rows": sum(map(len, CASES.values())),
        "segmenters": results,
        "ours_minus_best": round(results[OURS]["right_streamed"] - max(others, default=0.0), 3),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
