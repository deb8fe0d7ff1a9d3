"""Elements of HTML and SSML in a text: known ones are silent and act, any other word is spoken.

`<b>` is mark-up, `<Enter>` is a key, `List<String>` a type. What is not known, and names that are
both, as `<title>`, count as mark-up only where they look like it: with an attribute, a slash, or
their other half beside them.
"""

from __future__ import annotations

import html

import regex

from gateway.text.rewriting import Hold, TracedText

_SILENT = frozenset(
    "a abbr b bdi bdo big cite code center del dfn em font i ins kbd mark q s samp small span "
    "strike strong sub sup tt u wbr svg iframe "  # HTML, inside a line
    "speak voice prosody emphasis say-as phoneme lang w token express-as".split()  # SSML
)
_APART = frozenset(
    "blockquote br dd div dl dt h1 h2 h3 h4 h5 h6 hr img li ol p pre section table tbody td tfoot "
    "th thead tr ul html body figure figcaption".split()
)
"""Words before and after these are not of one piece."""
_EITHER = frozenset(
    "address area article aside audio base button data desc details dialog field footer form head "
    "header input label legend link main map media menu meta meter name nav object option output "
    "par param progress ruby script search select seq slot source style summary template text "
    "textarea time title track var video mark section table code figure body q s w u i b a p "
    "token voice lang".split()
)
_ELEMENT = regex.compile(
    r"<(?P<close>/)?(?P<name>[A-Za-z][\w:-]*)(?P<attributes>[\s=][^<>\n]*?)?\s*(?P<empty>/)?>"
)
_COMMENT = regex.compile(r"<!--.*?-->|<!DOCTYPE[^>]*>|<\?xml[^>]*\?>", regex.IGNORECASE)
_SAY_AS = regex.compile(
    r"<say-as\s[^<>]*?interpret-as\s*=\s*[\"']?(?P<how>[\w-]+)[^<>]*>(?P<what>[^<>]*)</say-as>",
    regex.IGNORECASE,
)
_SPELL = regex.compile(r"<spell>(?P<what>[^<>]*)</spell>", regex.IGNORECASE)  # Cartesia's
_SUBSTITUTE = regex.compile(
    r"<sub\s[^<>]*?alias\s*=\s*(?P<quote>[\"'])(?P<alias>[^<>]*?)(?P=quote)[^<>]*>[^<>]*</sub>",
    regex.IGNORECASE,
)
_EMPHASIS = regex.compile(
    r"<emphasis(?![^<>]*(?:reduced|none))(?:\s[^<>]*)?>\s*(?=\S)", regex.IGNORECASE
)
_ONE_BY_ONE = frozenset(("characters", "spell-out", "spell", "verbatim", "digits", "telephone"))


def _one_by_one(what: str) -> str:
    return " ".join(char.upper() for char in what if not char.isspace())


def _say_as(match: regex.Match[str]) -> str:
    """Characters and digits one by one, counts and ranks so that they cannot be taken for years;
    the other ways are the reader's own.
    """
    what, how = html.unescape(match["what"].strip()), match["how"].lower()
    if how in _ONE_BY_ONE:
        return _one_by_one(what)
    if not (what.isascii() and what.isdecimal()):
        return what
    number = int(what)
    if how in ("cardinal", "number"):
        return f"{number:,}"
    if how == "ordinal":
        tens = number // 10 % 10
        return what + {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if tens != 1 else 0, "th")
    return what


def _element(match: regex.Match[str]) -> str:
    name = match["name"].lower().rpartition(":")[2]
    marked = match["close"] or match["empty"] or "=" in (match["attributes"] or "")
    marked = bool(marked) or _has_other_half(match, name)
    if name in _APART and (marked or name not in _EITHER):
        return ", "
    if name in _SILENT and name not in _EITHER:
        return ""
    if marked:
        return "" if name in _SILENT | _EITHER or ":" in match["name"] else " "
    return f" {match['name']}{match['attributes'] or ''} "


def _has_other_half(match: regex.Match[str], name: str) -> bool:
    return f"</{name}" in match.string[match.end() :].lower()


def act(spoken: TracedText) -> None:
    """Take the elements out of a text, in place, and do what they ask for."""
    if "<" not in spoken.text:
        return
    spoken.sub(_SUBSTITUTE, lambda match: html.unescape(match["alias"]), hold=Hold.SAID)
    spoken.sub(_SAY_AS, _say_as)
    spoken.sub(_SPELL, lambda match: _one_by_one(match["what"]))
    spoken.sub(_EMPHASIS, "[emphasis] ", hold=Hold.SAID)
    spoken.sub(_COMMENT, "")
    spoken.sub(_ELEMENT, _element)
