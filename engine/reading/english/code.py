"""Figures that name rather than count: telephone numbers, cards, versions, addresses of machines,
plates, models.
"""

from __future__ import annotations

import re

from engine.reading.english import context, numbers, roman
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_GROUP = re.compile(r"\+|[A-Za-z]+|\d+")
_SHORT_NAMES = frozenset("version v".split())
_GROUPED_CUES = frozenset(
    "isbn issn account ssn serial phone tel fax imei doi ean upc card".split()
)
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_PIECE = re.compile(r"[A-Za-z]+|\d+|[^\w\s]")
_HYPHENED = re.compile(r"[A-Za-z]{2,}-\d+(?:\.\d+)?(?:'?s)?(?![\w-])")
_CODE_WORDS = frozenset(
    "code confirmation pnr otp password passcode reference ref plate license licence serial sku "
    "tracking key token voucher coupon id postcode".split()
)


def _groups(match: Match) -> list[Part]:
    """Digit by digit, group by group; 800 is read as the hundred it is."""
    parts = []
    for found in _GROUP.finditer(match[0]):
        text = found[0]
        start = match.start() + found.start()
        if text == "+":
            words = "plus"
        elif text.isdecimal():
            toll_free = len(text) == 3 and text in ("800", "900") and not parts[1:]
            words = numbers.cardinal(int(text)) if toll_free else numbers.digits(text)
        elif text.lower() in ("ext", "x"):
            words = "extension"
        else:
            words = text
        parts.append(Part(words, start, start + len(text)))
    return parts


def _telephone(match: Match) -> Spoken:
    return _groups(match)


def _loose_telephone(match: Match) -> Spoken:
    """Groups of two to four digits with spaces: with a plus, a zero or a cue before them."""
    if not 7 <= sum(c.isdecimal() for c in match[0]) <= 15:
        return None
    cue = context.before(match) in (
        "phone",
        "tel",
        "call",
        "mobile",
        "cell",
        "fax",
        "at",
        "on",
        "number",
    )
    return _groups(match) if match[0][0] in "+0(" or cue else None


def _card(match: Match) -> Spoken:
    return _groups(match)


def _named_groups(match: Match) -> Spoken:
    """Groups with hyphens after a word that says what they are: ISBN 0-521-36395-0."""
    cues = context.words_before(match)[:2]
    return _groups(match) if any(cue in _GROUPED_CUES for cue in cues) else None


def _machine(match: Match) -> Spoken:
    """192.168.0.1: digit by digit; 10.0.0.1 in numbers, since all of them are short."""
    parts = []
    found_all = list(re.finditer(r"\d+", match[0]))
    long = any(len(found[0]) == 3 for found in found_all)
    for found in found_all:
        text = found[0]
        words = numbers.digits(text) if long else numbers.cardinal(int(text))
        start = match.start() + found.start()
        parts.append(Part(("dot " if parts else "") + words, start, start + len(text)))
    if match["port"]:
        port = match["port"]
        parts[-1] = Part(f"port {numbers.in_pairs(port)}", *match.span("port"))
    return parts


def _version(match: Match) -> Spoken:
    """v1.2.3, Python 3.11, 2.10.1."""
    if not match["v"] and re.fullmatch(numbers.SPACED, match["parts"]):
        return None  # a number of continental Europe
    parts = []
    if match["v"]:
        named = context.before(match) in _SHORT_NAMES
        parts.append(part(match, "v", "V" if named else "version"))
    start = match.start("parts")
    for index, found in enumerate(re.finditer(r"\d+|[a-z]+", match["parts"])):
        text = found[0]
        words = _version_part(text)
        joint = (
            "point "
            if index and text[0].isdecimal() and match["parts"][found.start() - 1] == "."
            else ""
        )
        parts.append(Part(joint + words, start + found.start(), start + found.end()))
    return parts


def _version_part(text: str) -> str:
    if not text.isdecimal():
        return text if len(text) > 2 else " ".join(text.upper())
    if len(text) > 1 and text[0] == "0" or len(text) > 4:
        return numbers.digits(text)
    return numbers.cardinal(int(text))


def _release(match: Match) -> Spoken:
    """Python 3.11: not 3.1 and something, so its last part is one number."""
    return [
        part(match, "name", match["name"]),
        part(match, "whole", numbers.cardinal(int(match["whole"]))),
        part(match, "rest", f"point {_version_part(match['rest'])}"),
    ]


def _mixed(match: Match) -> Spoken:
    """Letters and digits in one: AA1234, B12, 221B, x86-64, CO₂, XK7P2Q, INV-2024-0042."""
    if _HYPHENED.match(match.string, match.start()) is not None:
        return None  # a word and a number: GPT-3.5, mid-1980s
    text = match[0].translate(_SUBSCRIPTS)
    cued = any(word in _CODE_WORDS for word in context.words_before(match)[:3])
    spelled = cued or _flips(text) > 2
    parts = []
    for found in _PIECE.finditer(text):
        piece, start = found[0], match.start() + found.start()
        if piece.isdecimal():
            exact = spelled and len(text) > 3 and (cued or len(piece) > 2)
            words = numbers.digits(piece) if exact else _figure(piece, text)
        elif piece.isalpha():
            words = " ".join(piece.upper()) if spelled or _are_letters(piece, text) else piece
        else:
            continue
        parts.append(Part(words, start, start + len(piece)))
    return parts


def _flips(text: str) -> int:
    """How often letters and digits change places; codes of machines do so often."""
    return len(re.findall(r"(?<=\d)[A-Za-z]|(?<=[A-Za-z])\d", text))


def _figure(digits: str, whole: str) -> str:
    if digits[0] == "0" and len(digits) > 1 or len(digits) > 4:
        return numbers.digits(digits)
    if len(digits) in (3, 4):
        if len(digits) == 4 and re.match(r"[A-Z]{2}\d{4}\Z", whole):
            return numbers.digits(digits)
        return numbers.in_pairs(digits)
    return numbers.cardinal(int(digits))


def _are_letters(piece: str, text: str) -> bool:
    """Capitals beside digits are letters, and so is a single small one."""
    return piece.isupper() and len(piece) < 4 or len(piece) == 1


def _retirement(match: Match) -> Spoken:
    """401(k), 501(c)(3)."""
    words = numbers.in_pairs(match["number"])
    rest = re.findall(r"\w+", match["rest"])
    said = " ".join(numbers.cardinal(int(r)) if r.isdecimal() else r.upper() for r in rest)
    return [part(match, "number", words), part(match, "rest", said)]


def _cells(match: Match) -> Spoken:
    """A1:B2."""
    parts = []
    for found in re.finditer(r"([A-Z]+)(\d+)", match[0]):
        words = f"{' '.join(found[1])} {numbers.cardinal(int(found[2]))}"
        joint = "to " if parts else ""
        parts.append(
            Part(joint + words, match.start() + found.start(), match.start() + found.end())
        )
    return parts


def _postcode(match: Match) -> Spoken:
    return " ".join(numbers.digits(c) if c.isdecimal() else c for c in match[0] if c != " ")


def _section(match: Match) -> Spoken:
    """G.2, II.B, 3.B."""
    left = match["left"]
    value = roman.value_of(left) if len(left) > 1 else None
    first = numbers.cardinal(value) if value else left
    right = match["right"]
    second = numbers.cardinal(int(right)) if right.isdecimal() else right
    return [part(match, "left", first), part(match, "right", f"point {second}")]


_EXTENSION = r"(?:,?\s?(?:ext\.?|x)\s?\d{1,5}\b)?"
_NAMED = (
    r"Python|Java|Ruby|PHP|Perl|Go|Rust|Swift|Kotlin|Scala|Node|Node\.js|Angular|React|Vue|Django|Rails"
    r"|Android|Windows|Ubuntu|Debian|Fedora|Linux|macOS|Kernel|kernel|CUDA|TypeScript|Unity|Postgres"
    r"|PostgreSQL|MySQL|SQLite|Redis|Kubernetes|Docker|version|Version|release|Release"
)

RULES: tuple[Rule, ...] = (
    rule("telephone", r"[\d+(]", r"(?:\+?\d{1,3}[\s.-]?)?(?:\(\d{3}\)[\s.-]?|\b\d{3}[\s.-])\d{3}[\s.-]\d{4}(?!\d)"
         rf"{_EXTENSION}(?:-\d{{1,4}}(?!\d))?", _telephone),
    rule("telephone", r"\d", r"1-\d{3}-(?:[A-Z0-9]+-?)+(?<=[A-Z])(?!\w)", _telephone),
    rule("telephone", r"\d", rf"\d{{3}}-\d{{4}}(?![\d-]){_EXTENSION}", _telephone),
    rule("telephone", r"\+", r"\+\d{7,15}(?!\d)", _telephone),
    rule("telephone", r"[\d+(]", r"(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,5}\)[ ]?)?\d{2,5}(?:[ .-]\d{2,5}){1,4}(?![\d.,/:%-])", _loose_telephone),
    rule("code", r"\d", r"\d+(?:\s?[-–]\s?\d+)+(?:\s?[-–]\s?[xX])?(?!\w)", _named_groups),
    rule("code", r"\d", r"\d{4}(?:[ -]\d{4}){2,4}(?!\d)|\d{3}-\d{2}-\d{4}(?!\d)|97[89]-\d{1,5}-\d+-\d+-[\dX](?!\d)"
         r"|\d{4}[ -]\d{6}[ -]\d{5}(?!\d)", _card),
    rule("code", r"\d", r"\d{1,3}(?:\.\d{1,3}){3}(?![\d.]\d|\d)(?::(?P<port>\d{2,5}))?", _machine),
    rule("version", r"[vV\d]", r"(?P<v>[vV]\.?\s?(?=\d))?(?P<parts>\d+(?:\.\d+){2,}(?:[-.]?(?:alpha|beta|rc|b|a|dev|post)\.?\d*)?)(?![\w])", _version),
    rule("version", r"[vV]", r"(?P<v>[vV])\.?(?P<parts>\d+(?:\.\d+)*)(?![\w])", _version),
    rule("version", r"[A-Za-z]", rf"(?P<name>{_NAMED})\s(?P<whole>\d{{1,2}})\.(?P<rest>\d{{1,3}})(?![\w.]\d|\w|%)", _release),
    rule("code", r"\d", r"(?P<number>[1-9]\d{2})(?P<rest>(?:\([a-z0-9]\))+)", _retirement),
    rule("code", r"[A-Z]", r"[A-Z]{1,2}\d{1,5}:[A-Z]{1,2}\d{1,5}(?!\w)", _cells),
    rule("code", r"[A-Z]", r"[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2}(?!\w)", _postcode),
    rule("code", r"[A-Z\d]", r"(?P<left>[A-Z]|[IVX]{2,5}|\d(?=\.[A-Z]))\.(?P<right>\d{1,2}|[A-H])(?![\w.])", _section),
)  # fmt: skip

MIXED = rule(
    "code", r"[A-Za-z\d]",
    r"(?=[\w₀-₉-]*[A-Za-z])(?=[\w₀-₉-]*[\d₀-₉])[A-Za-z\d₀-₉]+(?:-[A-Za-z]?\d[A-Za-z\d]*|-[A-Z](?![\w]))*(?![^\W_])", _mixed,
)  # fmt: skip
