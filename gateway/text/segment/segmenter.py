"""The segmenter itself: takes characters, asks for judgements, gives out segments."""

from __future__ import annotations

from collections.abc import Mapping

import regex

from gateway.text.segment.arriving import settled
from gateway.text.segment.boundary import (
    Place,
    Verdict,
    is_candidate,
    judge,
    looks_complete,
)
from gateway.text.segment.chars import weight_of
from gateway.text.segment.length import forced_cut
from gateway.text.segment.pace import Pace
from gateway.text.segment.policy import Cut, Segment, SegmentPolicy
from gateway.text.segment.structure import Structure
from gateway.text.speakable import SegmentWriter
from gateway.types import ContextSettings, Read

_CUTS = {
    Verdict.CLAUSE: Cut.CLAUSE,
    Verdict.PHRASE: Cut.CLAUSE,
    Verdict.SENTENCE: Cut.SENTENCE,
    Verdict.LINE: Cut.LINE,
}
# A letter after a letter decides nothing, so runs of them are taken at once.
_LETTERS = regex.compile(r"(?<=[A-Za-z])[A-Za-z]+")


class Segmenter:
    """One utterance's text, incrementally cut into segments. Times are in ms on any one clock.

    All positions are indices in `_text`, the present segment's text so far.
    """

    def __init__(
        self,
        policy: SegmentPolicy,
        pronunciations: Mapping[str, str] | None = None,
        read: Read | None = None,
    ) -> None:
        """`read`: what `policy.normalize` is done with; without one it does nothing."""
        self._max_chars = policy.max_chars
        self._writer = SegmentWriter(
            speakable=policy.speakable,
            read=read if policy.normalize else None,
            language=policy.language,
            speak_directions=policy.speak_directions,
            pronunciations=pronunciations or {},
            style=policy.style,
        )
        self._structure = Structure(policy.speakable, policy.speak_thoughts)
        self._pace = Pace(policy)
        self._impatient = policy.max_buffer_delay_ms == 0
        self._text = ""
        self._weight = 0
        self._start = 0  # of _text in everything pushed
        self._boundaries: list[tuple[int, Verdict, int]] = []  # position, kind, weight before it
        self._pending: int | None = None  # a place whose judgement waits for more text
        self._sentence_start = 0  # -1: the present sentence began in an earlier segment
        # Whether the present sentence began in lower case; None: no letter of it was seen yet.
        self._lower_style: bool | None = None

    @property
    def buffered(self) -> str:
        """What was pushed and is not yet part of a segment."""
        return self._text

    def set_lead_ms(self, lead_ms: float) -> None:
        """How much sent audio the listener has yet to hear; steers the length of later segments."""
        self._pace.report_lead(lead_ms)

    def push(self, text: str, now_ms: float) -> list[Segment]:
        """Take text, cut anywhere; return the segments it completes."""
        segments: list[Segment] = []
        if text:
            if self._pace.is_overdue(now_ms) and not self._settled():
                self._pace.forget_age()
            self._pace.text_arrived(self._start + len(self._text), now_ms)
        index = 0
        while index < len(text):
            while (position := self._too_long()) is not None:
                segments.append(self._emit(position, Cut.LENGTH))
            run = self._letters(text, index)
            if run:
                self._text += text[index : index + run]
                self._weight += run
                index += run
                continue
            cut = self._take(text[index])
            index += 1
            if cut is not None:
                segments.append(self._emit(*cut))
        return segments

    def flush(self) -> list[Segment]:
        """Everything buffered, now."""
        return self._cut_all(Cut.FLUSH)

    def tick(self, now_ms: float) -> list[Segment]:
        """What must be spoken by `now_ms`: all that is settled, of a sentence that is not whole."""
        due_ms = self.next_deadline_ms()
        if due_ms is None:
            return []
        self._pace.advance(now_ms)
        if now_ms < due_ms:
            return []
        position = self._settled()
        if position == len(self._text):
            return self._cut_all(Cut.DELAY)
        return [self._emit(position, Cut.DELAY)]

    def next_deadline_ms(self) -> float | None:
        """The earliest time at which `tick` would return something; None: never, as things are."""
        position = self._settled()
        if self._structure.is_silent or not self._text[:position].strip():
            return None
        whole = position == len(self._text)
        complete = whole and (self._structure.break_end >= 0 or looks_complete(self._text))
        return self._pace.due_ms(complete)

    # --- taking characters ------------------------------------------------------------------------

    def _letters(self, text: str, index: int) -> int:
        """How many characters from text[index] on need no look at all."""
        if self._pending is not None or self._structure.span is not None:
            return 0
        if self._lower_style is None or not self._text or index == 0:
            return 0
        run = _LETTERS.match(text, index)
        return 0 if run is None else max(0, min(len(run[0]), self._max_chars - self._weight))

    def _take(self, char: str) -> tuple[int, Cut] | None:
        """Append one character; where to cut, if that is decided now."""
        self._text += char
        self._weight += weight_of(char)
        text, index = self._text, len(self._text) - 1
        in_span = self._structure.span is not None
        forced = self._structure.feed(text, index)
        if self._lower_style is None and char.isalpha():
            self._lower_style = char.islower()
        if forced is not None:
            return forced, Cut.LINE
        if self._pending is None and not in_span and is_candidate(text, index):
            if self._structure.may_start(text):
                self._pending = index
        return self._judge_pending(final=False)

    def _too_long(self) -> int | None:
        if self._weight <= self._max_chars:
            return None
        is_silent = self._structure.is_silent
        return forced_cut(self._text, self._weight, self._boundaries, self._max_chars, is_silent)

    def _judge_pending(self, final: bool) -> tuple[int, Cut] | None:
        position = self._pending
        if position is None:
            return None
        text, start = self._text, max(self._sentence_start, self._structure.line_start)
        verdict = judge(Place(text, position, start, bool(self._lower_style), final))
        if verdict is Verdict.WAIT:
            return None
        self._pending = None
        if verdict is Verdict.NONE:
            return None
        if verdict >= Verdict.SENTENCE:
            self._begin_sentence(position)
        weight = self._weight - sum(map(weight_of, text[position:]))
        self._boundaries.append((position, verdict, weight))
        return (position, _CUTS[verdict]) if self._pace.accepts(verdict, weight) else None

    def _begin_sentence(self, position: int) -> None:
        self._sentence_start = position
        letter = next((char for char in self._text[position:] if char.isalpha()), None)
        self._lower_style = None if letter is None else letter.islower()

    # --- giving out -------------------------------------------------------------------------------

    def _settled(self) -> int:
        """How much of the buffered text can be spoken although nothing says that it is whole."""
        if self._impatient:
            return len(self._text)
        span = self._structure.span
        if span is not None:
            return settled(self._text[: span.start]) if span.start else 0
        return settled(self._text)

    def _cut_all(self, why: Cut) -> list[Segment]:
        segments: list[Segment] = []
        cut = self._judge_pending(final=True)
        if cut is not None:
            segments.append(self._emit(*cut))
        if self._text:
            segments.append(self._emit(len(self._text), why))
        return segments

    def _emit(self, position: int, cut: Cut) -> Segment:
        structure = self._structure
        raw, rest = self._text[:position], self._text[position:]
        spoken = self._writer.speak(
            raw, at_line_start=structure.segment_at_line_start, silent=structure.is_silent
        )
        paused = 0 <= structure.break_end <= position
        segment = Segment(
            text=raw,
            start=self._start,
            end=self._start + position,
            spoken=spoken.text,
            spoken_map=spoken.breakpoints(),
            cut=cut,
            pause_ms=structure.pause_ms if paused else 0,
        )
        self._rebase(position, rest)
        self._pace.given_out(self._start, sum(map(weight_of, spoken.text)))
        if not rest:
            self._pace.forget_age()
        if cut not in (Cut.CLAUSE, Cut.LENGTH):
            self._begin_sentence(0)
        return segment

    def _rebase(self, position: int, rest: str) -> None:
        """Make every position count from the new segment's start."""
        self._text = rest
        self._start += position
        self._weight = sum(map(weight_of, rest))
        before = next((weight for at, _, weight in self._boundaries if at == position), 0)
        self._boundaries = [
            (at - position, verdict, weight - before)
            for at, verdict, weight in self._boundaries
            if at > position
        ]
        if self._pending is not None:
            self._pending = self._pending - position if self._pending > position else None
        self._sentence_start = max(self._sentence_start - position, -1)
        self._structure.rebase(position)


def segmenter_for(settings: ContextSettings, read: Read | None = None) -> Segmenter:
    """A new segmenter, for one context. `read`: what `normalize` is done with."""
    policy = SegmentPolicy(
        mode=settings.segment_mode,
        max_buffer_delay_ms=settings.max_buffer_delay_ms,
        speakable=settings.speakable,
        normalize=settings.normalize,
        language=settings.language,
        style=settings.style,
        speak_thoughts=settings.speak_thoughts,
        speak_directions=settings.speak_directions,
    )
    return Segmenter(policy, settings.pronunciations, read)
