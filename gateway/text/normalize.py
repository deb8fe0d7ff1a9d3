"""Numbers, dates, money and times to words, for models that read digits badly. Off by default.

English has all the rules; other languages get cardinals and decimals, as far as num2words knows
them. What no rule knows is left to the model.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from gateway.text.english import (
    ALONE,
    ENGLISH_RULES,
    MAX_DIGITS,
    NOTHING_MORE,
    Rule,
    compile_rule,
    say_number,
)
from gateway.text.rewriting import TracedText

# Languages that write 1,299.50; the others write 1.299,50.
_POINT_DECIMALS = frozenset("en zh ja ko th he hi bn ar fa".split())


def normalize(spoken: TracedText, language: str) -> None:
    """Rewrite in place. `language`: an ISO 639-1 code, of which a region is ignored."""
    code = language.replace("_", "-").partition("-")[0].lower()
    for pattern, say in ENGLISH_RULES if code == "en" else _other(code):
        spoken.sub(pattern, say, freeze=True)


@lru_cache(maxsize=64)
def _other(language: str) -> tuple[Rule, ...]:
    try:
        say_number(1, language)
    except NotImplementedError:
        return ()
    group, point = (",", ".") if language in _POINT_DECIMALS else (r"[. \u00a0\u202f]", ",")
    number = rf"(?P<whole>\d{{1,3}}(?:{group}\d{{3}})+|\d+)(?:{regex.escape(point)}(?P<part>\d+))?"

    def say(match: regex.Match[str]) -> str | None:
        whole = "".join(filter(str.isdecimal, match["whole"]))
        if len(whole) > MAX_DIGITS or len(whole) > 1 and whole.startswith("0"):
            return None
        value = float(f"{whole}.{match['part']}") if match["part"] else int(whole)
        try:
            return say_number(value, language)
        except (NotImplementedError, ArithmeticError, LookupError, TypeError, ValueError):
            return None

    return ((compile_rule(ALONE + number + NOTHING_MORE), say),)
