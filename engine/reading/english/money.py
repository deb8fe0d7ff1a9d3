"""Amounts of money: the sign before or after, scales, ranges, prices per something."""

from __future__ import annotations

import re

from engine.reading.english import context, numbers
from engine.reading.english.tables import CODES, CURRENCIES, SCALE_WORD, SCALES
from engine.reading.english.units import UNITS
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_SIGN = "(?:" + "|".join(
    re.escape(s) for s in sorted(CURRENCIES, key=len, reverse=True) if s not in ("kr", "Rs", "zł")
) + r"|Rs\.?|kr\.?(?=\s?\d)|(?:US|U\.S\.)\s\$)"  # fmt: skip
_CODE = "(?:" + "|".join(CODES) + ")"
_SCALE = (
    rf"(?:(?P<scale>(?:mn|mm|MM|mil|bn|Bn|tn|trn|[kKmMbBtT])(?![\w²³/])|[\s-]?{SCALE_WORD}\b))?"
)
_SPACED_SCALE = r"(?:(?P<scale2>\s(?:mn|bn|tn|M|B|b|K|k))(?!\w))?"
_AMOUNT = rf"(?P<amount>{numbers.COMMA_DECIMAL}(?=\s?[€k])|{numbers.NUMBER})"
_PER = r"(?:\s?/\s?(?P<per>mo|month|yr|year|wk|week|d|day|hr|h|hour|min|s|sec|night|person|user|seat|unit|lb|kg|oz|gal|mi|km|sq ft|ft|GB|MB|kWh|token|tokens|1M tokens|share|head|item|piece|each|call|minute|second|L|l|g)(?!\w))?"
_PERIODS = {"mo": "month", "yr": "year", "wk": "week", "d": "day", "hr": "hour", "h": "hour",
            "min": "minute", "s": "second", "sec": "second"}  # fmt: skip
_PENCE = {"p": ("penny", "pence"), "¢": ("cent", "cents"), "c": ("cent", "cents")}


def _currency(text: str) -> tuple[str, str, str, str]:
    text = text.strip()
    if text.endswith("$") and text.startswith("U"):
        text = "US$"
    return CURRENCIES.get(text) or CURRENCIES.get(text.rstrip(".")) or CODES[text]


def _exact(amount: str, currency: tuple[str, str, str, str], attribute: bool) -> str:
    """Whole units and hundredths; what is finer than a hundredth is read by its digits."""
    one, several, cent, cents = currency
    if re.fullmatch(numbers.COMMA_DECIMAL, amount):
        amount = amount.replace(".", "").replace(",", ".")
    whole, _, fraction = amount.partition(".") if amount.count(".") < 2 else (amount, "", "")
    hundredths = fraction.rstrip("0")
    if not cent and hundredths or len(hundredths) > 2:
        return f"{numbers.plain(amount)} {one if attribute else several}"
    count = int(re.sub(r"\D", "", whole) or 0)
    part_of = int((hundredths + "00")[:2]) if fraction else 0
    words = []
    if count or not part_of:
        words.append(f"{numbers.cardinal(count)} {one if count == 1 or attribute else several}")
    if part_of:
        words.append(f"{numbers.cardinal(part_of)} {cent if part_of == 1 or attribute else cents}")
    return " and ".join(words)


def _scaled(amount: str, scale: str) -> str:
    scale = scale.strip(" \u00a0-\t")
    name = SCALES.get(scale) or scale.lower()
    number = (
        numbers.with_comma(amount)
        if re.fullmatch(numbers.COMMA_DECIMAL, amount)
        else numbers.plain(amount)
    )
    return f"{number} {name}"


def _said(match: Match, amount: str, scale: str | None) -> str:
    currency = _currency(match["currency"])
    attribute = context.is_attribute(match)
    if scale:
        return f"{_scaled(amount, scale)} {currency[0 if attribute else 1]}"
    return _exact(amount, currency, attribute)


def _per(match: Match) -> str:
    unit = match["per"]
    if not unit:
        return ""
    if unit in UNITS and unit not in _PERIODS:
        return f" per {UNITS[unit][0]}"
    return f" per {_PERIODS.get(unit, unit)}"


def _before(match: Match) -> Spoken:
    """$5.30, US$ 5 million, €500k, CHF 20."""
    scale = match["scale"] or match["scale2"]
    return _said(match, match["amount"], scale) + _per(match)


def _negative(match: Match) -> Spoken:
    """$-5."""
    return f"minus {_said(match, match['amount'], None)}"


def _behind(match: Match) -> Spoken:
    """3,50 €, 20 EUR, 5 $."""
    return _said(match, match["amount"], match["scale"]) + _per(match)


def _range(match: Match) -> Spoken:
    """$10-$20, €10-15, $5-10 million."""
    currency = _currency(match["currency"])
    scale = match["scale"]
    low_scale = match["lowscale"]
    low = _scaled(match["low"], low_scale) if low_scale else _bare(match["low"])
    if match["again"] and not scale and not low_scale:
        low = _exact(match["low"], currency, False)
    if scale and not low_scale:
        low = numbers.plain(match["low"])
    if low is None:
        return None
    if scale:
        high = f"{_scaled(match['high'], scale)} {currency[1]}"
    else:
        high = _exact(match["high"], currency, context.is_attribute(match))
    if "." in match["low"] and not low_scale and not scale:
        low = _exact(match["low"], currency, False)
    return [part(match, "low", low), Part(f"to {high}", match.end("low"), match.end())]


def _bare(amount: str) -> str:
    return numbers.plain(amount)


def _pence(match: Match) -> Spoken:
    """75p, 99¢."""
    one, several = _PENCE[match["unit"]]
    count = int(match["amount"])
    return (
        f"{numbers.cardinal(count)} {one if count == 1 or context.is_attribute(match) else several}"
    )


def _rupees(match: Match) -> Spoken:
    return _before(match)


RULES: tuple[Rule, ...] = (
    rule("money", r"[$€£¥₹₩₽₺₿₫฿₪₱₦₴UCANHSRM]",
         rf"(?P<currency>{_SIGN})\s?(?P<low>{numbers.NUMBER})(?P<lowscale>mn|bn|[kKmMbB](?!\w))?\s?[-–—]\s?"
         rf"(?P<again>(?P=currency))?\s?(?P<high>{numbers.NUMBER}){_SCALE}", _range),
    rule("money", r"[$€£¥]", rf"(?P<currency>[$€£¥])[-−]{_AMOUNT}", _negative),
    rule("money", r"[$€£¥₹₩₽₺₿₫฿₪₱₦₴UCANHSRMk]",
         rf"(?P<currency>{_SIGN})\s?{_AMOUNT}{_SCALE}{_SPACED_SCALE}{_PER}(?![\d])", _before),
    rule("money", r"[A-Z]", rf"(?P<currency>{_CODE})\s?{_AMOUNT}{_SCALE}{_SPACED_SCALE}{_PER}", _before),
    rule("money", r"\d", rf"(?P<amount>{numbers.COMMA_DECIMAL}|{numbers.NUMBER}){_SCALE}\s?"
         rf"(?P<currency>€|£|\$(?!\d)|¥|₹|₩|₽|₺|zł|kr\b|{_CODE}\b){_PER}", _behind),
    rule("money", r"\d", r"(?P<amount>\d{1,3})\s?(?P<unit>[p¢])(?!\w|\.\w)", _pence),
)  # fmt: skip

TRIGGERS = frozenset({"rs", "kr"})
