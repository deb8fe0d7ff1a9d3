"""Addresses on the net and on disk: mail, web, files, paths, flags, hashtags, keys."""

from __future__ import annotations

import re

from engine.reading.english.words import numbers
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_SIGNS = {
    ".": "dot", "@": "at", "/": "slash", "-": "dash", "_": "underscore", ":": "colon",
    "+": "plus", "~": "tilde", "\\": "backslash", "=": "equals", "&": "and", "%": "percent",
}  # fmt: skip
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+|.", re.DOTALL)
# Short pieces that are words, though they do not look it; other short ones are spelt ...
_WORDS = frozenset(
    "com net org edu gov co be me app dev in to my the pro bin lib var tmp src new log tar zip "
    "txt is it go no do so up on at by we us he an am as or if of old one two get set put run "
    "sub add key map big box top end job fun pub not bad bob ann joe sam tom max amy dan ben "
    "tim jim kim lee ian eva leo mia ray jay roy cat dog usr".split()
)
# ... unless they can be said: doe, mit.
_SYLLABLE = re.compile(r"[^aeiouy][aeiouy][^aeiouy]|[^aeiouy][aeiouy]{2}")
_SPELT = frozenset("ip api www".split())
_DOMAINS = frozenset("us io tv ai".split())  # spelt behind a dot
_TOP_LEVEL = (
    "com|org|net|edu|gov|mil|int|io|ai|dev|app|co|uk|us|de|fr|es|it|nl|eu|ca|au|in|jp|cn|ru|br|ch"
    "|at|be|se|no|fi|dk|pl|ly|me|tv|gg|xyz|info|biz|tech|cloud|online|site|store|blog|wiki|news"
    "|sh|so|fm|to|cc|la|sm"
)
_FILE_ENDINGS = (
    "pdf|csv|json|ya?ml|toml|txt|md|py|js|ts|jsx|tsx|html?|css|xml|sh|bash|zsh|bat|exe|dll|so|zip"
    "|tar|gz|tgz|rar|7z|png|jpe?g|gif|svg|webp|mp[34]|wav|ogg|flac|mov|avi|mkv|docx?|xlsx?|pptx?"
    "|rs|go|java|kt|cpp|hpp|cc|rb|php|pl|sql|ini|cfg|conf|log|lock|env|ipynb|tex|parquet|onnx|pt"
    "|safetensors|gguf|bin|iso|dmg|apk|bak|tmp|db|sqlite|vue|swift|lua|proto|rst|tsv"
)
_SAID_ENDINGS = frozenset("zip tar bat bin env doc".split())
_SPELT_ENDINGS = frozenset("html jpeg docx xlsx pptx webp".split())
_KEYS = {
    "Ctrl": "control", "Cmd": "command", "Alt": "alt", "Shift": "shift", "Opt": "option",
    "Del": "delete", "Esc": "escape", "Win": "windows",
}  # fmt: skip
_SCHEME = re.compile(r"(?:https?|ftp)://(?:www\.)?", re.IGNORECASE)
_PORT = re.compile(r":(\d{2,5})(?=/|\Z)")
_LAST_LABEL = re.compile(r"[^:/?#]*\.([A-Za-z]+)")


def _spell(text: str, start: int, silent: str = "") -> list[Part]:
    """An address piece by piece; signs in `silent` are passed over."""
    parts = []
    for found in _PIECE.finditer(text):
        piece = found[0]
        if piece.lower() in _DOMAINS and text[: found.start()].endswith("."):
            words = " ".join(piece.upper())
        else:
            words = "" if piece in silent else _SIGNS.get(piece) or _piece(piece)
        if words:
            parts.append(Part(words, start + found.start(), start + found.end()))
    return parts


def _piece(piece: str) -> str:
    if piece.isdecimal():
        if piece[0] == "0" or len(piece) not in (1, 2, 4):
            return numbers.digits(piece)
        return numbers.in_pairs(piece)
    lower = piece.lower()
    if not piece.isalpha():
        return ""
    short = len(piece) < 4 and piece.isascii() and lower not in _WORDS
    if lower in _SPELT or short and not _SYLLABLE.fullmatch(lower):
        return " ".join(piece.upper())
    return piece


def _address(match: Match) -> Spoken:
    """The scheme, "www" behind it, and what follows a question mark are not said."""
    scheme = _SCHEME.match(match[0])
    start = scheme.end() if scheme else 0
    text = re.split(r"[?#]", match[0][start:])[0].rstrip("/")
    at = match.start() + start
    parts = _spell(text, at)
    port = _PORT.search(text)
    if port is None:
        return parts
    said = numbers.in_pairs(port[1]) if len(port[1]) < 5 else numbers.digits(port[1])
    before = [p for p in parts if p.end <= at + port.start()]
    behind = [p for p in parts if p.start >= at + port.end()]
    return [*before, Part(said, at + port.start(1), at + port.end(1)), *behind]


def _host(match: Match) -> Spoken:
    """A name with a known ending; `one.So` and `end.It` are two sentences."""
    label = _LAST_LABEL.match(match[0])
    if label is not None and label[1][0].isupper() and not match[0].isupper():
        return None
    return _address(match)


def _file(match: Match) -> Spoken:
    """report.pdf: an ending that is a word is said, others are spelt."""
    ending = match["ending"]
    lower = ending.lower()
    said = lower in _SAID_ENDINGS or len(lower) > 3 and lower not in _SPELT_ENDINGS
    words = "text" if lower == "txt" else ending if said else " ".join(ending.upper())
    name = _spell(match["name"], match.start())
    return [*name, part(match, "dot", "dot"), part(match, "ending", words)]


def _path(match: Match) -> Spoken:
    return _spell(match[0].rstrip("/\\"), match.start())


def _flag(match: Match) -> Spoken:
    """--help, -m."""
    dashes = part(match, "dashes", "dash " * len(match["dashes"]))
    return [dashes, *_spell(match["name"], match.start("name"))]


def _hashtag(match: Match) -> Spoken:
    name = _spell(match["name"], match.start("name"), silent="_")
    return [part(match, "sign", "hashtag"), *name]


def _keys(match: Match) -> Spoken:
    """Ctrl+C, Cmd-Shift-P, Alt+F4."""
    parts = []
    for found in re.finditer(r"[A-Za-z]+\d*", match[0]):
        words = _KEYS.get(found[0]) or " ".join(map(_piece, _PIECE.findall(found[0])))
        at = match.start() + found.start()
        parts.append(Part(words, at, at + len(found[0])))
    return parts


_LABEL = r"[A-Za-z\d](?:[\w-]{0,60}\w)?"
_URL_BODY = r"[^\s<>\"'`\[\](){}|^*]"
_TAIL = rf"(?::\d{{2,5}})?(?:/{_URL_BODY}*[\w/])?(?:[?#]{_URL_BODY}*\w)?"
_KEY = "(?:" + "|".join(_KEYS) + ")"

RULES: tuple[Rule, ...] = (
    rule("electronic", r"[A-Za-z\d]", rf"[\w.+&-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*(?:/[\w/-]*\w)?",
         _path),
    rule("electronic", r"[hHfF]", rf"(?i:https?|ftp|file)://{_URL_BODY}*[\w/]", _address),
    rule("electronic", r"[wW]", rf"(?i:www)\.{_URL_BODY}*[\w/]", _address),
    rule("electronic", r"[A-Za-z\d]", rf"(?:{_LABEL}\.){{1,8}}(?:{_TOP_LEVEL})"
         rf"(?![\w-]|\.\w){_TAIL}", _host),
    rule("electronic", r"l", rf"localhost{_TAIL}(?!\w)", _address),
    rule("electronic", r"[A-Za-z\d_]", r"(?P<name>[\w-]{1,60})(?P<dot>\.)"
         rf"(?P<ending>(?i:{_FILE_ENDINGS}))(?![\w-]|\.\w)", _file),
    rule("electronic", r"[A-Za-z\d_]", r"(?:[\w-]{1,60}/){1,9}[\w-]{1,60}\."
         rf"(?i:{_FILE_ENDINGS})(?![\w-]|\.\w)", _path),
    rule("electronic", r"[A-Za-z]", r"[A-Za-z]:\\(?:[\w\\. -]*\w)?", _path),
    rule("electronic", r"[~/.]", r"(?<![\w<.])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]*)*(?<!\.)", _path),
    rule("electronic", r"\.", r"(?<![\w/])\.[a-z]\w+(?:/\w+)*", _path),
    rule("electronic", r"-", r"(?<!\S)(?P<dashes>--?)(?P<name>[a-z][\w-]*)(?![^\s.,;:!?)])",
         _flag),
    rule("electronic", r"#", r"(?<!\w)#(?=[A-Z]*\d[A-Z\d-]*(?!\w))(?=\S*[A-Z])", "number"),
    rule("electronic", r"#", r"(?<!\w)(?P<sign>#)(?P<name>(?:\d+[A-Z][a-z]|[A-Za-z])\w*)",
         _hashtag),
    rule("electronic", r"[ACDESOW]", rf"{_KEY}(?:[+-]{_KEY})*[+-]"
         r"(?:F\d\d?|[A-Z][a-z]+|[A-Z])(?!\w)", _keys),
)  # fmt: skip
