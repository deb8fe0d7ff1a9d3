"""Versions and addresses of machines: v1.2.3, Python 3.11, 192.168.0.1, section G.2."""

from __future__ import annotations

import re

from engine.reading.english.names import roman
from engine.reading.english.words import context, numbers
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_PIECE = re.compile(r"\d+|[a-z]+")
# After these 3.11 is three point eleven.
_NAMED = (
    "Python|Java|Ruby|PHP|Perl|Go|Rust|Swift|Kotlin|Scala|Node|Node\\.js|Angular|React|Vue|Django"
    "|Rails|Android|Windows|Ubuntu|Debian|Fedora|Linux|macOS|[Kk]ernel|CUDA|TypeScript|Unity"
    "|PostgreSQL|Postgres|MySQL|SQLite|Redis|Kubernetes|Docker|[Vv]ersion|[Rr]elease"
)


def _machine(match: Match) -> Spoken:
    """192.168.0.1 digit by digit; 10.0.0.1 in numbers, since all of them are short."""
    found = list(re.finditer(r"\d+", match["address"]))
    say = numbers.digits if any(len(f[0]) == 3 for f in found) else _small
    parts = []
    for index, piece in enumerate(found):
        at = match.start() + piece.start()
        parts.append(Part(("dot " if index else "") + say(piece[0]), at, at + len(piece[0])))
    if match["port"]:
        parts.append(part(match, "port", f"port {numbers.in_pairs(match['port'])}"))
    return parts


def _small(text: str) -> str:
    return numbers.cardinal(int(text))


def _version(match: Match) -> Spoken:
    """v1.2.3, 2.10.1, 1.0.0-beta2; not the 10.000.000 of continental Europe."""
    if not match["v"] and re.fullmatch(numbers.SPACED, match["parts"]):
        return None
    parts = []
    if match["v"]:
        said = "V" if context.before(match) in ("version", "v") else "version"
        parts.append(part(match, "v", said))
    start = match.start("parts")
    for found in _PIECE.finditer(match["parts"]):
        pointed = match["parts"][: found.start()].endswith(".") and found[0].isdecimal()
        words = ("point " if pointed else "") + _piece(found[0])
        parts.append(Part(words, start + found.start(), start + found.end()))
    return parts


def _piece(text: str) -> str:
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
        part(match, "rest", f"point {_piece(match['rest'])}"),
    ]


def _section(match: Match) -> Spoken:
    """G.2, II.B, 3.B."""
    left, right = match["left"], match["right"]
    value = roman.value_of(left) if len(left) > 1 else None
    first = numbers.cardinal(value) if value else left
    first = numbers.cardinal(int(left)) if left.isdecimal() else first
    second = numbers.cardinal(int(right)) if right.isdecimal() else right
    return [part(match, "left", first), part(match, "right", f"point {second}")]


RULES: tuple[Rule, ...] = (
    rule("code", r"\d", r"(?P<address>\d{1,3}(?:\.\d{1,3}){3})(?![\d.]\d|\d)"
         r"(?::(?P<port>\d{2,5}))?", _machine),
    rule("version", r"[vV\d]", r"(?P<v>[vV]\.?\s?(?=\d))?(?P<parts>\d+(?:\.\d+){2,}"
         r"(?:[-.]?(?:alpha|beta|rc|b|a|dev|post)\.?\d*)?)(?!\w)", _version),
    rule("version", r"[vV]", r"(?P<v>[vV])\.?(?P<parts>\d+(?:\.\d+)*)(?!\w)", _version),
    rule("version", r"[A-Za-z]", rf"(?P<name>{_NAMED})\s(?P<whole>\d{{1,2}})\.(?P<rest>\d{{1,3}})"
         r"(?![\w.]\d|\w|%)", _release),
    rule("version", r"[A-Z\d]", r"(?P<left>[A-Z]|[IVX]{2,5}|\d(?=\.[A-Z]))\."
         r"(?P<right>\d{1,2}|[A-H])(?![\w.])", _section),
)  # fmt: skip
