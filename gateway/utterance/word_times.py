"""Words of a segment, and when each of them is spoken.

Two sources of times: the model's alignment heads, which name the text token that each frame speaks
(`from_tokens`), and, without them, a guess in proportion to how long each word is to say
(`proportional`). Both give monotonic times that cover the segment. What is spoken may differ from
what was written (`Segment.spoken`), so times are found for the spoken words and carried over to
the written ones (`carry_over`).
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# What the model obeys and does not say: [free-form tags], <|speaker:0|>, <break time="1s"/>.
_TAG = r"\[[^\[\]\n]*\]|<[|/a-zA-Z][^<>\n]*>"

# Scripts written without spaces: every character counts as a word of its own.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Han
)
_TOKEN = re.compile(rf"(?P<tag>{_TAG})|(?P<char>[{_UNSPACED}])|(?P<run>[^\s{_UNSPACED}\[<]+|[\[<])")

_PAUSES = {",": 2.0, ";": 3.0, ":": 3.0, "\u3001": 2.0, "\uff0c": 2.0, "\u060c": 2.0}
_STOP_PAUSE = 4.0
_STOPS = frozenset(".!?\u2026\u3002\uff01\uff1f\u0964\u061f\u06d4")
_CLOSERS = "\"')]}*_\u00bb\u2019\u201d\u300d\u300f\uff09"
_DIGIT_WEIGHT = 3.0  # a digit is a word
_UNSPACED_WEIGHT = 2.5  # mostly a syllable
_WORD_WEIGHT = 1.0  # what a word costs beside its letters


@dataclass(frozen=True, slots=True)
class WordSpan:
    """Characters `start`..`end` of a text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class TimedSpan:
    """A word and where its sound lies in the segment, in samples."""

    word: WordSpan
    start_samples: int
    end_samples: int


def split_words(text: str, offset: int = 0) -> list[WordSpan]:
    """Cut a text into words, punctuation attached. `offset` is added to every position.

    Tags are no words; a run without a letter or digit joins the word before it.
    """
    spans: list[tuple[int, int]] = []
    glue = False  # the next token touches the one before and may join it
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if match.lastgroup == "tag":
            glue = False
            continue
        touching = glue and bool(spans) and spans[-1][1] == start
        glue = True
        if _is_unspaced_mark(match):
            if touching:
                spans[-1] = (spans[-1][0], end)
        elif any(c.isalnum() for c in match[0]):
            spans.append((start, end))
        elif touching:
            spans[-1] = (spans[-1][0], end)
        else:
            glue = False
    return [WordSpan(offset + a, offset + b, text[a:b]) for a, b in spans]


def _is_unspaced_mark(match: re.Match[str]) -> bool:
    """A vowel sign or tone mark belongs to the character before it."""
    return match.lastgroup == "char" and not match[0].isalnum()


def weigh(word: str) -> tuple[float, float]:
    """How long a word takes to say, and how long the pause after it is, in arbitrary units."""
    letters = 0.0
    for char in word:
        if char.isdigit():
            letters += _DIGIT_WEIGHT
        elif char.isalpha():
            letters += _UNSPACED_WEIGHT if _is_unspaced(char) else 1.0
    last = word.rstrip(_CLOSERS)[-1:]
    pause = _STOP_PAUSE if last in _STOPS else _PAUSES.get(last, 0.0)
    return letters + _WORD_WEIGHT, pause


_UNSPACED_RE = re.compile(f"[{_UNSPACED}]")


def _is_unspaced(char: str) -> bool:
    return char > "\u0e00" and _UNSPACED_RE.match(char) is not None


def total_weight(text: str) -> float:
    """The weight of a whole text; 0 without words."""
    return sum(sum(weigh(word.text)) for word in split_words(text))


def proportional(words: Sequence[WordSpan], samples: int) -> list[TimedSpan]:
    """Share `samples` among the words by weight. The last pause does not count."""
    weights = [weigh(word.text) for word in words]
    total = sum(a + b for a, b in weights) - (weights[-1][1] if weights else 0.0)
    timed: list[TimedSpan] = []
    at = 0.0
    for word, (length, pause) in zip(words, weights, strict=True):
        start, end = round(samples * at / total), round(samples * (at + length) / total)
        timed.append(TimedSpan(word, start, min(end, samples)))
        at += length + pause
    return timed


def from_tokens(
    words: Sequence[WordSpan],
    text_tokens: Sequence[int],
    token_spans: Sequence[tuple[int, int]],
    frame_samples: int,
) -> list[TimedSpan]:
    """Times from the alignment heads.

    `text_tokens` [frames]: the token each frame speaks; `token_spans`: characters of each token in
    the text that `words` came from. Attention slips now and then; speech does not go back. So a
    frame that jumps off alone is ignored, and a word begins with the first frame that has reached
    it. Words that no frame has reached get no time, at the end.
    """
    positions: list[int] = []  # per frame: the end of the text token it speaks
    for token in text_tokens:
        before = positions[-1] if positions else 0
        positions.append(token_spans[token][1] if 0 <= token < len(token_spans) else before)
    reached: list[int] = []  # per frame: how far into the text speech has come
    for i in range(len(positions)):
        around = positions[max(i - 1, 0) : i + 2]
        calm = sorted(around)[1] if len(around) == 3 else min(around)
        reached.append(max(calm, reached[-1] if reached else 0))
    starts = [bisect.bisect_left(reached, word.start + 1) for word in words]
    bounds = [*starts, len(reached)]
    return [
        TimedSpan(word, bounds[i] * frame_samples, max(bounds[i], bounds[i + 1]) * frame_samples)
        for i, word in enumerate(words)
    ]


def carry_over(
    spoken: Sequence[TimedSpan], written: Sequence[WordSpan], raw_index: Callable[[int], int]
) -> list[TimedSpan]:
    """Give the written words the times of the spoken ones.

    `raw_index` maps a position in the spoken text to one in the text that `written` came from. A
    written word takes the time of all spoken words that come from it; one that none comes from
    ("km" in "3 km", spoken as one replacement) shares the time of the word before it.
    """
    if not written:
        return []
    ends = [word.end for word in written]
    taken: list[tuple[int, int] | None] = [None] * len(written)
    for twin in spoken:
        at = min(bisect.bisect_right(ends, raw_index(twin.word.start)), len(written) - 1)
        before = taken[at]
        taken[at] = (before[0] if before else twin.start_samples, twin.end_samples)
    timed: list[TimedSpan] = []
    at, start = 0, 0
    while at < len(written):
        group = at + 1
        while group < len(written) and taken[group] is None:
            group += 1
        begin, end = taken[at] or (start, start)
        if group == at + 1:
            timed.append(TimedSpan(written[at], begin, end))
            at, start = group, end
            continue
        timed += [
            TimedSpan(t.word, begin + t.start_samples, begin + t.end_samples)
            for t in proportional(written[at:group], end - begin)
        ]
        at, start = group, end
    return timed


class SpeechRate:
    """How long a unit of weight takes to say: learnt from what is finished, for what is not."""

    def __init__(self, ms_per_weight: float = 60.0) -> None:
        self.ms_per_weight = ms_per_weight

    def observe(self, weight: float, duration_ms: float) -> None:
        """Learn from a finished segment."""
        if weight > 0.0 and duration_ms > 0.0:
            self.ms_per_weight += 0.3 * (duration_ms / weight - self.ms_per_weight)

    def estimate_ms(self, weight: float) -> float:
        """How long a text of this weight will take."""
        return weight * self.ms_per_weight
