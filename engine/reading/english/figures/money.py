"""Amounts of money: the sign before or after, scales, ranges, prices per something."""

from __future__ import annotations

import re

from engine.reading.english.words import context, numbers
from engine.reading.english.words.tables import CODES, CURRENCIES, SCALE_WORD, SCALES
from engine.reading.english.words.units import UNITS
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

Currency = tuple[str, str, str, str]

_WORDY = ("kr", "Rs", "zł")  # need more care than a sign does
_SIGNS = [sign for sign in sorted(CURRENCIES, key=len, reverse=True) if sign not in _WORDY]
_SIGN = "(?:" + "|".join(map(re.escape, _SIGNS)) + r"|Rs\.?|kr\.?(?=\s?\d)|(?:US|U\.S\.)\s\$)"
_FIRST = r"[$€£¥₹₩₽₺₿₫฿₪₱₦₴UCANHSRMk]"
_CODE = "(?:" + "|".join(CODES) + ")"
_LETTERS = r"(?:mn|mm|MM|mil|bn|Bn|tn|trn|[kKmMbBtT])(?![\w²³/])"
_SCALE = rf"(?P<scale>{_LETTERS}|[\s-]?{SCALE_WORD}\b|\s(?:mn|bn|tn|M|B|b|K|k)(?!\w))?"
_AMOUNT = rf"(?P<amount>{numbers.COMMA_DECIMAL}|{numbers.NUMBER})"
_PERIODS = {
    "mo": "month", "yr": "year", "wk": "week", "d": "day", "hr": "hour", "h": "hour",
    "min": "minute", "s": "second", "sec": "second",
}  # fmt: skip
_THINGS = (
    "month|year|week|day|hour|night|person|user|seat|unit|lb|kg|oz|gal|mi|km|sq ft|ft|GB|MB|kWh"
    "|tokens?|1M tokens|share|head|item|piece|each|call|minute|second|L|l|g"
)
_PER = rf"(?:\s?/\s?(?P<per>{_THINGS}|{'|'.join(_PERIODS)})(?!\w))?"
_SMALL = {"p": ("penny", "pence"), "¢": ("cent", "cents")}


def _currency(text: str) -> Currency:
    text = "US$" if text[0] == "U" and text[-1] == "$" else text.rstrip(".")
    return CURRENCIES.get(text) or CODES[text]


def _plain(amount: str) -> str:
    """An amount in figures, with a point and without separators: 1.299,50 -> 1299.50."""
    if re.fullmatch(numbers.COMMA_DECIMAL, amount):
        amount = amount.replace(".", "").replace(",", ".")
    amount = re.sub(r"[^\d.]", "", amount)
    return amount.replace(".", "") if amount.count(".") > 1 else amount


def _exact(amount: str, currency: Currency, attribute: bool = False) -> str:
    """Whole units and hundredths; what is finer than a hundredth is read by its digits."""
    one, several, cent, cents = currency
    whole, _, fraction = _plain(amount).partition(".")
    hundredths = fraction.rstrip("0")
    if len(hundredths) > 2 or hundredths and not cent:
        return f"{numbers.plain(_plain(amount))} {one if attribute else several}"
    units, rest = whole.lstrip("0"), int(hundredths.ljust(2, "0"))
    words = []
    if units or not rest:
        unit = one if units == "1" or attribute else several
        words.append(f"{numbers.plain(units or '0')} {unit}")
    if rest:
        words.append(f"{numbers.cardinal(rest)} {cent if rest == 1 or attribute else cents}")
    return " and ".join(words)


def _scaled(amount: str, scale: str) -> str:
    """1.5, M -> one point five million."""
    scale = scale.strip(" \u00a0-\t")
    return f"{numbers.plain(_plain(amount))} {SCALES.get(scale) or scale.lower()}"


def _amount(match: Match) -> Spoken:
    """$5.30, US$ 5 million, €500k, CHF 20, 3,50 €, 20 EUR, $5 CAD, $20/mo."""
    currency, attribute = _currency(match["code"] or match["currency"]), context.is_attribute(match)
    if match["scale"]:
        words = f"{_scaled(match['amount'], match['scale'])} {currency[0 if attribute else 1]}"
    else:
        words = _exact(match["amount"], currency, attribute)
    unit = match["per"]
    if not unit:
        return words
    return f"{words} per {_PERIODS.get(unit) or UNITS.get(unit, (unit,))[0]}"


def _negative(match: Match) -> Spoken:
    """$-5."""
    return f"minus {_exact(match['amount'], _currency(match['currency']))}"


def _range(match: Match) -> Spoken:
    """$10-$20, €10-15, $5-10 million: the unit once, unless it is written twice."""
    currency, scale, low_scale = _currency(match["currency"]), match["scale"], match["lowscale"]
    if low_scale:
        low = _scaled(match["low"], low_scale)
    elif not scale and (match["again"] or "." in match["low"]):
        low = _exact(match["low"], currency)
    else:
        low = numbers.plain(match["low"])
    if scale:
        high = f"{_scaled(match['high'], scale)} {currency[1]}"
    else:
        high = _exact(match["high"], currency, context.is_attribute(match))
    return [part(match, "low", low), Part(f"to {high}", match.end("low"), match.end())]


def _small(match: Match) -> Spoken:
    """75p, 99¢."""
    one, several = _SMALL[match["unit"]]
    words = numbers.cardinal(int(match["amount"]))
    return f"{words} {one if words == 'one' or context.is_attribute(match) else several}"


RULES: tuple[Rule, ...] = (
    rule("money", _FIRST, rf"(?P<currency>{_SIGN})\s?(?P<low>{numbers.NUMBER})"
         rf"(?P<lowscale>(?:mn|bn|[kKmMbB])(?!\w))?\s?[-–—]\s?(?P<again>(?P=currency))?\s?"
         rf"(?P<high>{numbers.NUMBER}){_SCALE}", _range),
    rule("money", r"[$€£¥]", rf"(?P<currency>[$€£¥])[-−]{_AMOUNT}", _negative),
    rule("money", _FIRST, rf"(?P<currency>{_SIGN})\s?{_AMOUNT}{_SCALE}{_PER}(?!\d)"
         rf"(?:\s?(?P<code>{_CODE})(?!\w))?", _amount),
    rule("money", r"[A-Z]", rf"(?P<currency>{_CODE})\s?\$?{_AMOUNT}{_SCALE}{_PER}"
         r"(?P<code>(?!))?", _amount),
    rule("money", r"\d", rf"{_AMOUNT}{_SCALE}\s?"
         rf"(?P<currency>€|£|\$(?!\d)|¥|₹|₩|₽|₺|zł|kr\b|{_CODE}\b){_PER}(?P<code>(?!))?", _amount),
    rule("money", r"\d", r"(?P<amount>\d{1,3})\s?(?P<unit>[p¢])(?!\w|\.\w)", _small),
)  # fmt: skip

TRIGGERS = frozenset(("rs", "kr"))
