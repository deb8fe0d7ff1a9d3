"""Is written English read as a careful person would? Shares by kind of input, ours and libraries'.

    python -m benchmarks.reading [--cases FILE] [--show] [--nvidia DIR]

A case is a line of JSON: `category`, `text`, `accepted` (a list of readings). What a program says
is right if its words are those of an accepted reading, or else if it sounds the same through the
built-in voice's phone front end. "Ours" is what the server does with a text: marks of mark-up
taken out, then read. `--nvidia` names a checkout of NVIDIA/NeMo-text-processing, whose own test
lines and Google's and LibriTTS's pairs (under `data/`) are then read too, each with its one
accepted reading; "and" within numbers, and oh for zero, count as no difference there.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.parts.report import finish, say
from engine.reading import read
from engine.text.frontend.lexicon import load_lexicon
from engine.text.frontend.phones import parse
from gateway.text.segment import Segmenter, SegmentPolicy

CASES = Path(__file__).parent.parent / "tests" / "engine" / "reading" / "cases.jsonl"
NVIDIA_TESTS = Path("tests/nemo_text_processing/en/data_text_normalization")
PAIRS = ("GoogleTN.json", "LibriTTS.json")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_TAG = re.compile(r"<[a-z/][^<>]*>")
_STRESS = str.maketrans("", "", "ˈˌ")


@dataclass(frozen=True, slots=True)
class Case:
    """A text, and every reading of it that counts as right."""

    category: str
    text: str
    accepted: tuple[str, ...]


def cases_of(path: Path) -> list[Case]:
    """The cases of a file of JSON lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [Case(row["category"], row["text"], tuple(row["accepted"])) for row in rows]


def nvidia_cases(root: Path) -> Iterator[Case]:
    """NVIDIA's test lines ("written~spoken"), and the pairs of two public sets."""
    for path in sorted((root / NVIDIA_TESTS).glob("test_cases_*.txt")):
        if "with_audio" in path.name or "match_input" in path.name:
            continue  # another format; the same lines again
        for line in path.read_text(encoding="utf-8").splitlines():
            written, tilde, spoken = line.partition("~")
            if tilde and written.strip():
                yield Case(f"nvidia {path.stem.removeprefix('test_cases_')}", written, (spoken,))
    for name in PAIRS:
        for line in (root / "data" / name).read_text(encoding="utf-8").splitlines():
            pair = json.loads(line)
            yield Case(f"pairs {name.partition('.')[0]}", pair["text"], (pair["gt_normalized"],))


def words_of(text: str) -> list[str]:
    """Words in lower case without marks; hyphens part them."""
    return _WORD.findall(_TAG.sub(" ", text).lower().replace("’", "'").replace("`", "'"))


def sounds_of(text: str) -> str:
    """The phones of a spoken text, without stress and word boundaries."""
    lexicon = load_lexicon()
    words = text.split()
    alone = [len(word) == 1 and word != "a" for word in words]  # a letter's name
    named = [here or word == "a" and any(alone[max(0, i - 1) : i + 2])
             for i, (word, here) in enumerate(zip(words, alone, strict=True))]  # fmt: skip
    names = [word.upper() if letter else word for word, letter in zip(words, named, strict=True)]
    tokens = [token for name in names for token in parse(lexicon(name))[0]]
    return "".join(tokens).translate(_STRESS).replace("_", "")


def _loosely(words: list[str]) -> str:
    """One form for what a single accepted reading leaves open: which of two usual ways of saying a
    date, a year or a zero, "and" within numbers, letters apart or together.
    """
    text = " ".join(_SAME.get(word, word) for word in words if word != "and")
    text = _DAY_FIRST.sub(r"\2 \1", text).replace("two thousand twenty", "twenty twenty")
    text = _TWO_THOUSAND.sub(r"twenty \1", text).replace("dollars", "dollar")
    return text.replace(" ", "").replace("'", "")


_SAME = {
    "oh": "zero", "o": "zero", "mister": "mr", "misses": "mrs", "missus": "mrs", "page": "p",
    "pages": "pp", "incorporated": "inc", "company": "co", "volume": "vol", "corporation": "corp",
    "limited": "ltd", "editors": "eds", "saint": "st", "mount": "mt",
}  # fmt: skip
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAY_FIRST = re.compile(rf"the ((?:(?:twenty|thirty) )?[a-z]+(?:st|nd|rd|th)) of ({_MONTHS})\b")
_TWO_THOUSAND = re.compile(r"two thousand (ten|eleven|twelve|[a-z]+teen|twenty|thirty)\b")


def is_right(said: str, case: Case, loose: bool) -> bool:
    """Whether a reading is among the accepted ones, by words or by sound."""
    words = words_of(said)
    if any(words == words_of(reading) for reading in case.accepted):
        return True
    if loose and any(_loosely(words) == _loosely(words_of(r)) for r in case.accepted):
        return True
    sounds = sounds_of(said.replace("’", "'"))
    return any(sounds == sounds_of(" ".join(words_of(r))) for r in case.accepted)


def ours(text: str) -> str:
    """What the server says of a text."""
    segmenter = Segmenter(SegmentPolicy())
    segments = [*segmenter.push(text, 0.0), *segmenter.flush()]
    return " ".join(str(read(segment.spoken)) for segment in segments)


def libraries() -> dict[str, Callable[[str], str]]:
    """Other normalisers that happen to be installed."""
    makers: dict[str, tuple[str, Callable[[Any], Callable[[str], str]]]] = {
        "nemo_text_processing": (
            "nemo_text_processing.text_normalization.normalize",
            lambda module: module.Normalizer("cased", lang="en").normalize,
        ),
        "damga": ("damga", lambda module: module.Normalizer("tn", "en").normalize),
        "itntext": (
            "itntext",
            lambda module: module.Normalizer(lang="en", operator="tn").normalize,
        ),
        "tn": ("tn.english.normalizer", lambda module: module.Normalizer().normalize),
    }
    return {
        name: make(importlib.import_module(path))
        for name, (path, make) in makers.items()
        if importlib.util.find_spec(name)
    }


def judge(reader: Callable[[str], str], cases: list[Case], loose: bool) -> list[tuple[Case, str]]:
    """The cases that a reader gets wrong, with what it said."""
    said = [(case, reader(case.text)) for case in cases]
    return [(case, text) for case, text in said if not is_right(text, case, loose)]


def shares(cases: list[Case], wrong: list[tuple[Case, str]]) -> dict[str, float]:
    """Category -> share that is right."""
    total: dict[str, int] = defaultdict(int)
    bad: dict[str, int] = defaultdict(int)
    for case in cases:
        total[case.category] += 1
    for case, _ in wrong:
        bad[case.category] += 1
    return {name: 1 - bad[name] / total[name] for name in total}


def processor_ms(cases: list[Case]) -> float:
    """Processor time of the reader alone for a text, in milliseconds."""
    start = time.process_time()
    for case in cases:
        read(case.text)
    return (time.process_time() - start) * 1000 / max(1, len(cases))


def _report(name: str, cases: list[Case], loose: bool, show: bool) -> float:
    readers = {"ours": ours, **libraries()}
    wrong = {who: judge(reader, cases, loose) for who, reader in readers.items()}
    tables = {who: shares(cases, found) for who, found in wrong.items()}
    for category in sorted(tables["ours"]):
        say(f"{category:24}" + "".join(f"{who} {t[category]:7.1%}  " for who, t in tables.items()))
    for who, found in wrong.items():
        say(f"{name}: {who} {1 - len(found) / len(cases):.1%} of {len(cases)}")
    if show:
        for case, text in wrong["ours"]:
            say(f"{case.category}: {case.text!r} -> {text!r}, expected {' | '.join(case.accepted)}")
    return 1 - len(wrong["ours"]) / len(cases)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--nvidia", type=Path, help="a checkout of NVIDIA/NeMo-text-processing")
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    options = parser.parse_args()
    cases = cases_of(options.cases)
    read("Loading the rules costs time once.")
    figures = {"right_share": _report("cases", cases, False, options.show)}
    if options.nvidia:
        by_set: dict[str, list[Case]] = defaultdict(list)
        for case in nvidia_cases(options.nvidia):
            by_set[case.category if case.category.startswith("pairs") else "nvidia"].append(case)
        for name, some in by_set.items():
            share = _report(name, some, True, options.show)
            figures[f"{name.replace(' ', '_').lower()}_right_share"] = share
    figures["ms_per_sentence"] = processor_ms(cases)
    finish(**{name: round(value, 4) for name, value in figures.items()})


if __name__ == "__main__":
    main()
