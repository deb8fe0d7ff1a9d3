"""How English is read: the classes in the order in which they are tried."""

from engine.reading.english.figures import (
    date,
    fraction,
    math,
    measure,
    money,
    number,
    ordinal,
    span,
    time,
)
from engine.reading.english.names import (
    abbreviation,
    address,
    code,
    electronic,
    initialism,
    roman,
    telephone,
    version,
)
from engine.reading.types import Language

LANGUAGE = Language(
    "en",
    rules=(
        *electronic.RULES,
        *code.SCREENS,
        *money.RULES,
        *date.RULES,
        *telephone.RULES,
        *version.RULES,
        *code.RULES,
        *math.RULES,
        *time.RULES,
        *address.RULES,
        *abbreviation.TITLE_RULES,
        *address.STREET_RULES,
        *abbreviation.RULES,
        *measure.BARE,
        *initialism.RULES,
        *roman.RULES,
        *initialism.CAPITALS,
        *fraction.RULES,
        *ordinal.RULES,
        *span.DIMENSIONS,
        *measure.RULES,
        *fraction.PLAIN_RULES,
        *span.RANGES,
        *number.RULES,
        *span.SIGNS,
        *code.LAST,
        *number.LAST,
        *math.SIGN_RULES,
    ),
    triggers=(
        date.TRIGGERS
        | money.TRIGGERS
        | span.TRIGGERS
        | address.TRIGGERS
        | abbreviation.TRIGGERS
        | roman.TRIGGERS
    ),
)
