"""Names and short forms: titles, streets, abbreviations, initials, initialisms, Roman numerals."""

from __future__ import annotations

import re

from engine.reading.english import context, numbers
from engine.reading.english.tables import (
    ABBREVIATIONS,
    BARE,
    BARE_BEFORE_NUMBER,
    BARE_TITLES,
    BEFORE_NUMBER,
    DIRECTIONS,
    OLD_STATES,
    SPOKEN_CAPITALS,
    STATES,
    STREETS,
    SURE_STREETS,
    TITLES,
    roman_value,
)
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_NAME_BEHIND = re.compile(r"\s+(?:[A-Z][\w.'’-]|[A-Z]\.|(?:Col|Gen|Cmdr|Maj|Gov)\b)")
_LOWER_BEHIND = re.compile(r"\s+[a-z]")
_NUMBER_BEHIND = re.compile(r"[:#\s]\s?#?(?:\d|[IVXLC]+\b)")
_HOUSE_BEFORE = re.compile(
    r"\d+[A-Za-z]?\s(?:(?:[NSEW]|NE|NW|SE|SW|North|South|East|West)\.?\s)?(?:(?:[A-Z][\w'’-]+|\d+(?:st|nd|rd|th))\s){1,4}\Z"
)
_NAME_BEFORE = re.compile(r"(?:[A-Z][\w'’-]+|\d+(?:st|nd|rd|th))\s\Z")
_END = re.compile(r"\s*(?:\Z|[,;:)\n]|[A-Z])")

# After these a Roman numeral counts: Chapter IV; after other names it ranks: Henry VIII.
_COUNTED = frozenset(
    "chapter part act scene book volume vol section article appendix figure table phase type level "
    "grade class stage tier title unit episode season rocky bowl war world mark mk factor "
    "schedule annex apollo gemini saturn rank group category letter story study lecture corollary proposition theorem lemma sonnet hymn "
    "plate map note fig lesson module step exhibit psalm canto "
    "verse paragraph page item number game olympiad final fantasy quarter round day week "
    "century division region zone district ward corps army fleet option plan model series version "
    "titan star wars diablo civilization ultima quest hearts".split()
)
_ALONE = frozenset("I V X C D L M".split())
_RULERS = frozenset(
    "king queen pope emperor tsar czar prince princess sultan saint elizabeth henry george charles "
    "louis william edward richard james john paul francis benedict leo napoleon philip frederick "
    "catherine nicholas alexander peter ivan mary ferdinand".split()
)
_NOT_ROMAN = frozenset(
    "I A MIX DIM MILD CIVIC VIVID LID CD DVD DI MI CC CV DC MC MD ML MM DM DL LL XL XXL XC CL CM DIX LIV VI".split()
)
_SPOKEN_ROMANS = frozenset("VI XL XC LIV".split())
# As words these are something else, so in capitals among small letters they are spelt.
_SPELT = frozenset(
    "US IT WHO OR IS AM PM ID TV PC UN EU UK AI VR AR IP OS UI UX IO IQ ER OK'D IM DM HR PR CV".split()
) - {"OR", "IS", "AR", "ER", "OK'D"}
_CAPITALS_BESIDE = re.compile(r"[A-Z]{2,}")
_POSSESSIVE = re.compile(r"['’]s|s['’]?|['’]")


def _title(match: Match) -> Spoken:
    """Dr. Evil, Sen. Park; with a full stop any title, without one those that are nothing else."""
    short = match["short"]
    if _NAME_BEHIND.match(match.string, match.end()) is None:
        return None
    if not match["dot"] and short not in BARE_TITLES:
        return None
    if short in STREETS and (_HOUSE_BEFORE.search(match.string, 0, match.start()) is not None):
        return None
    if short in ("Sec", "Sr", "Fr", "Sun", "Col") and not match["dot"]:
        return None
    return TITLES[short]


def _street(match: Match) -> Spoken:
    """St, Ave, Dr after a name, best with the number of a house before it."""
    short = match["short"].capitalize()
    if _NAME_BEFORE.search(match.string, 0, match.start()) is None:
        return None
    house = _HOUSE_BEFORE.search(match.string, 0, match.start()) is not None
    if not (
        house
        or short in SURE_STREETS
        or _END.match(match.string, match.end())
        and (match["dot"] or short in ("St", "Pkwy"))
    ):
        return None
    if short == "Dr" and not house:
        return None
    return STREETS[short]


def _direction(match: Match) -> Spoken:
    """708 N 1st St, NW 23rd St."""
    after_number = re.search(r"\d[A-Za-z]?\s\Z", match.string[: match.start()]) is not None
    street = re.match(
        r"\s(?:\d+(?:st|nd|rd|th)|[A-Z][a-z]+)\s(?:[A-Z][a-z]+\s)?(?:" + "|".join(STREETS) + r")\b",
        match.string[match.end() :],
        re.IGNORECASE,
    )
    if not (street and (after_number or match.start() == 0 or len(match["short"]) == 2)):
        return None
    return DIRECTIONS[match["short"]]


def _house(match: Match) -> Spoken:
    """The number of a house: twelve eleven, two twenty one B."""
    words = numbers.in_pairs(match["number"])
    if "0" in match["number"] and len(match["number"]) == 3 and match["number"][1] == "0":
        words = numbers.digits(match["number"])
    parts = [part(match, "number", words)]
    return parts + ([part(match, "letter", match["letter"].upper())] if match["letter"] else [])


def _old_state(match: Match) -> Spoken:
    """Norfolk, Va."""
    return OLD_STATES[match["state"]]


def _state(match: Match) -> Spoken:
    """Santa Clara, CA 95051."""
    parts = [part(match, "state", STATES[match["state"]])]
    if match["zip"]:
        parts.append(part(match, "zip", numbers.digits(match["zip"])))
    return parts


def _abbreviation(match: Match) -> Spoken:
    short = match[0].lower()
    if short not in ABBREVIATIONS:
        return None
    stem = short.rstrip(".")
    if stem in BEFORE_NUMBER and not _NUMBER_BEHIND.match(match.string, match.end()):
        if not (stem in ("max", "min") and context.before(match) == "the"):
            return None
    if stem == "no" and re.match(r"\s*I\b", match.string[match.end() :]):
        return None
    if (
        stem == "st"
        and match[0][0].isupper()
        and not _NAME_BEFORE.search(match.string, 0, match.start())
    ):
        return None
    if (
        stem in ("c", "v", "p", "ed", "art", "co", "ex", "rev", "def")
        and match[0][0].isupper()
        and stem not in ("co", "art", "ex", "p")
    ):
        return None
    if (
        stem in ("ed", "art")
        and match[0][0].isupper()
        or stem == "al"
        and context.before(match) != "et"
    ):
        return None
    return ABBREVIATIONS[short]


def _bare(match: Match) -> Spoken:
    short = match[0].lower().rstrip(":")
    if short in BARE and (match[0].islower() or match[0].istitle()):
        if short in ("ie", "eg", "etc", "tv", "diy") and not match[0].islower():
            return None
        return BARE[short]
    if short in BARE_BEFORE_NUMBER and _NUMBER_BEHIND.match(match.string, match.end()):
        if short == "tel" and match[0].isupper():
            return None
        return BARE_BEFORE_NUMBER[short]
    return None


def _tel(match: Match) -> Spoken:
    return "telephone"


def _initials(match: Match) -> Spoken:
    """U.S., J.R.R., e.g."""
    text = match["letters"]
    known = ABBREVIATIONS.get(text.lower()) or ABBREVIATIONS.get(text.lower() + ".")
    if known and text.islower():
        return known
    letters = re.findall(r"[A-Za-z]", text)
    if len(letters) < 2:
        return None
    spoken = " ".join(letters).upper()
    if match["tail"]:
        spoken += "'s"
    return spoken


def _initial(match: Match) -> Spoken:
    """The J. of J. Smith: no end of a sentence."""
    return match["letter"]


def _degree(match: Match) -> Spoken:
    return {"ph": "P H D", "b": "B", "m": "M"}[match[0][:2].lower().rstrip(".")]


def _roman(match: Match) -> Spoken:
    """Chapter IV: four. Henry VIII: the eighth. A lone I, V or X only after words that ask for it."""
    text = match["numeral"]
    value = roman_value(text)
    if value is None or not value:
        return None
    before = context.before(match)
    raw = _last_word(match)
    if not before or not raw[:1].isupper() and before not in _COUNTED:
        return _loose_roman(match, value)
    if before in _COUNTED:
        if (
            text in ("C", "D", "L", "M")
            or text == "I"
            and before in ("i", "page", "day", "week", "star", "game", "final", "i")
        ):
            return None
        return _counted(match, value)
    if text in _ALONE and (before not in _RULERS or text not in "IVX" or len(text) > 1):
        return None
    if (
        text == "I"
        and re.match(r"\s+(?:[a-z]+|'|’)", match.string[match.end() :])
        and before not in _RULERS
    ):
        return None
    if text == "I" and re.match(
        r"\s+(?:am|was|have|had|do|did|will|would|can|could|think|know|said|say|saw|love|want|need|see|feel|believe|hope|wish|must|should|shall|may|might|went|never|always|just|really|also)\b|['’]",
        match.string[match.end() :],
    ):
        return None
    if text in _NOT_ROMAN and text not in ("VI", "XL", "XC", "I"):
        return None
    if (
        raw.isupper()
        and len(raw) > 1
        and text not in ("II", "III", "IV", "VI", "VII", "VIII", "IX")
    ):
        return None
    if re.match(r"\s[a-z]+", match.string[match.end() :]) and value < 2 and before not in _RULERS:
        return None
    if value > 39:
        return None
    return f"the {numbers.ordinal(value)}"


def _counted(match: Match, value: int) -> str:
    return numbers.cardinal(value)


def _last_word(match: Match) -> str:
    found = re.search(
        r"([^\W\d_][\w'’&-]*)[.,]?\s+\Z", match.string[max(0, match.start() - 40) : match.start()]
    )
    return found[1] if found else ""


def _loose_roman(match: Match, value: int) -> Spoken:
    """The XIX century; MMXXIV; (ii)."""
    text = match["numeral"]
    noun = context.after(match)
    if noun.lower() in ("century", "centuries") and len(text) > 1:
        return numbers.ordinal(value)
    if len(text) > 1 and value < 40 and _heads_line(match):
        return numbers.cardinal(value)
    if len(text) > 3 and value > 1000 and text not in _NOT_ROMAN:
        return numbers.year(value)
    if (
        len(text) > 2
        and text not in _NOT_ROMAN
        and value > 4
        and not _shouting(match)
        and "C" not in text
        and "D" not in text
        and "M" not in text
    ):
        return numbers.cardinal(value)
    if len(text) == 2 and text == "II" or text == "III":
        return numbers.cardinal(value)
    return None


def _heads_line(match: Match) -> bool:
    """Whether a numeral opens a line as a heading's number does: XV. OF THE PRIDE."""
    before, behind = match.string[: match.start()], match.string[match.end() :]
    return (not before.strip() or before.rstrip(" ").endswith("\n")) and not re.match(
        r"\s[a-z]", behind
    )


def _small_roman(match: Match) -> Spoken:
    """(ii), (iv)."""
    value = roman_value(match["numeral"])
    return numbers.cardinal(value) if value and value < 40 else None


def _range_roman(match: Match) -> Spoken:
    low, high = roman_value(match["low"]), roman_value(match["high"])
    if not low or not high or low >= high:
        return None
    return [
        part(match, "low", numbers.cardinal(low)),
        part(match, "high", f"to {numbers.cardinal(high)}"),
    ]


def _capitals(match: Match) -> Spoken:
    """US, IT, WHO among small letters; plurals and possessives of initialisms: APIs, CEO's."""
    letters, tail = match["letters"], match["tail"] or ""
    if letters == "WWII":
        return "world war two"
    if letters == "WWI":
        return "world war one"
    if tail:
        spelt = letters in _SPELT or len(letters) < 5 and letters not in SPOKEN_CAPITALS
        return _with_tail(letters) if spelt and (len(letters) > 1 or tail != "s") else None
    if letters in _SPELT and not _shouting(match):
        return " ".join(letters)
    return None


def _with_tail(letters: str) -> str:
    return " ".join(letters) + "'s"


def _shouting(match: Match) -> bool:
    """Whether the words beside it are capitals too, so that capitals tell nothing."""
    beside = re.findall(
        r"[^\W\d_]{2,}", match.string[max(0, match.start() - 24) : match.end() + 24]
    )
    others = (
        [word for word in beside if word != match["letters"]]
        if "letters" in match.re.groupindex
        else beside[:]
    )
    return len(others) > 1 and all(word.isupper() for word in others)


def _letter_name(match: Match) -> Spoken:
    """C#, F#, C++."""
    return f"{match['letter']} {'sharp' if match['sign'] == '#' else 'plus plus'}"


def _joined(match: Match) -> Spoken:
    """S&P, AT&T, R&B, M&Ms."""
    parts = []
    for found in re.finditer(r"[A-Za-z]+", match[0]):
        text = found[0]
        at = match.start() + found.start()
        word = text
        if text.isupper() or len(text) <= 2 and text.endswith("s"):
            word = " ".join(text.rstrip("s").upper()) + ("'s" if text.endswith("s") else "")
        parts.append(Part(("and " if parts else "") + word, at, at + len(text)))
    return parts


_ALTERNATIVES = {
    f"{one}/{other}": f"{one} or {other}"
    for one, other in map(
        str.split,
        ("he she", "she he", "his her", "him her", "yes no", "true false", "on off", "his hers",
         "himself herself", "girl boy", "boy girl", "man woman"),
    )
} | {"and/or": "and or", "either/or": "either or", "s/he": "she or he"}  # fmt: skip


def _slashed(match: Match) -> Spoken:
    """he/she, TCP/IP, I/O, AM/PM: said one after the other; longer words are joined by "or"."""
    parts: list[Part] = []
    known = _ALTERNATIVES.get(match[0].lower())
    if known is not None:
        return known
    for found in re.finditer(r"[^/\s]+", match[0]):
        at = match.start() + found.start()
        text = found[0]
        if parts and text.islower() and len(text) > 1:
            parts.append(Part("slash", at - 1, at))
        word = " ".join(text) if text.isupper() and len(text) < 4 else text
        parts.append(Part(word, at, at + len(text)))
    return parts


def _camel(match: Match) -> Spoken:
    """ChatGPT, iPhone, McDonald, VoiceAI: capitals inside a word divide it."""
    text = match[0]
    if re.match(r"(?:Mc|Mac|O['’]|De|La|Le|Van|Fitz)[A-Z][a-z]+\Z", text):
        return text
    pieces = list(re.finditer(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text))
    if re.match(r"[ie][A-Z][a-z]+", text):
        return text
    return [
        Part(
            " ".join(p[0]) if p[0].isupper() and len(p[0]) < 4 else p[0],
            match.start() + p.start(),
            match.start() + p.end(),
        )
        for p in pieces
    ]


def _po_box(match: Match) -> Spoken:
    return [
        Part("P O box", match.start(), match.end("box")),
        part(match, "number", numbers.in_pairs(match["number"])),
    ]


_TITLES = "|".join(sorted(TITLES, key=len, reverse=True))
_STREETS = "|".join(
    sorted(
        (*STREETS, *(s.upper() for s in STREETS), *(s.lower() for s in STREETS)),
        key=len,
        reverse=True,
    )
)
_DIRECTIONS = "|".join(sorted(DIRECTIONS, key=len, reverse=True))
_DOTTED = "|".join(
    re.escape(a[:-1]) for a in sorted(ABBREVIATIONS, key=len, reverse=True) if a.count(".") == 1
)
_BARE = "|".join(re.escape(a) for a in sorted((*BARE, *BARE_BEFORE_NUMBER), key=len, reverse=True))
_STREET_NAME = rf"\s(?:(?:{_DIRECTIONS})\.?\s)?(?:[A-Z][\w'’]+\s|\d+(?:st|nd|rd|th)\s){{1,3}}(?i:(?:{'|'.join(STREETS)})\b|street\b|avenue\b|road\b|lane\b|drive\b|way\b|boulevard\b)"

RULES: tuple[Rule, ...] = (
    rule("address", r"P", r"P\.?\s?O\.?\s(?P<box>Box)\s(?P<number>\d{1,6})", _po_box),
    rule("address", r"\d", rf"(?P<number>\d{{1,5}})(?P<letter>[A-Za-z])?(?={_STREET_NAME})", _house),
    rule("address", r"[A-Z]", rf"(?<=,\s)(?P<state>{'|'.join(STATES)})\b(?:,?\s(?P<zip>\d{{5}})\b(?:-\d{{4}})?)?", _state),
    rule("address", r"[A-Z]", rf"(?<=,\s)(?P<state>{'|'.join(OLD_STATES)})\.(?!\w)", _old_state),
    rule("address", r"[NSEW]", rf"(?P<short>{_DIRECTIONS})\b\.?", _direction),
    rule("abbreviation", r"[A-Z]", rf"(?P<short>{_TITLES})(?P<dot>\.)?(?!\w)", _title),
    rule("address", r"[A-Za-z]", rf"(?P<short>{_STREETS})(?!\w)(?P<dot>\.(?!\w)(?=\s*\S|\Z))?", _street),
    rule("abbreviation", r"[A-Za-z]", r"(?P<letters>(?:[A-Za-z]\.){1,}[A-Za-z])(?P<tail>['’]s)?(?!\w)\.?|(?P<x>(?!))", _initials),
    rule("abbreviation", r"P", r"Ph\.?D\b\.?", "P H D"),
    rule("abbreviation", r"[A-Z]", r"(?P<letter>[A-Z])\.(?=\s[A-Z])(?<!\w..)", lambda m: _initial(m) if _is_initial(m) else None),
    rule("abbreviation", r"[A-Za-z]", rf"(?i:{_DOTTED})\.(?!\w)", _abbreviation),
    rule("abbreviation", r"T", r"Tel:", _tel),
    rule("abbreviation", r"[A-Za-z]", rf"(?i:{_BARE})(?![\w'’])", _bare),
    rule("name", r"[A-Za-z]", r"(?P<word>[A-Za-z]+)\+\+(?!\w)", lambda m: f"{m['word']} plus plus"),
    rule("name", r"[A-Z]", r"(?P<letter>[A-GJ])(?P<sign>#|\+\+)(?!\w)", _letter_name),
    rule("name", r"[A-Za-z]", r"[A-Za-z]{1,4}&[A-Za-z]{1,4}(?!\w)", _joined),
    rule("name", r"[A-Za-z]", r"[A-Za-z]{1,14}(?:/[A-Za-z]{1,14})+(?![\w/])", _slashed),
    rule("roman", r"[IVXLC]", r"(?P<low>[IVXLC]+)[-–](?P<high>[IVXLC]+)(?!\w)", _range_roman),
    rule("roman", r"[IVXLCDM]", r"(?P<numeral>[IVXLCDM]+)(?![\w.]\w|\w|[/&]|['’](?!s\b))", _roman),
    rule("roman", r"[ivx(]", r"\((?P<numeral>[ivx]{1,5})\)", _small_roman),
    rule("initialism", r"[A-Z]", r"(?P<letters>[A-Z]{1,6})(?P<tail>['’]s|s['’]?)?(?![\w])", _capitals),
    rule("name", r"[A-Za-z]", r"(?:[A-Z]+[a-z]+|[a-z]+)(?:[A-Z]+[a-z]*)+(?!\w)", _camel),
)  # fmt: skip


def _is_initial(match: Match) -> bool:
    """Between the names of a person, not the letter a sentence ends with: "plan B. We"."""
    before = context.before(match)
    lower = _last_word(match)
    if before in _COUNTED and match["letter"] in "IVX":
        return False
    return not before or lower[:1].isupper() or match.start() == 0


TRIGGERS = frozenset(
    [*BARE, *BARE_BEFORE_NUMBER]
    + [key.rstrip(".") for key in ABBREVIATIONS]
    + [title.lower() for title in TITLES]
    + [street.lower() for street in STREETS]
    + list(DIRECTIONS)
    + [*_ALONE, "Ph", *(state.lower() for state in OLD_STATES)]
)
del _POSSESSIVE, _CAPITALS_BESIDE, _LOWER_BEHIND, _SPOKEN_ROMANS
