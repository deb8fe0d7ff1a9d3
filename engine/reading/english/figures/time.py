"""Times of day, spans of them, durations; ratios, which are written as times are."""

from __future__ import annotations

from engine.reading.english.words import context, numbers
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_HALF = r"(?P<half>[AaPp](?:\.\s?[Mm]\.?|[Mm]\b\.?(?=[^\w]|\Z)|[Mm]\b))"
_ZONE = (
    r"(?:\s?(?P<zone>(?:UTC|GMT|[ECMP][SD]T|[EP]T|CES?T|BST|IST|JST|AEST|HST"
    r"|est|pst|utc|gmt|e\.s\.t|p\.s\.t)(?!\w)))?"
)
_CLOCK = r"(?P<hour>2[0-4]|1\d|0?\d):(?P<minute>[0-5]\d)"
_SECOND = r"(?::(?P<second>[0-5]\d)(?:[.,]\d+)?)?"
_TWELVE = r"(?P<hour>1[0-2]|0?[1-9])"


def _minutes(minute: int) -> str:
    return ("oh " if minute < 10 else "") + numbers.cardinal(minute)


def _suffix(match: Match) -> list[Part]:
    """Half of the day and time zone, in letters."""
    parts = []
    if match["half"]:
        parts.append(part(match, "half", "A M" if match["half"][0] in "aA" else "P M"))
    if match["zone"]:
        parts.append(part(match, "zone", " ".join(match["zone"].replace(".", "").upper())))
    return parts


def _clock(match: Match) -> Spoken:
    """2:30 pm, 14:05, 8:00; with seconds and no half of the day it is a duration: 1:01:01."""
    hour, minute, second = int(match["hour"]), int(match["minute"]), match["second"]
    if second is not None and not match["half"] and not match["zulu"]:
        return [part(match, g, _count(int(match[g]), g)) for g in ("hour", "minute", "second")]
    suffix = _suffix(match)
    if match["zulu"]:
        suffix.append(part(match, "zulu", "U T C"))
    if minute:
        parts = [
            part(match, "hour", numbers.cardinal(hour)),
            part(match, "minute", _minutes(minute)),
        ]
    else:
        parts = _full_hour(match, hour)
    if second is not None and int(second):
        parts.append(part(match, "second", numbers.cardinal(int(second))))
    return parts + suffix


def _full_hour(match: Match, hour: int) -> list[Part]:
    if match["half"]:
        return [part(match, "hour", numbers.cardinal(hour))]
    if hour in (0, 24) and not match["zone"]:
        return [part(match, "hour", "midnight")]
    joint = "hundred" if hour > 12 or match["zone"] else "o'clock"
    return [part(match, "hour", numbers.cardinal(hour % 24)), part(match, "minute", joint)]


def _dotted(match: Match) -> Spoken:
    """10.30 am."""
    minute = int(match["minute"])
    parts = [part(match, "hour", numbers.cardinal(int(match["hour"])))]
    return parts + ([part(match, "minute", _minutes(minute))] if minute else []) + _suffix(match)


def _hour(match: Match) -> Spoken:
    """9 AM."""
    return [part(match, "hour", numbers.cardinal(int(match["hour"]))), *_suffix(match)]


def _first_of_two(match: Match) -> Spoken:
    """The 3 of 3-5pm; the rest is left to the rule for a time."""
    hour, _, minute = match["low"].partition(":")
    words = numbers.cardinal(int(hour))
    words += f" {_minutes(int(minute))}" if minute and int(minute) else ""
    return [part(match, "low", words), part(match, "dash", "to")]


def _ratio(match: Match) -> Spoken:
    """3:1, 16:9."""
    high = f"to {numbers.cardinal(int(match['high']))}"
    return [part(match, "low", numbers.cardinal(int(match["low"]))), part(match, "high", high)]


def _duration(match: Match) -> Spoken:
    """1h 30m, 5m 30s, 1h30."""
    attribute = context.is_attribute(match)
    parts = [
        part(match, group, _count(int(match[group]), group, attribute))
        for group in ("hour", "minute", "second")
        if match[group]
    ]
    if match["rest"]:
        parts.append(part(match, "rest", numbers.cardinal(int(match["rest"]))))
    return parts if len(parts) > 1 else None


def _count(number: int, unit: str, attribute: bool = False) -> str:
    return f"{numbers.cardinal(number)} {unit}{'' if number == 1 or attribute else 's'}"


RULES: tuple[Rule, ...] = (
    rule("time", r"\d", r"(?P<low>1[0-2]|[1-9](?::[0-5]\d)?)\s?(?P<dash>[-–—]|to)\s?"
         rf"(?=(?:1[0-2]|[1-9])(?::[0-5]\d)?\s?{_HALF})", _first_of_two),
    rule("time", r"\d", rf"{_CLOCK}{_SECOND}(?![\d]|:\d)(?:\s?{_HALF})?(?P<zulu>Z\b)?{_ZONE}",
         _clock),
    rule("time", r"\d", rf"{_TWELVE}\.(?P<minute>[0-5]\d)\s?{_HALF}{_ZONE}", _dotted),
    rule("time", r"\d", rf"{_TWELVE}\s?{_HALF}(?!\w){_ZONE}", _hour),
    rule("ratio", r"\d", r"(?P<low>\d{1,3}):(?P<high>\d{1,3})(?![\d:])", _ratio),
    rule("duration", r"\d", r"(?:(?P<hour>\d{1,3})\s?(?:h|hrs?)\s?)?"
         r"(?:(?P<minute>\d{1,3})\s?(?:m|mins?)(?![\w/])\s?)?"
         r"(?:(?P<second>\d{1,3})\s?(?:s|secs?)(?![\w/]))?(?P<rest>(?<=h)[0-5]\d(?!\w))?(?<=\w)",
         _duration),
)  # fmt: skip
