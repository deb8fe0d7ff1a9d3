"""Arithmetic and algebra: powers, comparisons, functions, scientific notation, LaTeX, signs."""

from __future__ import annotations

import re
import unicodedata

from engine.reading.english.words import numbers
from engine.reading.english.words.tables import SIGNS
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ−", "0123456789-+n-")
_POWER = r"(?P<power>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+|ⁿ|\^\{?[-−]?\w+\}?)"
_NUMBER = rf"(?P<number>{numbers.NUMBER})"
_OPERAND = re.compile(r"[\w)\]²³°%π}]\s*\Z")
# A word is no operand: "then - a surprise".
_SURE_OPERAND = re.compile(r"(?:\b[b-hj-z]|\d|[)\]²³])\s\Z")
_COMPARISONS = {
    "<=": "less than or equal to", ">=": "greater than or equal to", "!=": "not equal to",
    "!==": "not equal to", "==": "equals", "===": "equals", "&&": "and", "||": "or",
    "+=": "plus equals", "-=": "minus equals", "<<": "much less than", ">>": "much greater than",
    ":=": "is", "**": "to the power of",
}  # fmt: skip
_OPERATORS = {
    "+": "plus", "-": "minus", "−": "minus", "–": "minus", "*": "times", "·": "times",
    "⋅": "times", "^": "to the",
}  # fmt: skip
# Commands that are no Greek letter or function, which are called what they are written.
_FUNCTIONS = {
    "sin": "sine", "cos": "cosine", "tan": "tangent", "log": "log", "ln": "natural log",
    "exp": "exponential", "sqrt": "square root",
}  # fmt: skip
_LATEX = {
    "times": "times", "cdot": "times", "div": "divided by", "pm": "plus or minus",
    "leq": "less than or equal to", "le": "less than or equal to",
    "geq": "greater than or equal to", "ge": "greater than or equal to", "neq": "not equal to",
    "ne": "not equal to", "approx": "is approximately", "infty": "infinity",
    "sum": "the sum of", "int": "the integral of", "prod": "the product of",
    "lim": "the limit of", "rightarrow": "to", "cup": "union", "cap": "intersection",
    "ldots": "and so on", "cdots": "and so on", "sqrt": "the square root of",
}  # fmt: skip
_SILENT_LATEX = frozenset("left right quad qquad text mathrm mathbf displaystyle".split())


def _exponent_text(match: Match) -> str:
    return match["power"].translate(_RAISED).strip("^{}")


def _exponent(text: str) -> str:
    """10 -> to the tenth, -3 -> to the minus three, n -> to the N."""
    if text.lstrip("-+").isdecimal():
        number = int(text)
        if number < 0:
            return f"to the minus {numbers.cardinal(-number)}"
        return f"to the {numbers.ordinal(number)}"
    return f"to the {text if len(text) > 1 else text.upper()}"


def _power(match: Match) -> Spoken:
    """x², 2^10, 10⁻³."""
    base, text = match["base"], _exponent_text(match)
    words = numbers.plain(base) if base[0].isdecimal() else base
    said = {"2": "squared", "3": "cubed"}.get(text) or _exponent(text)
    return [part(match, "base", words), part(match, "power", said)]


def _scientific(match: Match) -> Spoken:
    """6.02×10²³."""
    words = f"times ten {_exponent(_exponent_text(match))}"
    return [
        part(match, "number", numbers.plain(match["number"])),
        Part(words, match.end("number"), match.end()),
    ]


def _short_scientific(match: Match) -> Spoken:
    """1e6, 1e-3."""
    exponent = _exponent(match["power"].replace("−", "-"))
    return f"{numbers.plain(match['number'])} times ten {exponent}"


def _coefficient(match: Match) -> Spoken:
    """The 2x of an equation."""
    words = numbers.plain(match["number"])
    return [part(match, "number", words), part(match, "name", match["name"].upper())]


def _operator(match: Match) -> Spoken:
    """A sign behind an operand."""
    behind = _OPERAND.search(match.string, max(0, match.start() - 3), match.start())
    return _OPERATORS[match["sign"]] if behind is not None else None


def _spaced_minus(match: Match) -> Spoken:
    """x - y."""
    start = match.start()
    behind = _SURE_OPERAND.search(match.string, max(0, start - 3), start)
    return "minus" if behind is not None else None


def _greek(match: Match) -> Spoken:
    """A letter alone: lambda."""
    name = unicodedata.name(match[0]).rpartition(" ")[2].lower()
    return {"lamda": "lambda"}.get(name, name)


def _command(match: Match) -> Spoken:
    r"""\alpha, \times; what only lays out is silent."""
    name = match["name"]
    return None if name in _SILENT_LATEX else _LATEX.get(name, name)


def _latex_fraction(match: Match) -> Spoken:
    r"""\frac{1}{2}: what stands above and below is left to the rules, its joint is said here."""
    top, bottom = match["top"], match["bottom"]
    if top.isdecimal() and bottom.isdecimal():
        return numbers.fraction(int(top), int(bottom))
    return f"{_simple(top)} over {_simple(bottom)}"


def _simple(text: str) -> str:
    return " ".join(
        numbers.plain(piece)
        if piece.isdecimal()
        else _LATEX.get(piece) or _OPERATORS.get(piece, piece)
        for piece in re.findall(r"\d+|[A-Za-z]+|[-+*]", text)
    )


_LETTERS = r"(?P<base>[A-Za-zα-ωΑ-Ω]{1,3})"
_ALL_SIGNS = "[" + re.escape("".join(SIGNS)) + "]"

RULES: tuple[Rule, ...] = (
    rule("math", r"\\", r"\\[dt]?frac\s?\{(?P<top>[^{}]*)\}\s?\{(?P<bottom>[^{}]*)\}",
         _latex_fraction),
    rule("math", r"\\", r"\\(?P<name>[A-Za-z]+)", _command),
    rule("math", r"[\d.]", rf"{_NUMBER}\s?[x×·*]\s?10{_POWER}", _scientific),
    rule("math", r"[\d.]", rf"{_NUMBER}[eE](?P<power>[-−+]?\d{{1,3}})(?!\w)", _short_scientific),
    rule("math", r"\d", rf"(?P<base>{numbers.NUMBER}){_POWER}", _power),
    rule("math", r"[A-Za-zα-ωΑ-Ω]", _LETTERS + _POWER, _power),
    rule("math", r"[a-z]", r"(?P<name>[a-z])\((?P<argument>[a-z])\)",
         lambda m: f"{m['name'].upper()} of {m['argument'].upper()}"),
    rule("math", r"[sctle]", rf"(?P<name>{'|'.join(_FUNCTIONS)})\((?=[^()]{{1,20}}\))",
         lambda m: f"{_FUNCTIONS[m['name']]} of"),
    rule("math", r"[α-ωΑ-Ω]", r"(?<![\w])[α-ωΑ-Ω](?![α-ωΑ-Ω])", _greek),
    rule("math", r"\d", r"(?P<number>\d{1,3})(?P<name>[xyz])(?=\s?[-+*/=^)²³]|\Z)"
         r"(?<!\A\dx)(?<!\A\d\dx)", _coefficient),
)  # fmt: skip

SIGN_RULES: tuple[Rule, ...] = (
    rule("math", r"[<>!=&|+\-:*]", r"[!=]==?|[<>]=|&&|\|\||[+-]=|<<|>>|:=|\*\*(?=\s?\d)",
         lambda m: _COMPARISONS[m[0]]),
    rule("math", r"[+^·⋅−]", r"(?P<sign>[+^·⋅−])(?=\s?[\w(\\π])", _operator),
    rule("math", r"[-–]", r"(?P<sign>[-–])(?=\s?[\w(]{1,6}\s?=)", _operator),
    rule("math", r"-", r"(?<=\s)-(?=\s[a-z0-9](?!\w))", _spaced_minus),
    rule("math", r"\*", r"(?P<sign>\*)(?=\s?[\w(])", _operator),
    rule("math", r"/", r"(?<=[\d)]\s)/(?=\s[\d(])|(?<=\))/(?=[\w(])|(?<=\d)/(?=[a-z](?!\w))",
         "over"),
    rule("math", _ALL_SIGNS, _ALL_SIGNS, lambda m: SIGNS[m[0]]),
)  # fmt: skip
