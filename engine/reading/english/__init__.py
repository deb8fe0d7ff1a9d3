"""How English is read: the classes in the order in which they are tried."""

from engine.reading.english import (
    abbreviation,
    address,
    code,
    date,
    electronic,
    initialism,
    math,
    measure,
    money,
    number,
    roman,
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
        *address.RULES,
        *abbreviation.TITLE_RULES,
        *address.STREET_RULES,
        *abbreviation.RULES,
        *initialism.RULES,
        *roman.RULES,
        *initialism.CAPITALS,
        *number.RULES_FIRST,
        *measure.RULES,
        *number.RULES_LAST,
        code.MIXED,
        *math.SIGN_RULES,
    ),
    triggers=(
        date.TRIGGERS | money.TRIGGERS | address.TRIGGERS | abbreviation.TRIGGERS | roman.TRIGGERS
    ),
)
