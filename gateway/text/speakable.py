"""Raw text of an LLM to what one would say: Markdown, code, emoji, URLs, HTML.

Works on one segment at a time, so it never relies on a mark's other half being there.
Free-form tags (`[whispering]`) and speaker tags (`<|speaker:1|>`) are never changed.
"""

from __future__ import annotations

import html
from collections.abc import Mapping

import regex

from gateway.text.elements import act
from gateway.text.normalize import normalize
from gateway.text.pronounce import PronunciationTable
from gateway.text.rewriting import Hold, TracedText
from gateway.text.tags import (
    BREAK_TAG,
    KEPT_TAGS,
    PAUSE_TAG,
    SPEAKER_TAG,
    THOUGHT_CLOSE,
    THOUGHT_OPEN,
)
from gateway.types import Read

# Whole lines.
_LINE_RULES = (
    (r"^[ \t]*(?:`{3,}|~{3,})[^`\n]*$", ""),  # a fence
    (r"`{3,}[^`\s]*[ \t]*$", ""),  # a fence opened at a line's end
    (r"^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*$", ""),  # table rule
    (r"^[ \t]*(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,}|=+)$", ""),  # rules, underlines
    (r"^[ \t]*\[\^?[^\]\n]+\]:[ \t]*(?=<?\w+:|\S+\.)\S.*$", ""),  # a link's definition
)
_LINE_START_RULES = (
    (r"^[ \t]*(?:>[ \t]?)+", ""),
    (
        r"^[ \t]*(?:[-*+•‣◦▪●–—][ \t]+(?!\d+(?:\.\d+)?\s?(?:°|º|degrees?\b)))"  # - 5 degrees
        r"(?:\[[ xX]\][ \t]+)?",
        "",
    ),
    (r"^[ \t]*#{1,6}[ \t]+(?P<keep>.*?)(?:[ \t]+#+)?[ \t]*$", "keep"),
)
_URL_BODY = r"[^\s<>\"'`\[\]{}|\\^、。，！？）」』]"
_URL = regex.compile(
    rf"(?:https?|ftp)://(?P<host1>[^\s/?#<>\"'()\[\]、。，]+)(?P<rest1>{_URL_BODY}*)"
    r"|(?<![\p{L}\p{N}@./])www\.(?P<host2>[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+)"
    rf"(?P<rest2>(?:[/?#]{_URL_BODY}*)?)",
    regex.IGNORECASE,
)
_LINK_RULES = (
    (r"!?\[(?P<keep>[^\[\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)", "keep"),  # link, image
    (r"!?\[(?P<keep>[^\[\]\n]*)\]\[[^\[\]\n]*\]", "keep"),
    (r"<(?P<keep>(?:https?://|mailto:)?[^\s<>]+\.[^\s<>]+)>", "keep"),  # autolink
)
_INLINE_RULES = (
    (r"\[\^?\d{1,3}\]", ""),  # footnote mark, citation
    (r"\[\^[^\[\]\n]+\]", ""),
    (r"\[[ xX]\](?=\s)", ""),
    (r"(?<=\p{L})`(?=\p{Ll})", "'"),  # typed for an apostrophe
    (r"`+", ""),
    (r"^[ \t]*\||\|\s*\Z", ""),  # a table row's edges, then its bars
    (r"(?<=[ \t])\|(?=[ \t])|\|[ \t]*$", ","),
    (r"~~|==(?=\S)|(?<=\S)==", ""),
    (r"\\(?P<keep>[\\`*_{}\[\]()#+\-.!~>|$])", "keep"),
    (r"\*{2,}", ""),
    (r"(?<![\p{L}\p{N}*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\p{L}\p{N}*])", ""),
    (r"(?<![\p{L}\p{N}])_{1,3}(?=\S)|(?<=\S)_{1,3}(?![\p{L}\p{N}])", ""),
    (r"(?<=[\p{L}\p{N}])_+(?=[\p{L}\p{N}])(?![\w.+-]*@)", " "),
    (r"(?<=\p{L}{4}|[.,;!?”\"])[¹²³⁰⁴-⁹]{1,3}(?![\p{L}\p{N}])", ""),  # a footnote's mark
)
# LaTeX: the signs around it go, what they hold is read. A price has no partner that closes it.
_MATHEMATICS_RULES = (
    (r"\\begin\{[^{}]*\}|\\end\{[^{}]*\}", ""),
    (r"\$\$(?P<keep>[^$]+)\$\$", "keep"),
    (
        r"(?<![\w$\\])\$(?P<keep>(?=[^$\n]*[\\^_={}+]|[A-Za-z]\$)[^\s$\d][^$\n]*(?<!\s))"
        r"\$(?!\w)",
        "keep",
    ),
    (r"\\[(\[](?P<keep>[^\n]*?)\\[)\]]", "keep"),
)
_CHARSET_SLIPS = str.maketrans("\x85\x91\x92\x93\x94\x96\x97", "…‘’“”–—")  # of Windows-1252
_EMOJI = regex.compile(
    r"(?P<keep>[0-9#*])\ufe0f?\u20e3"
    r"|[\U0001f1e6-\U0001f1ff]{1,2}"
    r"|(?:(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}(?<![©®™‼⁉ℹ↔-↪〰〽㊗㊙]))"
    r"|\p{Extended_Pictographic}(?=\ufe0f))"
    r"(?:[\ufe0e\ufe0f]|\p{Emoji_Modifier}|[\U000e0020-\U000e007f]"
    r"|\u200d(?=\p{Extended_Pictographic})\p{Extended_Pictographic})*"
)
_EMOTICON = regex.compile(
    r"(?<!\S)(?:[:;=]['’]?-?[)(DPpOo3/\\|\]\[*]+|[xX]D+|<3+|\^_+\^|¯\\_\(ツ\)_/¯)(?!\S)"
)
_ARROW = regex.compile(r"(?<!\s)\s*(?:[←-↓⇐-⇓⟵-⟷➔-➾]|(?<!\S)[-=]+>(?!\S))\s*")
_LINKS = tuple((regex.compile(pattern, regex.MULTILINE), new) for pattern, new in _LINK_RULES)
_RULES = tuple((regex.compile(pattern, regex.MULTILINE), new) for pattern, new in _INLINE_RULES)
_MATHEMATICS = tuple((regex.compile(pattern), new) for pattern, new in _MATHEMATICS_RULES)
_LINES = tuple((regex.compile(pattern, regex.MULTILINE), new) for pattern, new in _LINE_RULES)
_LINE_STARTS = tuple(
    (regex.compile(pattern, regex.MULTILINE), new) for pattern, new in _LINE_START_RULES
)
# A stage direction: one pair of asterisks, or brackets.
_DIRECTION = regex.compile(
    r"(?<![*\\\p{L}\p{N}])\*(?![\s*])[^*\n]{1,80}(?<!\s)\*(?![*\p{L}\p{N}])"
    r"|(?<!\])\([^()\n]{1,80}\)"
)
_ENTITY = regex.compile(r"&(?:\#\d{1,7}|\#x[0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
_SPACES = regex.compile(r"[ \t\u00a0]{2,}|[ \t]*\s*\n\s*")
_SPACE_BEFORE_MARK = regex.compile(r"(?<![ \t])[ \t]+(?P<keep>[,.;:!?](?=\s|$))")
_COMMAS = regex.compile(r"(?<![^\s]),\s*|(?P<keep>[,.;:!?])(?:\s*,)+")
_CONTROL = regex.compile(r"[\p{Cc}--[\t\n\v\f\r]]|[\ufeff\u200b\u2060\u00ad]", regex.VERSION1)
_WORDLESS = regex.compile(r"[\s\p{P}\p{C}\p{M}]*")
_SAYABLE = regex.compile(r"[\p{L}\p{N}∑∫√∞≈≠≤≥]")
_EDGE_COMMAS = regex.compile(r"^[\s,]+|(?<=[.!?:;])[\s,]+$")

_HOST_NOISE = regex.compile(r"^www\.|(?<!localhost)(?<!\.\d{1,3}):\d+$", regex.IGNORECASE)
_TAIL = regex.compile(r"[?#]")
_PATH_WORD = regex.compile(r"\p{L}{1,20}(?:-\p{L}{1,20}){0,2}")
_MARKS = str.maketrans("", "", "*_~")

MAX_PATH_WORDS = 2


def _emoji(match: regex.Match[str]) -> str:
    """Nothing is said of it, but it parts the words on its two sides."""
    before = match.string[match.start() - 1 : match.start()]
    behind = match.string[match.end() : match.end() + 1]
    return match["keep"] or (" " if before.isalnum() and behind.isalnum() else "")


def _keep(match: regex.Match[str]) -> str:
    return str(match["keep"])


def say_url(match: regex.Match[str]) -> str:
    """What one says of a URL: the host, and a short path made of words; the rest is noise."""
    address = (match["host1"] or match["host2"]) + (match["rest1"] or match["rest2"] or "")
    end = len(address)
    while end > 0 and (address[end - 1] in ".,;:!?*_~'" or _closes_nothing(address[:end])):
        end -= 1  # punctuation of the sentence around it
    host, _, rest = address[:end].partition("/")
    host = _HOST_NOISE.sub("", _TAIL.split(host)[0].rpartition("@")[2])
    path = _TAIL.split(rest)[0].strip("/")
    words = path.split("/")
    if path and len(words) <= MAX_PATH_WORDS and all(map(_PATH_WORD.fullmatch, words)):
        host += "/" + path
    return host + address[end:].translate(_MARKS)


def _closes_nothing(address: str) -> bool:
    return address.endswith(")") and address.count(")") > address.count("(")


def rewrite(spoken: TracedText, at_line_start: bool) -> None:
    """Apply every rule of this module, in place."""
    for pattern, new in _LINES if at_line_start else _LINES[1:2]:
        spoken.sub(pattern, new)
    if at_line_start or "\n" in spoken.text:
        for pattern, new in _LINE_STARTS:
            spoken.sub(pattern, _keep if new == "keep" else new)
    spoken.sub(_EMOTICON, "")
    for pattern, new in _LINKS:
        spoken.sub(pattern, _keep if new == "keep" else new)
    spoken.sub(_URL, say_url, hold=Hold.SETTLED)
    act(spoken)
    for pattern, new in _MATHEMATICS:
        spoken.sub(pattern, _keep if new == "keep" else new)
    for pattern, new in _RULES:
        spoken.sub(pattern, _keep if new == "keep" else new)
    spoken.sub(_EMOJI, _emoji)
    spoken.sub(_ARROW, ", ")
    spoken.sub(_ENTITY, lambda match: html.unescape(match[0]))
    spoken.sub(_CONTROL, "")


class SegmentWriter:
    """Turns raw segments into what the engine gets; remembers who is speaking.

    A segment of a multi-speaker text begins with the tag of the speaker it belongs to, also when
    the tag was in an earlier segment. `style`: words of a free-form tag that each segment gets.
    """

    def __init__(
        self,
        *,
        speakable: bool = True,
        read: Read | None = None,
        speak_directions: bool = True,
        language: str = "en",
        pronunciations: Mapping[str, str] | None = None,
        style: str = "",
    ) -> None:
        self._style = f"[{style}] " if style else ""
        self._speakable = speakable
        self._read = read
        self._speak_directions = speak_directions
        self._language = language
        self._table = PronunciationTable(pronunciations or {})
        self._tag = ""

    def speak(self, raw: str, *, at_line_start: bool, silent: bool = False) -> TracedText:
        """The spoken form; its text is "" if there is nothing to say."""
        spoken = TracedText(raw.translate(_CHARSET_SLIPS))
        if silent or self._speakable and not _SAYABLE.search(raw):
            spoken.clear()
            return spoken
        for tag in (BREAK_TAG, PAUSE_TAG, THOUGHT_OPEN, THOUGHT_CLOSE):
            spoken.sub(tag, " ")
        spoken.freeze(KEPT_TAGS)
        if not self._speak_directions:
            spoken.sub(_DIRECTION, " ")
        if self._speakable:
            rewrite(spoken, at_line_start)
        self._table.apply(spoken)
        if self._read is not None:
            normalize(spoken, self._read, self._language)
        if self._speakable:
            spoken.sub(_SPACES, " ")
            spoken.sub(_SPACE_BEFORE_MARK, lambda match: match["keep"])
            spoken.sub(_COMMAS, lambda match: match["keep"] or "")
            spoken.sub(_EDGE_COMMAS, "")
        spoken.strip()
        tags = SPEAKER_TAG.findall(spoken.text)
        words = SPEAKER_TAG.sub("", spoken.text)
        sayable = _SAYABLE.search(words) if self._speakable else not _WORDLESS.fullmatch(words)
        if not sayable:
            spoken.clear()
        else:
            own = SPEAKER_TAG.match(spoken.text)
            spoken.insert(own.end() if own else 0, self._style if own else self._tag + self._style)
        if tags:
            self._tag = tags[-1]
        return spoken
