"""Dates in every order, months, weekdays, decades, centuries and spans of years."""

from __future__ import annotations

import re

from engine.reading.english.words import context, numbers
from engine.reading.english.words.tables import MONTH, MONTHS, SHORT_WEEKDAYS, WEEKDAYS
from engine.reading.english.words.units import UNIT
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_BY_START = {name[:3].lower(): name for name in MONTHS}
_DAYS_IN = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SHORT_DAY = "|".join(sorted(SHORT_WEEKDAYS, key=len, reverse=True))
_YEAR = r"(?P<year>1[0-9]\d\d|20\d\d|21\d\d)"
_YEAR_BEHIND = rf"(?:,?\s{_YEAR}(?![\d%/:]|,\d|\.\d)|\s?(?P<short>'\d\d)\b)?"
_ORDINAL = r"(?:\s?(?:st|nd|rd|th)\b)?"
_YEAR_CUES = frozenset(
    "in since from until till by before after during year years of early late mid circa spring "
    "summer autumn fall winter and or to between around through january february march april may "
    "june july august september october november december jan feb mar apr jun jul aug sep sept "
    "oct nov dec copyright ca the c b d r fl est".split()
)
_DUE = frozenset("on by due until since dated before after".split())
_WHOLES = frozenset("page step chapter part slide question".split())  # page 3/15
# Words as well as months.
_WORDS = frozenset("may march mar dec".split())
_PRONOUNS = frozenset("you i we they he she it who".split())
_BEFORE_DAY = frozenset("on every next last this until by from since and".split())
_BEHIND_DAY = re.compile(rf",?\s?(?:at\b|[ap]m\b|morning|night|\d|(?:{MONTH})\b)|/")
_NOT_PLURAL = frozenset("is was has as this his its us thus yes does plus versus across".split())
_UNCOUNTED = frozenset("people men women children police cattle".split())


def _month(text: str) -> str:
    """The full name of a month written short or long."""
    return _BY_START[text[:3].lower()]


def _exists(day: int, month_number: int) -> bool:
    return 1 <= month_number <= 12 and 1 <= day <= 31


def _full_year(text: str) -> str:
    """Four digits as a year; two as the century at hand: '24, 98."""
    text = text.strip("'’")
    if len(text) == 4:
        return numbers.year(int(text))
    return numbers.year(int(text) + (2000 if int(text) < 70 else 1900))


def _iso(match: Match) -> Spoken:
    day, number = int(match["day"]), int(match["month"])
    if not _exists(day, number):
        return None
    return f"{MONTHS[number - 1]} {numbers.ordinal(day)} {numbers.year(int(match['year']))}"


def _figures(match: Match) -> Spoken:
    """Month first, as in the United States, unless only the other order or the points of Europe
    make a date.
    """
    first, second = int(match["first"]), int(match["second"])
    day_first = first > 12 or match["mark"] == "." and second <= 12
    day, number = (first, second) if day_first else (second, first)
    if not _exists(day, number) or day > _DAYS_IN[number - 1]:
        return None
    return f"{MONTHS[number - 1]} {numbers.ordinal(day)} {_full_year(match['year'])}"


def _no_year(match: Match) -> Spoken:
    """3/15 is a day where it can be no usual fraction, or where the word before asks for one."""
    number, day = int(match["month"]), int(match["day"])
    if not _exists(day, number):
        return None
    if (number, day) == (9, 11):
        return "nine eleven"
    before = context.before(match)
    usual = day <= 12 or day in (15, 16, 20, 24, 25, 30) and number in (1, 5, 7, 11)
    if before not in _DUE and (usual or before in _WHOLES) or context.after(match) == "of":
        return None
    return f"{MONTHS[number - 1]} {numbers.ordinal(day)}"


def _is_month(match: Match, word: str) -> bool:
    """May and march are words too: as months they need a capital, and not a verb's place."""
    if word.lower() not in _WORDS:
        return True
    return word[0].isupper() and context.before(match) not in _PRONOUNS


def _month_day(match: Match) -> Spoken:
    if not _is_month(match, match["month"]):
        return None
    parts = [
        part(match, "month", _month(match["month"])),
        part(match, "day", numbers.ordinal(int(match["day"]))),
    ]
    if match["last"]:
        parts.append(part(match, "last", f"to {numbers.ordinal(int(match['last']))}"))
    return parts + _year_part(match)


def _year_part(match: Match) -> list[Part]:
    if match["year"]:
        return [part(match, "year", numbers.year(int(match["year"])))]
    if match["short"]:
        return [part(match, "short", numbers.short_year(match["short"][1:]))]
    return []


def _day_month(match: Match) -> Spoken:
    named = match["year"] is not None or _is_month(match, match["month"])
    if not named or context.before(match) in ("chapter", "page"):
        return None
    silent = match["of"] or context.before(match) in ("the", "this", "every", "of", "a")
    article = "" if silent and (match["of"] is None or _is_ordinal(match)) else "the "
    parts = [
        part(match, group, f"{article}{numbers.ordinal(int(match[group]))} {joint}")
        for group, joint in (("low", "to"), ("day", "of"))
        if match[group]
    ]
    return [*parts, part(match, "month", _month(match["month"])), *_year_part(match)]


def _is_ordinal(match: Match) -> bool:
    """Whether the day is written as the text means it to be said: 20th of December."""
    return match.string[match.end("day") :].lstrip()[:2] in ("st", "nd", "rd", "th")


def _month_year(match: Match) -> Spoken:
    if not _is_month(match, match["month"]):
        return None
    parts = [part(match, "month", _month(match["month"]))]
    if match["other"]:
        parts.append(part(match, "other", f"to {_month(match['other'])}"))
    if match["of"]:
        parts.append(part(match, "of", "of"))
    return parts + _year_part(match)


def _months(match: Match) -> Spoken:
    return [
        part(match, "month", _month(match["month"])),
        part(match, "other", f"to {_month(match['other'])}"),
    ]


def _short_month(match: Match) -> Spoken:
    """Jan., Sept. alone."""
    return _month(match["month"]) if _is_month(match, match["month"]) else None


def _weekdays(match: Match) -> Spoken:
    """Mon-Thu, Saturday; Sat and Sun are words as well."""
    day, other = match["day"], match["other"]
    first = part(match, "day", SHORT_WEEKDAYS.get(day, day))
    if other:
        return [first, part(match, "other", f"to {SHORT_WEEKDAYS.get(other, other)}")]
    return None if len(day) == 3 and not _surely_a_day(match) else [first]


def _surely_a_day(match: Match) -> bool:
    return (
        match[0].endswith(".")
        or context.before(match) in _BEFORE_DAY
        or _BEHIND_DAY.match(match.string, match.end()) is not None
        or context.stands_alone(match)
    )


def _decade(match: Match) -> Spoken:
    """The 1980s, the 80s, the 2000s; hundreds and thousands of something: 100s."""
    number = int(match["decade"])
    if number in (100, 1000):
        return numbers.plural(numbers.cardinal(number).removeprefix("one "))
    return numbers.plural(numbers.cardinal(number) if number < 100 else numbers.year(number))


def _years(match: Match) -> Spoken:
    """1984-1986, 2023-24, 2021/2022."""
    low, high = match["low"], match["high"]
    if len(high) == 4 and not -1 < int(high) - int(low) < 1000:
        return None
    if len(high) == 2 and (int(high) <= int(low[2:]) or int(high) <= 12 and match["mark"] == "/"):
        return None
    said = numbers.year(int(high)) if len(high) == 4 else numbers.short_year(high)
    joint = "" if match["mark"] == "/" else "to "
    return [part(match, "low", numbers.year(int(low))), part(match, "high", joint + said)]


def _decades(match: Match) -> Spoken:
    """The 1960s-80s."""
    low = numbers.plural(numbers.year(int(match["low"])))
    high = numbers.plural(numbers.cardinal(int(match["high"])))
    return [part(match, "low", low), part(match, "high", f"to {high}")]


def _era(match: Match) -> Spoken:
    """300 BC, 79 AD, 500 BCE."""
    number = match["number"].replace(",", "")
    said = numbers.cardinal(int(number)) if number.endswith("00") else numbers.in_pairs(number)
    letters = " ".join(match["era"].replace(".", "").upper())
    return [part(match, "number", said), part(match, "era", letters)]


def _after_ad(match: Match) -> Spoken:
    """AD 79."""
    number = int(match["number"])
    said = numbers.year(number) if number > 999 else numbers.cardinal(number)
    return [part(match, "era", "A D"), part(match, "number", said)]


def _apostrophe_year(match: Match) -> Spoken:
    """Class of '08; a quotation mark before a number is no apostrophe."""
    if match.string.find("'", match.end()) >= 0 and context.before(match) not in ("of", "in"):
        return None
    return numbers.short_year(match["year"])


def _quarter(match: Match) -> Spoken:
    names = ("first", "second", "third", "fourth")
    said = f"the {names[int(match['quarter']) - 1]} quarter of"
    return f"{said} {_full_year(match['year'])}"


def _short_quarter(match: Match) -> Spoken:
    quarter = numbers.cardinal(int(match["quarter"][1]))
    return [
        part(match, "quarter", f"Q {quarter}"),
        part(match, "year", numbers.year(int(match["year"]))),
    ]


def is_year(match: Match) -> bool:
    """Whether four digits mean a year, by what stands beside them."""
    number = int(match[0])
    if not 1000 <= number <= 2199:
        return False
    before, noun = context.before(match), context.after(match)
    if noun and noun.islower() and noun not in context.FUNCTION_WORDS and _counts(noun, before):
        return False
    return number >= 1100 and number % 1000 != 0 or before in _YEAR_CUES and number % 1000 != 0


def _counts(noun: str, before: str) -> bool:
    if noun in _UNCOUNTED:
        return True
    plural = len(noun) > 3 and noun.endswith("s") and noun not in _NOT_PLURAL
    return plural and not noun.endswith("ss") and before not in _YEAR_CUES


_DASH = r"\s?[-–—]\s?"
_DAY_NUMBER = r"(?:3[01]|[12]\d|0?[1-9])"
_MONTH_PATTERN = rf"(?P<month>(?i:{MONTH}))"
_YEAR_NUMBER = r"(?:1\d\d\d|20\d\d)"
_WEEKDAY = rf"(?:{_SHORT_DAY}|{'|'.join(WEEKDAYS)})"
# What a number behind a month would be if it is no day: a time, an amount, a distance.
_NO_DAY = r"(?![\d%]|:\d|[.,]\d|\s?(?:[ap]\.?m\b|miles|times|km|percent|days|people))"

RULES: tuple[Rule, ...] = (
    # 2025-09-28, 2025/9/28, 13/02/2024
    rule("date", r"\d", r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\d|-\d)"
         r"(?:[T ](?=\d\d?:\d\d))?", _iso),
    rule("date", r"\d", rf"{_YEAR}(?P<mark>[/.])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)"
         r"(?![\d/]|\.\d)", _iso),
    rule("date", r"\d", r"(?P<first>\d\d?)(?P<mark>[-/.])(?P<second>\d\d?)(?P=mark)"
         r"(?P<year>[12]\d{3}|\d\d)(?![\d]|[-/.]\d)", _figures),
    rule("date", r"\d", rf"(?P<month>1[0-2]|0?[1-9])/(?P<day>{_DAY_NUMBER})(?![\w/.]|\s?%)",
         _no_year),
    # 3 Jan 2020, 3-5 June
    rule("date", r"\d", rf"(?:(?P<low>{_DAY_NUMBER}){_ORDINAL}{_DASH})?(?P<day>{_DAY_NUMBER})"
         rf"{_ORDINAL}\s(?P<of>of\s)?{_MONTH_PATTERN}\b\.?{_YEAR_BEHIND}", _day_month),
    # Jan. 3, 2020; Jan-15-2020; June 3-5
    rule("date", r"[A-Za-z]", rf"{_MONTH_PATTERN}-(?P<day>{_DAY_NUMBER})(?P<last>(?!))?"
         rf"(?:-{_YEAR}(?P<short>(?!))?)?(?![\w-])", _month_day),
    rule("date", r"[A-Za-z]", rf"{_MONTH_PATTERN}\.?\s(?:the\s)?(?P<day>{_DAY_NUMBER}){_ORDINAL}"
         rf"(?:{_DASH}(?P<last>{_DAY_NUMBER}){_ORDINAL})?{_NO_DAY}{_YEAR_BEHIND}", _month_day),
    # Oct-Dec 2024, April of 1853, July '58
    rule("date", r"[A-Za-z]", rf"{_MONTH_PATTERN}\.?(?:{_DASH}(?P<other>{MONTH})\.?)?"
         rf"(?:,?\s(?P<of>of\s)?{_YEAR}(?![\d%/:]|,\d|\.\d)|\s(?P<short>'\d\d)\b)", _month_year),
    rule("date", r"[A-Z]", rf"(?P<month>{MONTH})\.?{_DASH}(?P<other>{MONTH})\b\.?", _months),
    rule("date", r"[A-Z]", r"(?P<month>Jan|Feb|Aug|Sept?|Oct|Nov|Dec|Apr)\b\.?(?!')", _short_month),
    rule("date", r"[A-Z]", rf"(?P<day>{_WEEKDAY})\b\.?(?:{_DASH}(?P<other>{_WEEKDAY})\b\.?)?",
         _weekdays),
    # the 1960s-80s, the 1980's, the '90s, class of '08
    rule("date", r"\d", rf"(?P<low>{_YEAR_NUMBER})s[-–](?P<high>\d\d)s\b", _decades),
    rule("date", r"\d", r"(?P<decade>(?:1\d\d0|20\d0)\s?|[2-9]0|100)['’]?s\b", _decade),
    rule("date", r"['’]", r"['’](?P<decade>[1-9]0)['’]?s\b", _decade),
    rule("date", r"['’]", r"(?<!\w)['’](?P<year>\d\d)(?![\d'’%])\b", _apostrophe_year),
    # 2019-2021, 2023-24, 300 BC, AD 79, 2Q22, Q3 2024
    rule("date", r"\d", rf"(?P<low>{_YEAR_NUMBER})\s?(?P<mark>[-–—/])\s?"
         rf"(?P<high>{_YEAR_NUMBER}|\d\d)"
         rf"(?![\w]|[-–/.,]\d|\s?[°%=])(?!\s?{UNIT}(?!\w))", _years),
    rule("date", r"\d", r"(?P<number>\d{1,4}|\d,\d{3})\s?"
         r"(?P<era>B\.?C\.?E?\.?|A\.D\.?|AD|CE)(?!\w)", _era),
    rule("date", r"A", r"(?P<era>A\.?D\.?)\s(?P<number>\d{1,4})(?![\d,.]\d|\d)", _after_ad),
    rule("date", r"\d", r"(?P<quarter>[1-4])Q\s?(?P<year>\d\d|20\d\d)\b", _quarter),
    rule("date", r"Q", r"(?P<quarter>Q[1-4])\s(?P<year>20\d\d)\b", _short_quarter),
)  # fmt: skip

TRIGGERS = frozenset(
    [name.lower() for name in MONTHS]
    + [name[:3].lower() for name in MONTHS]
    + ["sept", *(day.lower() for day in (*SHORT_WEEKDAYS, *WEEKDAYS)), "ad"]
)
