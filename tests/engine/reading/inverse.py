"""From English words back to values: written apart from the reader, to hold it to account."""

from __future__ import annotations

from decimal import Decimal

_SMALL = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen".split()
    )
} | {"oh": 0}
_TENS = {
    word: 10 * (index + 2)
    for index, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split())
}
_SCALES = {
    word: 1000 ** (index + 1)
    for index, word in enumerate("thousand million billion trillion quadrillion".split())
}
_ORDINALS = {
    "first": "one", "second": "two", "third": "three", "fifth": "five", "eighth": "eight",
    "ninth": "nine", "twelfth": "twelve",
}  # fmt: skip
MONTHS = (
    "January February March April May June July August September October November December".split()
)


def integer(words: list[str]) -> int:
    """nineteen eighty four, one thousand nine hundred eighty four -> 1984. Raises ValueError."""
    total, group, last = 0, 0, 0
    for word in words:
        if word in _SCALES:
            total, group, last = total + (group or 1) * _SCALES[word], 0, 0
        elif word == "hundred":
            group, last = group * 100, 0
        elif word in _SMALL or word in _TENS:
            value = _SMALL.get(word, _TENS.get(word, 0))
            joins = last == 0 or last >= 20 and last % 10 == 0 and 0 < value < 10
            if not joins:  # the second half of a pair: nineteen | eighty, twenty | oh
                group *= 100
            elif word == "oh":
                group *= 100
            group, last = group + value, value
        elif word != "and":
            raise ValueError(f"expected a number, got {word!r} in {' '.join(words)}")
    return total + group


def digits(words: list[str]) -> str:
    """Digit by digit."""
    return "".join(str(_SMALL[word]) for word in words)


def number(words: list[str]) -> Decimal:
    """minus one point five -> -1.5."""
    if words[0] in ("minus", "negative"):
        return -number(words[1:])
    if "point" in words:
        at = words.index("point")
        return Decimal(f"{integer(words[:at])}.{digits(words[at + 1 :])}")
    return Decimal(integer(words))


def ordinal(words: list[str]) -> int:
    """twenty first -> 21."""
    last = words[-1]
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("ieth"):
        last = last[:-4] + "y"
    elif last.endswith("th"):
        last = last[:-2]
    else:
        raise ValueError(f"expected an ordinal, got {' '.join(words)!r}")
    return integer([*words[:-1], last])


def money(words: list[str], unit: str, cent: str) -> Decimal:
    """five dollars and thirty cents -> 5.30; five point three million dollars -> 5300000."""
    sign = -1 if words[0] == "minus" else 1
    words = words[1:] if sign < 0 else words
    total = Decimal(0)
    rest: list[str] = []
    for word in words:
        if word.startswith(unit):
            total, rest = total + _scaled(rest), []
        elif word.startswith(cent):
            total, rest = total + number([w for w in rest if w != "and"]) / 100, []
        else:
            rest.append(word)
    if rest:
        raise ValueError(f"expected an amount, got {' '.join(words)!r}")
    return sign * total


def _scaled(words: list[str]) -> Decimal:
    if "point" in words and words[-1] in _SCALES:
        return number(words[:-1]) * _SCALES[words[-1]]
    return number(words)


def date(words: list[str]) -> tuple[int, int, int]:
    """July fourth seventeen seventy six, the fourth of July ... -> (1776, 7, 4)."""
    at = next(index for index, word in enumerate(words) if word in MONTHS)
    month = MONTHS.index(words[at]) + 1
    before = [word for word in words[:at] if word not in ("the", "of", "on")]
    if before:
        return integer(words[at + 1 :]), month, ordinal(before)
    for end in (at + 2, at + 3):
        try:
            return integer(words[end:]), month, ordinal(words[at + 1 : end])
        except ValueError:
            continue
    raise ValueError(f"expected a date, got {' '.join(words)!r}")


def clock(words: list[str]) -> tuple[int, int, str]:
    """ten oh five P M -> (10, 5, "PM")."""
    half = "".join(word for word in words if word in ("A", "P", "M"))
    rest = [word for word in words if word not in ("A", "P", "M")]
    if rest == ["midnight"]:
        return 0, 0, half
    if rest[-1] in ("o'clock", "hundred"):
        return integer(rest[:-1]), 0, half
    for cut in (1, 2):
        hour, minute = rest[:cut], rest[cut:]
        if not minute:
            return integer(hour), 0, half
        if len(hour) == 2 and hour[0] not in _TENS or minute[0] in _TENS or minute[0] == "oh":
            return integer(hour), integer([w for w in minute if w != "oh"]), half
        if len(minute) == 1 and not (hour[0] in _TENS and 0 < _SMALL.get(minute[0], 10) < 10):
            return integer(hour), integer(minute), half
    return integer(rest), 0, half
