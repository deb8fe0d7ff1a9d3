"""Languages without rules of their own: whole numbers and decimals, as far as num2words knows."""

from __future__ import annotations

import re

from num2words import num2words

from engine.reading.types import Language, Match, Spoken, rule

# Languages that write 1,299.50; the others write 1.299,50.
_POINT_DECIMALS = frozenset("zh ja ko th he hi bn ar fa".split())
_MAX_DIGITS = 15


def language(code: str) -> Language:
    """Rules for numbers. Raises LookupError for a language that num2words does not know."""
    try:
        num2words(1, lang=code)
    except NotImplementedError:
        raise LookupError(f"expected a language with number words, got {code!r}") from None
    group, point = (",", ".") if code in _POINT_DECIMALS else (r"[. \u00a0\u202f]", ",")
    number = rf"(?P<whole>\d{{1,3}}(?:{group}\d{{3}})+|\d+)(?:{re.escape(point)}(?P<part>\d+))?"

    def say(match: Match) -> Spoken:
        whole = re.sub(r"\D", "", match["whole"])
        if len(whole) > _MAX_DIGITS or len(whole) > 1 and whole.startswith("0"):
            return None
        value = float(f"{whole}.{match['part']}") if match["part"] else int(whole)
        try:
            return str(num2words(value, lang=code))
        except (NotImplementedError, ArithmeticError, LookupError, TypeError, ValueError):
            return None  # what the library cannot say is left as it stands

    rules = (rule("number", r"\d", rf"(?<![\w.,:/#@-]){number}(?![\w]|[.,:/]\d)", say),)
    return Language(code, rules)
