"""Texts for the training corpus: sentences from a grammar, and word salads from a pronouncing
lexicon.

The grammar (sentences.toml) gives everyday prosody: greetings, questions, numbers, dates, prices.
The salads give every phone sequence of the lexicon, which no grammar of this size can. Whoever
wants another domain edits the grammar, or passes own lines (`train voice --texts FILE`).
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files

_SLOT = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"\b([Aa])n? (?=(\w+))")
_DOUBLE_ARTICLE = re.compile(r"\b(some|an?|your) (?:an?) ", re.IGNORECASE)
_FUNCTION_WORDS = (
    "the of and to in that is was for with on as at by from this but not are or an they which "
    "one you were all her she there would their we him been has when who will no more if out so "
    "what up its about into than them can only other new some could time these two may then do "
    "first any my now such like our over me even most made after also did many before must "
    "through where much your way how down should because each just those people too good very "
    "make still own see work here between both being under never same another know while last "
    "might us great old year off come since go "
).split()
_JOINTS = (
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    ", ",
    ", ",
    "; ",
    ": ",
    " and ",
    " of the ",
    " in a ",
    " to ",
)
_ENDINGS = (".", ".", ".", ".", "?", "!")


@cache
def _grammar() -> tuple[list[str], dict[str, list[str]]]:
    data = tomllib.loads(
        files("engine.workshop.train.corpus").joinpath("sentences.toml").read_text("utf-8")
    )
    return data["templates"], data["lists"]


def _digits(rng: random.Random, count: int) -> str:
    return " ".join(str(rng.randrange(10)) for _ in range(count))


def _phone_number(rng: random.Random) -> str:
    return ", ".join(_digits(rng, count) for count in (3, 3, 4))


def _ordinal(number: int) -> str:
    suffix = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _time(rng: random.Random) -> str:
    hour, minute = rng.randint(1, 12), rng.choice([0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55])
    half = rng.choice(["", " a.m.", " p.m.", " in the morning"])
    return f"{hour}:{minute:02d}{half}" if minute else f"{hour}{half or ' o’clock'}"


NUMBERS: dict[str, Callable[[random.Random], str]] = {
    "digit": lambda rng: str(rng.randrange(10)),
    "digits": lambda rng: _digits(rng, rng.randint(4, 8)),
    "smallint": lambda rng: str(rng.randint(2, 20)),
    "twodigit": lambda rng: str(rng.randint(20, 99)),
    "threedigit": lambda rng: str(rng.randint(100, 999)),
    "bigint": lambda rng: f"{rng.choice([10, 100, 1000]) * rng.randint(11, 9999):,}",
    "percent": lambda rng: str(rng.randint(1, 100)),
    "decimal": lambda rng: f"{rng.randint(0, 60)}.{rng.randint(1, 99)}",
    "money": lambda rng: (
        f"${rng.randint(1, 999)}.{rng.randint(1, 99):02d}"
        if rng.random() < 0.6
        else f"${rng.choice([1, 10, 100]) * rng.randint(1, 90)}"
    ),
    "year": lambda rng: str(rng.randint(1700, 2030)),
    "ord": lambda rng: _ordinal(rng.randint(1, 31)),
    "time": _time,
    "phone": _phone_number,
    "letter": lambda rng: rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "a": lambda rng: "a",
}


def sentence(rng: random.Random) -> str:
    """One sentence of the grammar."""
    templates, lists = _grammar()

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        return NUMBERS[name](rng) if name in NUMBERS else rng.choice(lists[name])

    text = _SLOT.sub(fill, rng.choice(templates))
    text = _DOUBLE_ARTICLE.sub(lambda match: f"{match[1]} ", text)
    text = _ARTICLE.sub(
        lambda match: f"{match[1]}n " if match[2][0].lower() in "aeio" else f"{match[1]} ", text
    )
    return text[0].upper() + text[1:]


def salad(rng: random.Random, words: Sequence[str]) -> str:
    """Between two and sixteen words of the lexicon, strewn with function words and punctuation."""
    count = rng.choice([2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
    parts: list[str] = []
    for index in range(count):
        if rng.random() < 0.4:
            parts.append(rng.choice(_FUNCTION_WORDS))
        else:
            parts.append(rng.choice(words))
        if index + 1 < count:
            parts.append(rng.choice(_JOINTS))
    text = "".join(parts) + rng.choice(_ENDINGS)
    return text[0].upper() + text[1:]


def normalised(text: str) -> str:
    """Words alone, lower case: how two texts are compared when test sentences are kept out."""
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))


def texts(
    seed: int, words: Sequence[str], salad_share: float = 0.4, excluded: Sequence[str] = ()
) -> Iterator[str]:
    """An endless stream of different texts, none of them in `excluded`.

    Args:
        seed: the same seed gives the same texts.
        words: the lexicon's words for the salads.
        salad_share: share of salads, 0 to 1.
        excluded: sentences that must not occur (the evaluation's), compared by words alone.
    """
    rng = random.Random(seed)
    seen = {normalised(text) for text in excluded}
    while True:
        text = salad(rng, words) if rng.random() < salad_share else sentence(rng)
        key = normalised(text)
        if key not in seen:
            seen.add(key)
            yield text
