"""How English is read: the classes in the order in which they are tried."""

from engine.reading.english import (
    code,
    date,
    electronic,
    math,
    measure,
    money,
    name,
    number,
    time,
)
from engine.reading.types import Language

LANGUAGE = Language(
    "en",
    rules=(
        *electronic.RULES,
        *money.RULES,
        *date.RULES,
        *code.RULES,
        *math.RULES,
        *time.RULES,
        *name.RULES,
        *number.RULES_FIRST,
        *measure.RULES,
        *number.RULES_LAST,
        code.MIXED,
        *math.SIGN_RULES,
    ),
    triggers=date.TRIGGERS | money.TRIGGERS | name.TRIGGERS,
)
