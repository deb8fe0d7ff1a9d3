"""Arithmetic and algebra: powers, comparisons, functions, scientific notation, LaTeX."""

from __future__ import annotations

import re

from engine.reading.english import context, numbers
from engine.reading.english.tables import SIGNS
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_SUPER = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
_RAISED = r"(?:[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+|ⁿ|\^\{?[-−]?\w+\}?)"
_OPERAND_BEFORE = re.compile(r"[\w)\]²³°%π}]\s*\Z")
_ONE_OPERAND = re.compile(r"(?:\b[b-hj-z]|\d|[)\]²³])\s\Z")
_COMPARISONS = {
    "<=": "less than or equal to", ">=": "greater than or equal to", "!=": "not equal to",
    "==": "equals", "&&": "and", "||": "or", "=>": "", "->": "", "<-": "", "===": "equals",
    "!==": "not equal to", "++": "plus plus", "+=": "plus equals", "-=": "minus equals",
    "**": "to the power of", "<<": "much less than", ">>": "much greater than", ":=": "is",
}  # fmt: skip
_LATEX = {
    "times": "times", "cdot": "times", "div": "divided by", "pm": "plus or minus", "leq": "less than or equal to",
    "le": "less than or equal to", "geq": "greater than or equal to", "ge": "greater than or equal to",
    "neq": "not equal to", "ne": "not equal to", "approx": "is approximately", "infty": "infinity",
    "sum": "the sum of", "int": "the integral of", "prod": "the product of", "partial": "partial", "to": "to",
    "rightarrow": "to", "in": "in", "cup": "union", "cap": "intersection", "ldots": "and so on", "cdots": "and so on",
    "lim": "the limit of", "left": "", "right": "", "quad": "", "text": "", "mathrm": "", "mathbf": "",
}  # fmt: skip


def power(text: str) -> str:
    """What is said for an exponent: squared, cubed, to the tenth, to the minus three."""
    text = text.translate(_SUPER).strip("^{}").replace("−", "-")
    if text == "2":
        return "squared"
    if text == "3":
        return "cubed"
    if text.lstrip("-+").isdecimal():
        number = int(text)
        return (
            f"to the minus {numbers.cardinal(-number)}"
            if number < 0
            else f"to the {numbers.ordinal(number)}"
        )
    return f"to the {text if len(text) > 1 else text.upper()}"


def _power(match: Match) -> Spoken:
    base = match["base"]
    words = numbers.plain(base) if base[0].isdecimal() else base
    return [part(match, "base", words), part(match, "power", power(match["power"]))]


def _scientific(match: Match) -> Spoken:
    number = numbers.plain(match["number"])
    exponent = power(match["power"])
    if match["power"].translate(_SUPER).strip("^{}") in ("2", "3"):
        exponent = "to the " + numbers.ordinal(int(match["power"].translate(_SUPER).strip("^{}")))
    return [
        part(match, "number", number),
        Part(f"times ten {exponent}", match.end("number"), match.end()),
    ]


def _exponent(match: Match) -> Spoken:
    """1e6, 1e-3."""
    sign = {"-": "minus ", "−": "minus ", "+": "", "": ""}[match["sign"] or ""]
    number = int(match["power"])
    said = numbers.cardinal(number) if sign else numbers.ordinal(number)
    return f"{numbers.plain(match['number'])} times ten to the {sign}{said}"


def _comparison(match: Match) -> Spoken:
    return _COMPARISONS[match[0]] or None


def _equals(match: Match) -> Spoken:
    return "equals"


def _operator(match: Match) -> Spoken:
    """A sign between two operands."""
    if not _OPERAND_BEFORE.search(match.string, 0, match.start()):
        return None
    return {
        "+": "plus",
        "-": "minus",
        "−": "minus",
        "–": "minus",
        "*": "times",
        "/": "over",
        "^": "to the",
        "·": "times",
        "⋅": "times",
    }[match["sign"]]


def _function(match: Match) -> Spoken:
    """f(x)."""
    return f"{match['name']} of {match['argument']}"


def _coefficient(match: Match) -> Spoken:
    return [
        part(match, "number", numbers.plain(match["number"])),
        part(match, "name", match["name"]),
    ]


def _minus(match: Match) -> Spoken:
    """x - y; a dash between words is none."""
    return "minus" if _ONE_OPERAND.search(match.string, 0, match.start()) else None


def _sign(match: Match) -> Spoken:
    return SIGNS[match[0]]


def _latex(match: Match) -> Spoken:
    name = match["name"]
    return _LATEX.get(name, name)


def _latex_fraction(match: Match) -> Spoken:
    top, bottom = match["top"], match["bottom"]
    if top.isdecimal() and bottom.isdecimal():
        return numbers.fraction(int(top), int(bottom))
    return f"{_plainly(top)} over {_plainly(bottom)}"


def _plainly(text: str) -> str:
    from engine.reading.languages import read

    return str(read(text))


_NUM = numbers.NUMBER
_LETTER = r"[A-Za-zα-ωΑ-Ωπ]"

RULES: tuple[Rule, ...] = (
    rule("math", r"\\", r"\\[dt]?frac\s?\{(?P<top>[^{}]*)\}\s?\{(?P<bottom>[^{}]*)\}", _latex_fraction),
    rule("math", r"\\", r"\\sqrt\s?(?=\{|\w)", "the square root of"),
    rule("math", r"\\", r"\\(?P<name>[A-Za-z]+)", lambda m: _latex(m) or None),
    rule("math", r"[\d.]", rf"(?P<number>{_NUM})\s?[x×·*]\s?10(?P<power>{_RAISED})", _scientific),
    rule("math", r"[\d.]", rf"(?P<number>{_NUM})[eE](?P<sign>[-−+])?(?P<power>\d{{1,3}})(?!\w)", _exponent),
    rule("math", r"[\d(]", rf"(?P<base>{_NUM})(?P<power>{_RAISED})", _power),
    rule("math", r"[A-Za-zα-ωπ]", rf"(?P<base>{_LETTER}{{1,3}})(?P<power>{_RAISED})", _power),
    rule("math", r"[a-z]", r"(?P<name>[a-z])\((?P<argument>[a-z])\)", _function),
    rule("math", r"\d", rf"(?P<number>\d{{1,3}})(?P<name>[xyz])(?=\s?[-+*/=^)²³]|\Z)(?<!\A\dx)(?<!\A\d\dx)", _coefficient),
)  # fmt: skip

SIGN_RULES: tuple[Rule, ...] = (
    rule("math", r"[<>!=&|+\-*:]", r"===|!==|<=|>=|!=|==|&&|\|\||\+=|-=|<<|>>|:=|\*\*(?=\s?\d)", _comparison),
    rule("math", r"[+^·⋅−]", r"(?P<sign>[+^·⋅−])(?=\s?[\w(\\π])", _operator),
    rule("math", r"[-–]", r"(?P<sign>[-–])(?=\s?[\w(]{1,6}\s?=)", _operator),
    rule("math", r"[-]", r"(?<=\s)-(?=\s[a-z0-9](?!\w))", _minus),
    rule("math", r"[*]", r"(?P<sign>\*)(?=\s?[\w(])", _operator),
    rule("math", r"[/]", r"(?<=[\d)]\s)(?P<sign>/)(?=\s[\d(])|(?<=[)])(?P<sign2>/)(?=[\w(])", lambda m: "over"),
    rule("math", "[" + re.escape("".join(SIGNS)) + "]", "[" + re.escape("".join(SIGNS)) + "]", _sign),
)  # fmt: skip

TRIGGERS: frozenset[str] = frozenset()
del context
