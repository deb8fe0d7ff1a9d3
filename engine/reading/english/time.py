"""Times of day, spans of them, and durations."""

from __future__ import annotations

import re

from engine.reading.english import context, numbers
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_HALF = r"(?P<half>[AaPp](?:\.\s?[Mm]\.?|[Mm]\b\.?(?=[^\w]|\Z)|[Mm]\b))"
_ZONES = r"UTC|GMT|EST|EDT|CST|CDT|MST|MDT|PST|PDT|ET|PT|CET|CEST|BST|IST|JST|AEST|HST"
_ZONE = rf"(?:\s?(?P<zone>(?:{_ZONES})(?!\w)|(?:est|pst|utc|gmt|e\.s\.t|p\.s\.t)(?!\w)))?"
_CLOCK = r"(?P<hour>2[0-4]|1\d|0?\d):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,]\d+)?)?"
_RANGE_CUES = frozenset("between from".split())
_SPANS = {"h": "hour", "hr": "hour", "hrs": "hour", "m": "minute", "min": "minute",
          "mins": "minute", "s": "second", "sec": "second", "secs": "second"}  # fmt: skip


def _half(text: str) -> str:
    return "A M" if text[0] in "aA" else "P M"


def _clock(match: Match) -> Spoken:
    hour, minute, second = int(match["hour"]), int(match["minute"]), match["second"]
    parts = [part(match, "hour", numbers.cardinal(hour))]
    lone = not match["half"] and not match["zone"]
    if second is not None and not match["half"] and not match["zulu"]:
        return _lasting(match)
    if minute:
        low = "oh " if minute < 10 else ""
        parts.append(part(match, "minute", low + numbers.cardinal(minute)))
        if hour == 0 and not match["half"]:
            parts[0] = part(match, "hour", "zero")
    elif not match["half"]:
        parts = _full_hour(match, hour)
    if second is not None and int(second):
        parts.append(part(match, "second", numbers.cardinal(int(second))))
    if match["half"]:
        parts.append(part(match, "half", _half(match["half"])))
    if match["zone"]:
        parts.append(part(match, "zone", " ".join(match["zone"].replace(".", "").upper())))
    if match["zulu"]:
        parts.append(part(match, "zulu", "U T C"))
    del lone
    return parts


def _full_hour(match: Match, hour: int) -> list[Part]:
    said, minutes = numbers.cardinal(hour), "o'clock"
    if hour == 0 or hour == 24:
        return (
            [Part("midnight", *match.span("hour"))]
            if not match["zone"]
            else [Part("zero hundred", *match.span("hour"))]
        )
    if hour > 12 or match["zone"]:
        minutes = "hundred"
    return [part(match, "hour", said), part(match, "minute", minutes)]


def _lasting(match: Match) -> list[Part]:
    """Hours, minutes and seconds: 1:01:01."""
    return [
        part(match, group, _count(int(match[group]), group))
        for group in ("hour", "minute", "second")
    ]


def _count(number: int, unit: str) -> str:
    return f"{numbers.cardinal(number)} {unit}{'' if number == 1 else 's'}"


def _hour(match: Match) -> Spoken:
    hour = int(match["hour"])
    if not 0 < hour <= 12:
        return None
    parts = [part(match, "hour", numbers.cardinal(hour))]
    parts.append(part(match, "half", _half(match["half"])))
    if match["zone"]:
        parts.append(part(match, "zone", " ".join(match["zone"].replace(".", "").upper())))
    return parts


def _hours(match: Match) -> Spoken:
    """3-5pm; the rest is left to the rule for a time."""
    if int(match["low"].partition(":")[0]) > 12:
        return None
    hour, _, minute = match["low"].partition(":")
    words = numbers.cardinal(int(hour))
    if minute and int(minute):
        words += (" oh " if int(minute) < 10 else " ") + numbers.cardinal(int(minute))
    return [part(match, "low", words), part(match, "dash", "to")]


def _ratio(match: Match) -> Spoken:
    """3:1, 16:9; between words of a contest, a score."""
    low, high = int(match["low"]), int(match["high"])
    return [
        part(match, "low", numbers.cardinal(low)),
        part(match, "high", f"to {numbers.cardinal(high)}"),
    ]


def _verse(match: Match) -> Spoken:
    """John 3:16 and John 3:16-18."""
    return [
        part(match, "chapter", numbers.cardinal(int(match["chapter"]))),
        part(match, "verse", numbers.cardinal(int(match["verse"]))),
    ]


def _duration(match: Match) -> Spoken:
    """1h 30m, 5m 30s, 1h30."""
    one = context.is_attribute(match)
    parts = []
    for group in ("hour", "minute", "second"):
        if match[group]:
            number = int(match[group])
            unit = (
                group
                if number == 1 or one and group == "minute" and not match["second"]
                else f"{group}s"
            )
            if one and not match["second"]:
                unit = group
            parts.append(part(match, group, f"{numbers.cardinal(number)} {unit}"))
    if len(parts) == 1 and match["rest"]:
        unit = "" if match["rest"] else " minutes"
        parts.append(part(match, "rest", numbers.cardinal(int(match["rest"])) + unit))
    return parts if len(parts) > 1 else None


RULES: tuple[Rule, ...] = (
    rule("time", r"\d", r"(?P<low>1[0-2]|[1-9](?::[0-5]\d)?)\s?(?P<dash>[-–—]|to)\s?"
         rf"(?=(?:1[0-2]|[1-9])(?::[0-5]\d)?\s?{_HALF})", _hours),
    rule("time", r"\d", rf"{_CLOCK}(?![\d]|:\d)(?:\s?{_HALF})?(?P<zulu>Z\b)?{_ZONE}", _clock),
    rule("time", r"\d", rf"(?P<hour>1[0-2]|0?[1-9])\.(?P<minute>[0-5]\d)(?P<second>(?!))?(?P<zulu>(?!))?"
         rf"\s?{_HALF}{_ZONE}", _clock),
    rule("time", r"\d", rf"(?P<hour>1[0-2]|0?[1-9])\s?{_HALF}(?!\w){_ZONE}", _hour),
    rule("ratio", r"\d", r"(?P<low>\d{1,3}):(?P<high>\d{1,3})(?![\d:])", _ratio),
    rule("duration", r"\d", r"(?:(?P<hour>\d{1,3})\s?(?:h|hrs?)\s?)?(?:(?P<minute>\d{1,3})\s?(?:m|mins?)(?![\w/])\s?)?"
         r"(?:(?P<second>\d{1,3})\s?(?:s|secs?)(?![\w/]))?(?P<rest>(?<=h)[0-5]\d(?!\w))?(?<=\w)", _duration),
)  # fmt: skip


def dashes_to(text: str, at: int) -> bool:
    """Whether a dash at `at` joins two quantities whose first one is complete: 9am-5pm, 20%-30%."""
    return _QUANTITY.search(text, max(0, at - 20), at) is not None


_QUANTITY = re.compile(r"(?:\d|[%°]|(?<=[\d\s])(?:[AaPp]\.?[Mm]\.?)|(?<=\d)[a-zA-Z°]{1,3})\s?\Z")
