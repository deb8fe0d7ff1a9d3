"""The segmenter's nouns: what it is told, and what it gives back."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Cut(enum.Enum):
    """Why a segment ends where it ends; tells the audio chain what pause is natural there."""

    LINE = "line"  # newline, bullet, heading, change of speaker, <break/>
    SENTENCE = "sentence"
    CLAUSE = "clause"
    LENGTH = "length"  # too long: cut at a word, syllable or grapheme
    DELAY = "delay"  # `max_buffer_delay_ms` or `end_delay_ms` has passed
    FLUSH = "flush"


@dataclass(frozen=True, slots=True)
class SegmentPolicy:
    """Knobs. Lengths are in letters of an alphabetic script; a kana or a Hangul syllable counts 2,
    a Han character 3, because that is how long they are in speech.

    Raises ValueError when a value is out of range.
    """

    mode: str = "sentence"  # "clause": commas, semicolons, colons and dashes end segments too
    first_mode: str = "clause"  # of an utterance's first segment, so that sound starts early
    first_min_chars: int = 12
    min_chars: int = 24  # shorter sentences are joined with the next one
    lead_growth: float = 0.5  # later segments grow by what this part of the lead takes to speak
    max_chars: int = 240  # longer ones are cut at the best place inside
    # text without an end mark is spoken after that long, as far as it is settled; 0: all at once
    max_buffer_delay_ms: float = 1500
    end_delay_ms: float = 250  # ... and a sentence that looks complete after this long without text
    speakable: bool = True  # Markdown, code, emoji and bare URLs become something one would say
    normalize: bool = False  # figures and short forms become words
    language: str = "en"  # of `normalize`
    style: str = ""  # words of a free-form tag in front of every segment
    speak_thoughts: bool = False  # what stands in <think>, <thinking>, <reasoning>
    speak_directions: bool = True  # *waves* and (laughs)

    def __post_init__(self) -> None:
        for name in ("mode", "first_mode"):
            value = getattr(self, name)
            if value not in ("sentence", "clause"):
                raise ValueError(f"{name}: expected 'sentence' or 'clause', got {value!r}")
        if self.max_chars < 8:
            raise ValueError(f"max_chars: expected at least 8, got {self.max_chars}")
        for name in ("first_min_chars", "min_chars"):
            value = getattr(self, name)
            if not 0 <= value <= self.max_chars:
                raise ValueError(f"{name}: expected 0 to max_chars={self.max_chars}, got {value}")
        for name in ("max_buffer_delay_ms", "end_delay_ms", "lead_growth"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}: expected 0 or more, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece to speak. Joined, the `text`s give back the input, character for character.

    `start`, `end`: character offsets of `text` in everything pushed so far.
    `spoken`: what the engine gets; "" if there is nothing to say (a silent success).
    `spoken_map`: ascending (index in `spoken`, index in `text`) pairs; from each pair on, both run
    in step, but not past the next pair's. See `raw_index`.
    `pause_ms`: exact silence after this segment, from `<break time="300ms"/>` at its end.
    """

    text: str
    start: int
    end: int
    spoken: str
    spoken_map: tuple[tuple[int, int], ...]
    cut: Cut
    pause_ms: int = 0

    def __str__(self) -> str:
        return f"[{self.start}:{self.end}] {self.cut.value} {self.spoken!r} +{self.pause_ms}ms"

    def raw_index(self, spoken_index: int) -> int:
        """The index in `text` that belongs to an index in `spoken` (0 to len(spoken)).

        Exact at the start of every stretch that was kept or replaced, and never decreasing.
        """
        if spoken_index >= len(self.spoken):
            return len(self.text)
        raw = 0
        limit = len(self.text)
        for spoken_from, raw_from in self.spoken_map:
            if spoken_from > spoken_index:
                limit = raw_from
                break
            raw = raw_from + spoken_index - spoken_from
        return min(raw, limit)
