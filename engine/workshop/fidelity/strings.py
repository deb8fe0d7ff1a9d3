"""Fuzzed strings for tokenizers: every script that Unicode names, emoji, tags, control tokens.

Deterministic, so that a mismatch can be named by its number. Scripts are not a list kept here: the
first word of a character's Unicode name is its script, near enough.
"""

from __future__ import annotations

import random
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

_EMOJI = (
    "\U0001f600", "\u2764\ufe0f", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "1\ufe0f\u20e3",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\U0001f9d1\U0001f3fe\u200d\U0001f680",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
)  # fmt: skip
_TAGS = (
    "[laughing]", "[whisper in a small voice]", "[pause]", "[[", "]]", "[\n]",
    "<|speaker:0|>", "<|speaker:12|>", "<|speaker:0|>[laughing]", "(sigh)",
)  # fmt: skip
_WORDS = (
    "I'm", "WE'LL", "don't", "it's", "naïve", "Straße", "e.g.", "3.1415", "1,000,000", "https://a.b/c?d=e&f",
    "snake_case", "C++", "O'Neill's", "résumé", "…", "--", "—", "½", "№", "ﬁ",
)  # fmt: skip
_SPACES = (
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\n\n\n",
    " \n ",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u200b",
    "\0",
    "\ufeff",
)
_MARKS = tuple(
    chr(c) for c in (0x300, 0x301, 0x308, 0x323, 0x327, 0x335, 0x5B0, 0x64B, 0x93C, 0xE31, 0x3099)
)


@cache
def scripts() -> dict[str, tuple[str, ...]]:
    """Script -> its characters, for every named character that is no surrogate and not private."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for code in range(0x80, 0x30000):
        character = chr(code)
        name = unicodedata.name(character, "")
        if name and not 0xD800 <= code < 0xF900:
            found[name.split(" ", 1)[0]].append(character)
    return {name: tuple(characters) for name, characters in found.items() if len(characters) > 1}


def fuzzed_strings(count: int, control_tokens: Sequence[str], seed: int = 0) -> list[str]:
    """`count` strings. Every script occurs once there are as many strings as scripts.

    `control_tokens`: the spellings that a user may try to steer the model with.
    """
    generator = random.Random(seed)
    names = sorted(scripts())
    strings = []
    for number in range(count):
        pieces = [_word(generator, names[number % len(names)])]
        for _ in range(generator.randrange(12)):
            pieces.append(_piece(generator, names, control_tokens))
        generator.shuffle(pieces)
        strings.append("".join(pieces))
    return strings


def _piece(generator: random.Random, names: Sequence[str], control: Sequence[str]) -> str:
    kind = generator.randrange(9)
    if kind == 0:
        return _word(generator, generator.choice(names))
    if kind == 1:
        return generator.choice(_EMOJI)
    if kind == 2:
        return generator.choice(_TAGS)
    if kind == 3 and control:
        return _tampered(generator, generator.choice(control))
    if kind == 4:
        return generator.choice("aeiounAEOUкあ각") + "".join(
            generator.choices(_MARKS, k=generator.randrange(1, 4))
        )
    if kind == 5:
        return str(generator.randrange(10 ** generator.randrange(1, 12)))
    if kind == 6:
        return generator.choice("ab!?.-=~ ") * generator.randrange(1, 40)
    return generator.choice(_WORDS) + generator.choice(_SPACES)


def _word(generator: random.Random, script: str) -> str:
    word = "".join(generator.choices(scripts()[script], k=generator.randrange(1, 9)))
    return word + generator.choice(("", " ", ", ", ". "))


def _tampered(generator: random.Random, token: str) -> str:
    """Whole as often as not; else cut, doubled, split by a character, or in capitals."""
    cut = generator.randrange(1, len(token)) if len(token) > 1 else 0
    return generator.choice(
        (
            token,
            token,
            token,
            token,
            token[:cut],
            token[cut:],
            token * 2,
            token[:cut] + "\u200b" + token[cut:],
            token.upper(),
        )
    )
