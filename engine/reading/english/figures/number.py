"""Bare numbers: counts, years, codes; what stands beside them decides."""

from __future__ import annotations

import re

from engine.reading.english.figures import date
from engine.reading.english.words import context, numbers
from engine.reading.english.words.tables import SCALE_WORD
from engine.reading.types import Match, Rule, Spoken, part, rule

# Numbers that these words introduce are read digit by digit ...
_CODE_CUES = frozenset(
    "pin code otp passcode password account acct zip ssn isbn dial tracking digits card "
    "confirmation invoice serial imei routing extension phone fax mobile cell pnr passport "
    "license licence plate sku po".split()
)
# ... after these from four digits on ...
_LONG_CODE_CUES = frozenset("id order case ticket reference ref build extension cell card".split())
# ... and after these in pairs, as one says a house.
_PAIR_CUES = frozenset(
    "flight route highway interstate room suite boeing airbus error channel bus http status hwy "
    "unit apartment gate".split()
)
_SHORT_CALLS = frozenset("211 311 411 511 611 711 811 911 988 999 112".split())
_CALLS = frozenset("call calls caller operator dispatcher line".split())
_LINKS = frozenset("is was are no number numbers the a ending in with to now be for code".split())
_CODE_BEHIND = re.compile(
    r"\s(?:as|is|was)\s(?:your|the|my|our)\s(?:PIN|pin|code|otp|OTP|password|passcode)\b"
)
_LONGEST_COUNT = 9
"""A longer row of digits without separators counts only what stands behind it."""
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "01234567890123456789")
_CONTINENTAL = r"\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)"  # 1.299,50
_COUNTED_NOUN = (
    r"(?=\s(?:degrees?|percent|euros?|grams?|(?:kilo|centi|milli)?met(?:er|re)s?|kilograms?"
    r"|lit(?:er|re)s?|hours)\b)"
)


def _integer(text: str, match: Match) -> str:
    """Digits without separators: a code, the number of a thing, a year, or a count."""
    if len(text) > 1 and text[0] == "0" or _is_code(text, match):
        return numbers.digits(text)
    if len(text) > _LONGEST_COUNT and not _counts(match) or len(text) > numbers.MAX_DIGITS:
        return numbers.digits(text)
    if len(text) in (3, 4) and _cue(match) in _PAIR_CUES or _is_model(text, match):
        return numbers.in_pairs(text)
    if len(text) == 4 and date.is_year(match):
        return numbers.year(int(text))
    return numbers.cardinal(int(text))


def _counts(match: Match) -> bool:
    """Whether a noun stands behind the number."""
    noun = context.after(match)
    return noun.islower() and noun not in context.FUNCTION_WORDS


def _is_code(text: str, match: Match) -> bool:
    cue = _cue(match)
    if len(text) > 3:
        behind = _CODE_BEHIND.match(match.string, match.end())
        called = cue == "call" and len(text) in (7, 10)
        return cue in _CODE_CUES or cue in _LONG_CODE_CUES or behind is not None or called
    called = cue == "call" or context.after(match) in _CALLS
    alone = text == "911" and context.stands_alone(match)
    return cue in _CODE_CUES - _LONG_CODE_CUES or called and text in _SHORT_CALLS or alone


def _is_model(text: str, match: Match) -> bool:
    """RTX 4090, US 101; but not a year behind capitals."""
    name = context.last_word(match)
    capitals = name.isupper() and 1 < len(name) < 5
    if len(text) == 3:
        return name == "US"  # US 101
    return len(text) == 4 and capitals and not 1900 <= int(text) < 2100


def _cue(match: Match) -> str:
    """The word that a number belongs to: "your PIN is 9808", "plate ABC 1234"."""
    for index, word in enumerate(context.words_before(match)):
        if word in _CODE_CUES or word in _LONG_CODE_CUES or word in _PAIR_CUES or word == "call":
            carrier = index == 1 and context.last_word(match).isupper()  # flight BA 117
            near = index == 0 or carrier or word not in _PAIR_CUES and word != "call"
            return word if near else ""
        if word not in _LINKS and (index or len(word) > 3):
            return ""
    return ""


def _number(match: Match) -> Spoken:
    text = match[0]
    return _integer(text, match) if text.isdecimal() else numbers.plain(text)


def _scaled(match: Match) -> Spoken:
    """5 million."""
    return [
        part(match, "number", numbers.plain(match["number"])),
        part(match, "scale", match["scale"].lower()),
    ]


RULES: tuple[Rule, ...] = (
    rule("number", r"[\d.]", rf"(?P<number>{numbers.NUMBER})\+(?![\d\w=(+])",
         lambda m: f"{numbers.plain(m['number'])} plus"),
    rule("number", r"[\d.]", rf"(?P<number>{numbers.NUMBER})\s(?P<scale>{SCALE_WORD})\b", _scaled),
    rule("decimal", r"\d", rf"{numbers.COMMA_DECIMAL}{_COUNTED_NOUN}|{_CONTINENTAL}",
         lambda m: numbers.with_comma(m[0])),
    rule("number", r"\d", rf"{numbers.NUMBER}(?![A-Za-z\d])", _number),
    rule("number", r"\.", r"(?<!\w)\.\d+", lambda m: numbers.plain(m[0])),
    rule("number", r"#", r"#(?=\s?\d)", "number"),
    rule("number", r"[⁰¹²³⁴-⁹₀-₉]", r"[⁰¹²³⁴-⁹₀-₉]{1,15}",
         lambda m: numbers.cardinal(int(m[0].translate(_RAISED)))),
)  # fmt: skip

# A number that letters follow, when no class has taken both.
LAST: tuple[Rule, ...] = (rule("number", r"\d", numbers.NUMBER, _number),)
