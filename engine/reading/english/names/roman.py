"""Roman numerals: Chapter IV counts, Henry VIII ranks, an IV drip is neither."""

from __future__ import annotations

import re

from engine.reading.english.words import context, numbers
from engine.reading.types import Match, Rule, Spoken, part, rule

_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_WELL_FORMED = re.compile(
    r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})", re.IGNORECASE
)
# After these a numeral counts; after other names it ranks.
COUNTED = frozenset(
    "pentium iphone chapter ch chap pt vols part act scene book volume vol section article "
    "appendix figure table phase type level grade class stage tier title unit episode season "
    "rocky bowl war world mark mk factor schedule annex apollo gemini saturn rank group "
    "category letter story study lecture corollary proposition theorem lemma sonnet hymn plate "
    "map note fig lesson module step exhibit psalm canto verse paragraph page item number game "
    "olympiad final fantasy quarter round day week century division region zone district ward "
    "corps army fleet option plan model series version titan star wars diablo civilization "
    "ultima quest hearts".split()
)
# After these names even a lone I, V or X ranks.
_RULERS = frozenset(
    "king queen pope emperor tsar czar prince princess sultan saint elizabeth henry george charles "
    "louis william edward richard james john paul francis benedict leo napoleon philip frederick "
    "catherine nicholas alexander peter ivan mary ferdinand".split()
)
# Words, sizes and other short forms that look like numerals.
_WORDS = frozenset(
    "A MIX DIM MILD CIVIC VIVID LID CD DVD DI MI CC CV DC MC MD ML MM DM DL LL XL XXL XC CL CM DIX "
    "LIV".split()
)
_FAR = 40
"""Kings and headings end below."""
_NUMERAL_BEFORE = re.compile(r"[IVXLC]{1,6},?\s(?:and|or|to)\s\Z")
_SMALL_BEHIND = re.compile(r"\s[a-z]")


def value_of(text: str) -> int | None:
    """XIV -> 14; None where it is no Roman numeral."""
    if not text or not _WELL_FORMED.fullmatch(text):
        return None
    values = [_VALUES[character] for character in text.upper()]
    following = [*values[1:], 0]
    return sum(-v if after > v else v for v, after in zip(values, following, strict=True))


def _numeral(match: Match) -> Spoken:
    value = value_of(match["numeral"])
    if value is None:
        return None
    before, word = context.before(match), context.last_word(match)
    if before in COUNTED:
        return _counted(match["numeral"], value, word)
    if word[:1].isupper():
        return _ranked(match, value, before, word)
    return _alone(match, value)


def _counted(text: str, value: int, word: str) -> Spoken:
    """Chapter IV, World War I; but "Appendix C", and "the table I found"."""
    if text in ("C", "D", "L", "M") or text == "I" and not word[:1].isupper():
        return None
    return numbers.cardinal(value)


def _ranked(match: Match, value: int, before: str, name: str) -> Spoken:
    """Henry VIII. A single letter is one more often than not: Malcolm X, Bob and I."""
    text = match["numeral"]
    if value >= _FAR or text in _WORDS:
        return None
    if len(text) == 1 and (before not in _RULERS or text not in "IVX"):
        return None
    if name.isupper() and len(name) > 1 and value > 9:
        return None
    return f"the {numbers.ordinal(value)}"


def _alone(match: Match, value: int) -> Spoken:
    """The XIX century; a heading; MMXXIV; a numeral that is no word."""
    text = match["numeral"]
    if context.after(match).lower() in ("century", "centuries") and len(text) > 1:
        return numbers.ordinal(value)
    if text in _WORDS or len(text) == 1:
        return None
    if len(text) > 3 and value > 1000:
        return numbers.year(value)
    small = set(text) <= set("IVX")
    if small and value < _FAR and _heads_line(match):
        return numbers.cardinal(value)
    listed = _NUMERAL_BEFORE.search(match.string, max(0, match.start() - 14), match.start())
    if listed is not None:
        return numbers.cardinal(value)
    plain = small and len(text) > 2 and not context.is_shouted(match)
    return numbers.cardinal(value) if plain or text in ("II", "III") else None


def _heads_line(match: Match, before_small: bool = False) -> bool:
    """Whether the numeral opens a line as a heading's number does: XV. OF THE PRIDE."""
    line = match.string[: match.start()].rpartition("\n")[2]
    small = _SMALL_BEHIND.match(match.string, match.end()) is not None
    return not line.strip() and (before_small or not small)


def _small(match: Match) -> Spoken:
    """(ii), (iv); a single letter only where it opens a line."""
    if len(match["numeral"]) == 1 and (match["numeral"] == "x" or not _heads_line(match, True)):
        return None
    value = value_of(match["numeral"])
    return numbers.cardinal(value) if value and value < _FAR else None


def _range(match: Match) -> Spoken:
    """Chapters IV-VI."""
    low, high = value_of(match["low"]), value_of(match["high"])
    if not low or not high or low >= high:
        return None
    return [
        part(match, "low", numbers.cardinal(low)),
        part(match, "high", f"to {numbers.cardinal(high)}"),
    ]


RULES: tuple[Rule, ...] = (
    rule("roman", r"[IVXLC]", r"(?P<low>[IVXLC]+)[-–](?P<high>[IVXLC]+)(?!\w)", _range),
    rule("roman", r"[IVXLCDM]",
         r"(?P<numeral>[IVXLCDM]+)(?![\w.]\w|\w|[/&]|['’](?!s\b))", _numeral),
    rule("roman", r"\(", r"(?<![\w'’)])\((?P<numeral>[ivx]{1,5})\)", _small),
)  # fmt: skip

TRIGGERS = frozenset("I V X C D L M".split())
