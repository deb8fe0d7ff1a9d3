"""Bare numbers: counts, years, codes, fractions, ordinals, ranges, scores, signs before them."""

from __future__ import annotations

import re
import unicodedata

from engine.reading.english import context, date, numbers
from engine.reading.english.tables import SCALE_WORD
from engine.reading.english.units import POWER, UNIT, UNITS, unit_words
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_GLYPHS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ˢᵗⁿᵈʳʰ", "0123456789-+stndrh")
_SMALL = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "01234567890123456789")
_PIECES_OF = frozenset(
    "page step chapter part slide question task item lesson exercise level".split()
)
_MARKS_OF = frozenset("rated score scored scores rating of gave graded".split())
_PAGES = frozenset("pages page ages aged rows from between lines chapters".split())
# What is read digit by digit, if it stands nearby before a number.
_CODE_CUES = frozenset(
    "pin code otp passcode password account acct zip ssn isbn dial tracking digits card "
    "confirmation invoice serial imei routing extension phone fax mobile cell pnr id passport "
    "license licence plate order case ticket reference ref build sku number".split()
)
_COUNT_CUES = frozenset(
    "id order case number ticket extension build ref reference cell card".split()
)
_PAIR_CUES = frozenset(
    "flight route highway interstate room suite boeing airbus error channel bus http status hwy "
    "unit apartment gate".split()
)
_CODE_BEHIND = re.compile(
    r"\s(?:as|is|was)\s(?:your|the|my|our)\s(?:PIN|pin|code|otp|OTP|password|passcode)\b"
)
_LINKS = frozenset("is was are # no number code the a ending in with to now be for".split())


def integer(text: str, match: Match) -> str:
    """Digits without separators: a code, a year, the number of a thing, or a count."""
    if len(text) > 1 and text[0] == "0":
        return numbers.digits(text)
    cue = _cue(match)
    if len(text) > 3 and _CODE_BEHIND.match(match.string, match.end()):
        return numbers.digits(text)
    if cue in _CODE_CUES and (len(text) > 3 or cue not in _COUNT_CUES):
        if not (cue in ("number", "case") and len(text) < 5 and cue == "number"):
            return numbers.digits(text)
    if cue == "dial" or cue == "call" and text in ("911", "311", "411", "511", "811", "988"):
        return numbers.digits(text)
    if cue in _PAIR_CUES and len(text) in (3, 4):
        return numbers.in_pairs(text)
    if len(text) > 12:
        return numbers.digits(text)
    if len(text) == 4 and date.is_year(match):
        return numbers.year(int(text))
    return numbers.cardinal(int(text))


def _cue(match: Match) -> str:
    """The word that a number belongs to: "your PIN is 9808", "error 404"."""
    words = context.words_before(match)
    for index, word in enumerate(words):
        if word in _CODE_CUES or word in _PAIR_CUES or word in ("dial", "call"):
            return word if index == 0 or word in _CODE_CUES else ""
        if word not in _LINKS and not (len(word) < 4 and index == 0):
            return ""
    return ""


def _number(match: Match) -> Spoken:
    text = match[0]
    return integer(text, match) if text.isdecimal() else numbers.plain(text)


def _old_ordinal(match: Match) -> Spoken:
    """The 23d Dragoons, the 22d of May."""
    return numbers.ordinal(int(match["number"]))


def _ordinal(match: Match) -> Spoken:
    number = int(re.sub(r"\D", "", match["number"]))
    ending = match["ending"].translate(_SUPERSCRIPTS).lower()
    last = number % 10 if number // 10 % 10 != 1 else 0
    if ending != {1: "st", 2: "nd", 3: "rd"}.get(last, "th"):
        return None
    return numbers.ordinal(number)


def _glyph_value(glyph: str) -> tuple[int, int]:
    top, _, bottom = unicodedata.normalize("NFKC", glyph).partition("\u2044")
    return int(top), int(bottom)


def _glyph(match: Match) -> Spoken:
    """½ cup, 1½ hours."""
    top, bottom = _glyph_value(match["glyph"])
    if match["whole"]:
        return numbers.mixed(int(match["whole"]), top, bottom) + _unit(match, False)
    return numbers.fraction(top, bottom) + _unit(match, True)


def _mixed(match: Match) -> Spoken:
    whole, top, bottom = int(match["whole"]), int(match["top"]), int(match["bottom"])
    return [
        part(match, "whole", numbers.cardinal(whole)),
        Part(
            numbers.mixed(whole, top, bottom).removeprefix(numbers.cardinal(whole))
            + _unit(match, False),
            match.start("top"),
            match.end(),
        ),
    ]


def _fraction(match: Match) -> Spoken:
    top, bottom = int(match["top"]), int(match["bottom"].replace(",", ""))
    before, said = context.before(match), numbers.cardinal
    if before in _PIECES_OF:
        return [part(match, "top", said(top)), part(match, "bottom", f"of {said(bottom)}")]
    if (
        before in _MARKS_OF
        and bottom in (5, 10, 100)
        or re.match(r"\s?stars?\b", match.string[match.end() :])
    ):
        return [part(match, "top", said(top)), part(match, "bottom", f"out of {said(bottom)}")]
    if top == bottom or top + bottom == 100 or (top, bottom) in ((24, 7), (9, 11)):
        return [part(match, "top", said(top)), part(match, "bottom", said(bottom))]
    if len(match["top"]) > 1 and match["top"][0] == "0" or bottom == 0:
        return None
    return numbers.fraction(top, bottom) + _unit(match, True)


def _unit(match: Match, one: bool) -> str:
    """The unit behind a fraction: half a pound is singular, one and a half pounds are not."""
    symbol = match["unit"]
    return f" {UNITS[symbol][0 if one or context.is_attribute(match) else 1]}" if symbol else ""


def _pair(match: Match) -> Spoken:
    """50-50."""
    if match["low"] != match["high"]:
        return None
    return [part(match, group, numbers.plain(match[group])) for group in ("low", "high")]


def _range(match: Match) -> Spoken:
    """10-20: to; with spaces and nothing that counts beside it, a subtraction."""
    dash = match["dash"]
    behind = match.string[match.end("high") :]
    low = match["low"]
    subtracts = (
        "−" in dash
        or re.match(r"\s?=", behind) is not None
        or dash != dash.strip()
        and match.string.strip() == match[0] + match["high"]
        and not (len(low) == 4 and low.isdecimal())
    )
    words = numbers.plain(low)
    return [part(match, "low", words), part(match, "dash", "minus" if subtracts else "to")]


def _dash_to(match: Match) -> Spoken:
    from engine.reading.english.time import dashes_to

    return "to" if dashes_to(match.string, match.start()) else None


def _sign(match: Match) -> Spoken:
    """A minus before a number, nothing that it could join before it."""
    spaced = match[0][-1].isspace()
    if (
        spaced
        and match.string[match.end() :]
        and not re.match(rf"[\d.,]+\s?(?:degrees?\b|[°º])", match.string[match.end() :])
    ):
        return None
    return "minus"


def _raised(match: Match) -> Spoken:
    """Small digits that nothing carries: footnotes, ⁵."""
    return numbers.cardinal(int(match[0].translate(_SMALL)))


def _plus_many(match: Match) -> Spoken:
    return f"{numbers.plain(match['number'])} plus"


def _scaled(match: Match) -> Spoken:
    return [
        part(match, "number", numbers.plain(match["number"])),
        part(match, "scale", match["scale"].lower()),
    ]


def _is_screen(low: str, high: str) -> bool:
    """1920x1080: figures in pairs."""
    return all(text.isdecimal() and len(text) in (3, 4) for text in (low, high)) and (
        len(low) == 4 or len(high) == 4
    )


def _times(match: Match) -> Spoken:
    """10x10, 1920x1080, 4.4x."""
    if match["high"]:
        parts = []
        paired = _is_screen(match["low"], match["high"])
        for group, joint in (("low", ""), ("high", "by "), ("third", "by ")):
            if match[group]:
                text = match[group]
                words = numbers.in_pairs(text) if paired else numbers.plain(text)
                parts.append(part(match, group, joint + words))
        if match["unit"]:
            parts.append(part(match, "unit", unit_words(match["unit"], match["power"], False)))
        return parts
    return f"{numbers.plain(match['low'])} {'times' if context.after(match) in ('faster', 'more', 'slower', 'less', 'better', 'cheaper', 'larger', 'smaller', 'higher', 'lower') else 'x'}"


_BEHIND = rf"(?:\s?(?P<unit>{UNIT})(?![\w/]))?"

RULES_FIRST: tuple[Rule, ...] = (
    rule("fraction", rf"[\d{_GLYPHS}]", rf"(?P<whole>\d+)?\s?(?P<glyph>[{_GLYPHS}]){_BEHIND}", _glyph),
    rule("fraction", r"\d", rf"(?P<whole>\d{{1,4}})(?:\s|-)(?P<top>\d{{1,3}})[/⁄](?P<bottom>[1-9]\d{{0,2}})(?![\d/]|\.\d)(?:th|rd|nd)?{_BEHIND}", _mixed),
    rule("ordinal", r"\d", rf"(?P<number>{numbers.GROUPED}|\d+)\s?(?P<ending>(?:st|nd|rd|th)\b|(?:ST|ND|RD|TH)\b|ˢᵗ|ⁿᵈ|ʳᵈ|ᵗʰ)(?<!\s..)", _ordinal),
    rule("ordinal", r"\d", r"(?P<number>\d*[2-9][23]|[2-9][23])d(?!\w)", _old_ordinal),
    rule("dimension", r"\d", rf"(?P<low>{numbers.NUMBER})\s?[x×]\s?(?P<high>{numbers.NUMBER})(?:\s?[x×]\s?(?P<third>{numbers.NUMBER}))?(?!\s?[=\d⁰¹²³⁴-⁹^])(?:\s?(?P<unit>{UNIT})(?P<power>{POWER})?(?!\w))?", _times),
    rule("factor", r"[\d.]", rf"(?P<low>{numbers.NUMBER})[x×](?P<high>(?!))?(?P<third>(?!))?(?!\w)", _times),
)  # fmt: skip

RULES_LAST: tuple[Rule, ...] = (
    rule("fraction", r"\d", rf"(?P<top>\d{{1,5}})\s?[/⁄]\s?(?P<bottom>\d{{1,3}},\d{{3}}|\d{{1,5}})(?:(?:th|rd|nd|TH|RD|ND)\b)?(?![\d/]|\.\d){_BEHIND}(?!\w)", _fraction),
    rule("range", r"\d", r"(?P<low>\d{1,3})[-–](?P<high>\d{1,3})(?![\d.-])", _pair),
    rule("range", r"[\d.]", rf"(?P<low>{numbers.NUMBER})(?P<dash>\s?[-–—−]\s?)(?=(?P<high>{numbers.NUMBER})(?![-–]\d))", _range),
    rule("number", r"[\d.]", rf"(?P<number>{numbers.NUMBER})\+(?![\d\w=(+])", _plus_many),
    rule("number", r"[\d.]", rf"(?P<number>{numbers.NUMBER})\s(?P<scale>{SCALE_WORD})\b", _scaled),
    rule("decimal", r"\d", rf"{numbers.COMMA_DECIMAL}(?=\s(?:degrees?|percent|euros?|grams?|(?:kilo|centi|milli)?met(?:er|re)s?|kilograms?|lit(?:er|re)s?|hours|Grad)\b)", lambda m: numbers.with_comma(m[0])),
    rule("number", r"\d", rf"{numbers.NUMBER}", _number),
    rule("number", r"\.", rf"\.\d+(?<!\w\.\d)", _number),
    rule("range", r"[-–—]", r"[-–—]\s?(?=[$€£]?\d|noon\b|midnight\b)", _dash_to),
    rule("sign", r"[-−–]", r"(?<![\w)\]%])[-−–]\s?(?=[$€£¥₹₩]?\.?\d)", _sign),
    rule("sign", r"[+]", r"(?<![\w)\]])\+(?=[$€£]?\.?\d)", "plus"),
    rule("sign", r"[~≈∼]", r"(?<![\w)\]]\s)(?<![\w)\]])[~∼≈]\s?(?=[$€£]?\.?\d)", "about"),
    rule("number", r"#", r"#(?=\s?\d)", "number"),
    rule("number", r"[⁰¹²³⁴-⁹₀-₉]", r"[⁰¹²³⁴-⁹₀-₉]{1,15}", _raised),
)  # fmt: skip
