"""Numbers as English words."""

from __future__ import annotations

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = ("", "thousand", "million", "billion", "trillion", "quadrillion")
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
_MAX_DIGITS = 3 * len(_SCALES)


def digits(text: str) -> list[str]:
    """One word a digit; other characters are passed over."""
    return [_ONES[int(character)] for character in text if character in "0123456789"]


def _below_thousand(number: int) -> list[str]:
    words = []
    if number >= 100:
        words += [_ONES[number // 100], "hundred"]
        number %= 100
    if number >= 20:
        words.append(_TENS[number // 10])
        number %= 10
    if number:
        words.append(_ONES[number])
    return words


def cardinal(number: int) -> list[str]:
    """1250 -> one thousand two hundred fifty; beyond quadrillions digit by digit."""
    if number == 0:
        return ["zero"]
    if len(str(number)) > _MAX_DIGITS:
        return digits(str(number))
    groups = []
    while number:
        groups.append(number % 1000)
        number //= 1000
    words: list[str] = []
    for index in range(len(groups) - 1, -1, -1):
        if groups[index]:
            words += _below_thousand(groups[index])
            words += [_SCALES[index]] if index else []
    return words


def ordinal(number: int) -> list[str]:
    """21 -> twenty first."""
    *front, last = cardinal(number)
    if last in _ORDINALS:
        return [*front, _ORDINALS[last]]
    return [*front, last[:-1] + "ieth" if last.endswith("y") else last + "th"]


def year(number: int) -> list[str]:
    """1998 -> nineteen ninety eight; 2005 -> two thousand five; 1900 -> nineteen hundred."""
    high, low = divmod(number, 100)
    if high % 10 == 0 and low < 10 or not 10 <= high <= 99:
        return cardinal(number)
    if low == 0:
        return [*cardinal(high), "hundred"]
    if low < 10:
        return [*cardinal(high), "oh", _ONES[low]]
    return [*cardinal(high), *cardinal(low)]


def decimal(whole: str, fraction: str) -> list[str]:
    """("3", "14") -> three point one four. `whole` may be empty or hold commas."""
    front = cardinal(int(whole.replace(",", ""))) if whole else ["zero"]
    return [*front, "point", *digits(fraction)]


def plural(words: list[str]) -> list[str]:
    """Decades and scores: nineties, thousands, sixes."""
    last = words[-1]
    if last.endswith("y"):
        return [*words[:-1], last[:-1] + "ies"]
    return [*words[:-1], last + ("es" if last.endswith("x") else "s")]
