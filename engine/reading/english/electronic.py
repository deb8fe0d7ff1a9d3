"""Addresses on the net and on disk: mail, web, files, paths, flags, hashtags, handles."""

from __future__ import annotations

import re

from engine.reading.english import numbers
from engine.reading.types import Match, Part, Rule, Spoken, rule

_SIGNS = {
    ".": "dot", "@": "at", "/": "slash", "-": "dash", "_": "underscore", ":": "colon",
    "+": "plus", "~": "tilde", "\\": "backslash", "=": "equals", "&": "and", "?": "question mark",
    "#": "hash", "%": "percent",
}  # fmt: skip
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+|.", re.DOTALL)
_SCHEME = re.compile(r"(?:https?|ftp)://(?:www\.)?", re.IGNORECASE)
# Two or three letters that are said as a word, or that are a word.
_WORDS = frozenset(
    "com net org edu gov co io us be me tv app dev ai in to my the pro app usr bin etc lib var tmp "
    "src doc new log tar zip rar txt bat bit web api www ip is it go no do so up on at by we he an "
    "am as or if of old one two get set put run log sub add key map big box red top end job fun "
    "pub not bad bob ann joe sam tom max amy dan ben tim jim kim lee ian eva leo mia ray jay roy "
    "cat dog".split()
)
_SPELLED_WORDS = frozenset("us io tv ai ip api www co".split())
_SYLLABLE = re.compile(r"[^aeiouy][aeiouy][^aeiouy]|[^aeiouy][aeiouy]{2}")
_TOP = (
    "com|org|net|edu|gov|mil|int|io|ai|dev|app|co|uk|us|de|fr|es|it|nl|eu|ca|au|in|jp|cn|ru|br|ch|at|"
    "be|se|no|fi|dk|pl|ly|me|tv|gg|xyz|info|biz|tech|cloud|online|site|store|blog|wiki|news|sh|so|"
    "fm|to|cc|la|sm"
)
_FILES = (
    "pdf|csv|json|ya?ml|toml|txt|md|py|js|ts|jsx|tsx|html?|css|xml|sh|bash|zsh|bat|exe|dll|so|zip|"
    "tar|gz|tgz|rar|7z|png|jpe?g|gif|svg|webp|mp[34]|wav|ogg|flac|mov|avi|mkv|docx?|xlsx?|pptx?|"
    "rs|go|java|kt|cpp|hpp|cc|rb|php|pl|sql|ini|cfg|conf|log|lock|env|ipynb|tex|parquet|onnx|pt|"
    "safetensors|gguf|bin|iso|dmg|apk|bak|tmp|db|sqlite|vue|swift|lua|proto|dockerfile|rst|tsv"
)
_CONTROL_KEYS = {"Ctrl": "control", "Cmd": "command", "Alt": "alt", "Shift": "shift",
                 "Opt": "option", "Del": "delete", "Esc": "escape", "Win": "windows"}  # fmt: skip


def spell_out(text: str, start: int, silent: str = "") -> list[Part]:
    """An address piece by piece; signs in `silent` are passed over."""
    parts = []
    for found in _PIECE.finditer(text):
        piece = found[0]
        if piece in silent:
            continue
        words = _SIGNS.get(piece) or _piece(piece)
        if words:
            parts.append(Part(words, start + found.start(), start + found.end()))
    return parts


def _piece(piece: str) -> str:
    if piece.isdecimal():
        if len(piece) == 4 and piece[0] != "0":
            return numbers.in_pairs(piece)
        return (
            numbers.digits(piece)
            if len(piece) > 2 or piece[0] == "0"
            else numbers.cardinal(int(piece))
        )
    if not piece.isalpha():
        return ""
    lower = piece.lower()
    if lower in _SPELLED_WORDS and lower != "co":
        return " ".join(lower.upper())
    if len(lower) < 4 and lower.isascii() and lower not in _WORDS:
        return piece if _SYLLABLE.fullmatch(lower) else " ".join(lower.upper())
    return piece


def _address(match: Match) -> Spoken:
    text = match[0]
    scheme = _SCHEME.match(text)
    start = scheme.end() if scheme else 0
    end = len(text)
    for sign in "?#":  # what follows these no one says
        cut = text.find(sign, start)
        end = cut if cut > 0 else end
    text = text[start:end].rstrip("/")
    parts = spell_out(text, match.start() + start)
    if text.lower().startswith("www"):
        parts[0] = Part("W W W", parts[0].start, parts[0].end)
    return _with_port(parts, text, match.start() + start)


def _with_port(parts: list[Part], text: str, start: int) -> list[Part]:
    port = re.search(r":(\d{2,5})(?=/|\Z)", text)
    if port is None:
        return parts
    at = start + port.start(1)
    said = numbers.in_pairs(port[1]) if len(port[1]) < 5 else numbers.digits(port[1])
    return [Part(said, p.start, p.end) if p.start == at else p for p in parts if p.start != at - 1]


def _mail(match: Match) -> Spoken:
    return spell_out(match[0], match.start())


def _file(match: Match) -> Spoken:
    parts = spell_out(
        match["name"],
        match.start(),
    )
    parts.append(Part("dot", match.start("dot"), match.end("dot")))
    ending = match["ending"]
    sayable = len(ending) > 3 or ending.lower() in ("zip", "tar", "bat", "bin", "txt", "env", "doc")
    words = (
        ending
        if sayable and ending.lower() not in ("html", "jpeg", "docx", "xlsx", "pptx")
        else " ".join(ending.upper())
    )
    return [*parts, Part("text" if ending == "txt" else words, *match.span("ending"))]


def _path(match: Match) -> Spoken:
    return spell_out(match[0].rstrip("/"), match.start())


def _drive(match: Match) -> Spoken:
    return spell_out(match[0].rstrip("\\"), match.start())


def _flag(match: Match) -> Spoken:
    dashes = "dash " * len(match["dashes"])
    words = [Part(dashes, *match.span("dashes"))]
    return words + spell_out(match["name"], match.start("name"))


def _hashtag(match: Match) -> Spoken:
    return [Part("hashtag", match.start(), match.start() + 1)] + [
        Part(p.words if p.words.isalpha() and len(p.words) > 1 else p.words, p.start, p.end)
        for p in spell_out(match["name"], match.start("name"), silent="_")
    ]


def _keys(match: Match) -> Spoken:
    """Ctrl+C, Cmd-Shift-P."""
    parts = []
    for found in re.finditer(r"[A-Za-z]+\d*", match[0]):
        at = match.start() + found.start()
        word = _CONTROL_KEYS.get(found[0]) or " ".join(map(_piece, _PIECE.findall(found[0])))
        parts.append(Part(word, at, at + len(found[0])))
    return parts


_HOST = rf"(?:[A-Za-z0-9](?:[\w-]*\w)?\.)+(?:{_TOP})(?![\w-]|\.\w)"
_TAIL = r"(?::\d{2,5})?(?:/[^\s<>\"'`\[\](){}|^*]*[\w/])?(?:[?#][^\s<>\"'`\[\](){}|^*]*[\w])?"
_KEY = "|".join(_CONTROL_KEYS)

RULES: tuple[Rule, ...] = (
    rule("electronic", r"[A-Za-z\d]", r"[\w.+&-]+@[A-Za-z\d](?:[\w-]*\w)?(?:\.[A-Za-z\d](?:[\w-]*\w)?)*(?:/[\w/-]*\w)?", _mail),
    rule("electronic", r"[hHfF]", r"(?i:https?|ftp|file)://[^\s<>\"'`\[\](){}|^*]*[\w/]", _address),
    rule("electronic", r"[wW]", r"(?i:www)\.[^\s<>\"'`\[\](){}|^*]*[\w/]", _address),
    rule("electronic", r"[A-Za-z\d]", rf"{_HOST}{_TAIL}", lambda m: _host(m)),
    rule("electronic", r"l", rf"localhost{_TAIL}(?!\w)", _address),
    rule("electronic", r"[A-Za-z\d_]", rf"(?P<name>[\w-]+)(?P<dot>\.)(?P<ending>(?i:{_FILES}))(?![\w-]|\.\w)", _file),
    rule("electronic", r"[A-Za-z]", r"[A-Za-z]:\\[\w\\. -]*\w|[A-Za-z]:\\", _drive),
    rule("electronic", r"[~/.]", r"(?<![\w<])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]*)*(?<![.])|(?<![\w/])\.[a-z][\w]+(?:/\w+)*", _path),
    rule("electronic", r"-", r"(?<!\S)(?P<dashes>--|-)(?P<name>[a-z][\w-]*)(?!\S)", _flag),
    rule("electronic", r"[#]", r"(?<!\w)#(?P<name>[A-Za-z]\w*)", _hashtag),
    rule("electronic", r"[ACDESOW]", rf"(?:{_KEY})(?:[+-](?:{_KEY}))*[+-](?:[A-Z]|F\d\d?|[A-Z][a-z]+|Del)(?!\w)", _keys),
)  # fmt: skip


def _host(match: Match) -> Spoken:
    """A name with a known ending; `one.So` and `end.It` are two sentences."""
    ending = re.match(r".*\.([A-Za-z]+)", re.split(r"[:/?#]", match[0])[0])
    if ending is not None and ending[1][0].isupper() and not match[0].isupper():
        return None
    return _address(match)
