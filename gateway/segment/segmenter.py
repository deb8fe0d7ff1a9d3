"""The segmenter itself: takes characters, asks for judgements, gives out segments."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace

from gateway.segment.boundary import Place, Verdict, is_candidate, judge, looks_complete, looks_torn
from gateway.segment.chars import NEWLINE, Kind, kind_of, weight_of
from gateway.segment.length import forced_cut
from gateway.segment.policy import SPOKEN_CHARS_PER_S, Cut, Segment, SegmentPolicy
from gateway.segment.spans import (
    BREAK_TAG,
    FENCE_CLOSE,
    FENCE_LATE,
    FENCE_LINE,
    FENCE_OPEN,
    SPEAKER_TAG,
    Span,
    gives_up,
    open_span,
    pause_ms,
)
from gateway.speakable import Speaker

LOW_LEAD_MS = 500
"""Below this lead a clause is worth cutting: the listener would hear a gap."""
IDLE_MS = 200
"""Text that has not grown for so long does not end in half a word."""
PHRASE_CHARS = 40
"""A space between Thai, Lao, Khmer phrases ends a segment of at least this length."""

_CUTS = {
    Verdict.WORD: Cut.LENGTH,
    Verdict.CLAUSE: Cut.CLAUSE,
    Verdict.PHRASE: Cut.CLAUSE,
    Verdict.SENTENCE: Cut.SENTENCE,
    Verdict.LINE: Cut.LINE,
}


class Segmenter:
    """One utterance's text, incrementally cut into segments. Times are in ms on any one clock.

    All positions below are indices in `_text`, the present segment's text.
    """

    def __init__(
        self, policy: SegmentPolicy, pronunciations: Mapping[str, str] | None = None
    ) -> None:
        self._policy = policy
        self._speaker = Speaker(
            speakable=policy.speakable,
            pronunciations=pronunciations or {},
        )
        self._text = ""
        self._weight = 0
        self._start = 0  # of _text in everything pushed
        self._boundaries: list[tuple[int, Verdict, int]] = []  # position, kind, weight before it
        self._pending: int | None = None  # a place whose judgement waits for more text
        self._span: Span | None = None
        self._segment_at_line_start = True
        self._line_start = 0  # -1: the present line began in an earlier segment
        self._in_fence = False
        self._is_code = False  # the present segment is fenced code
        self._pause_ms = 0
        self._break_end = -1
        self._lower_style = False
        self._style_known = False
        self._spoken_segments = 0
        self._lead_ms: float | None = None
        self._arrivals: deque[tuple[int, float]] = deque()  # offset, time of each buffered piece
        self._last_push_ms = 0.0

    @property
    def buffered(self) -> str:
        """What was pushed and is not yet part of a segment."""
        return self._text

    def set_lead_ms(self, lead_ms: float) -> None:
        """How much sent audio the listener has yet to hear; steers the length of later segments."""
        self._lead_ms = max(0.0, lead_ms)

    def push(self, text: str, now_ms: float) -> list[Segment]:
        """Take text, cut anywhere; return the segments it completes."""
        segments: list[Segment] = []
        if text:
            self._arrivals.append((self._start + len(self._text), now_ms))
            self._last_push_ms = now_ms
        for char in text:
            while self._weight >= self._policy.max_chars:
                position = forced_cut(
                    self._text, self._boundaries, self._policy.max_chars, self._in_fence
                )
                if position is None:
                    break
                segments.append(self._emit(position, Cut.LENGTH))
            cut = self._take(char)
            if cut is not None:
                segments.append(self._emit(*cut))
        return segments

    def flush(self) -> list[Segment]:
        """Everything buffered, now."""
        segments: list[Segment] = []
        if self._pending is not None:
            cut = self._judge_pending(final=True)
            if cut is not None:
                segments.append(self._emit(*cut))
        if self._text:
            segments.append(self._emit(len(self._text), Cut.FLUSH))
        return segments

    def tick(self, now_ms: float) -> list[Segment]:
        """What must be spoken by `now_ms` although its end is not certain."""
        whole_ms, part_ms, part = self._deadlines()
        if whole_ms is not None and now_ms >= whole_ms:
            segments = self.flush()
            last = segments[-1]
            if last.cut is Cut.FLUSH:
                segments[-1] = replace(last, cut=Cut.DELAY)
            return segments
        if part_ms is not None and now_ms >= part_ms:
            return [self._emit(part, Cut.DELAY)]
        return []

    def next_deadline_ms(self) -> float | None:
        """The earliest time at which `tick` would return something; None: never, as things are."""
        whole_ms, part_ms, _ = self._deadlines()
        times = [time for time in (whole_ms, part_ms) if time is not None]
        return min(times) if times else None

    # --- taking characters ------------------------------------------------------------------------

    def _take(self, char: str) -> tuple[int, Cut] | None:
        """Append one character; where to cut, if that is decided now."""
        self._text += char
        self._weight += weight_of(char)
        text, index = self._text, len(self._text) - 1
        span = self._span
        if span is not None:
            cut = self._feed_span(span, index)
        else:
            cut = self._may_start(index)
            if not self._in_fence and not self._on_fence_line():
                self._span = open_span(text, index)
        if NEWLINE.match(char):
            self._end_line(index)
        if not self._style_known and char.isalpha():
            self._lower_style, self._style_known = char.islower(), True
        if cut is None and self._pending is not None:
            cut = self._judge_pending(final=False)
        return cut

    def _may_start(self, index: int) -> tuple[int, Cut] | None:
        """See whether a segment may, or must, start at the newest character."""
        if kind_of(self._text[index]) & (Kind.SPACE | Kind.EXTEND):
            return None
        leaves_code = self._is_code and not self._in_fence
        enters_code = self._in_fence and not self._is_code
        if self._break_end >= 0 or leaves_code or enters_code:
            return (index, Cut.LINE) if self._text[:index].strip() else None
        if self._pending is None and not self._in_fence and not self._on_fence_line():
            if is_candidate(self._text, index):
                self._pending = index
        return None

    def _feed_span(self, span: Span, index: int) -> tuple[int, Cut] | None:
        """Look for the end of the open stretch; tags that end a segment do so here."""
        text = self._text
        if text[index] != span.close:
            if gives_up(span, text, index):
                self._span = None
            return None
        self._span = None
        if span.close != ">":
            return None
        if BREAK_TAG.fullmatch(text, span.start, index + 1):
            self._pause_ms = pause_ms(text[span.start : index + 1])
            self._break_end = index + 1
        elif SPEAKER_TAG.fullmatch(text, span.start, index + 1) and text[: span.start].strip():
            return span.start, Cut.LINE
        return None

    def _on_fence_line(self) -> bool:
        return (
            self._policy.speakable
            and self._line_start >= 0
            and FENCE_LINE.match(self._text, self._line_start) is not None
        )

    def _end_line(self, index: int) -> None:
        """Follow fenced code blocks, line by line; text[index] is the newline."""
        start = max(self._line_start, 0)
        if not self._policy.speakable:
            pass
        elif self._in_fence:
            self._in_fence = FENCE_CLOSE.fullmatch(self._text, start, index) is None
        elif self._line_start >= 0 and FENCE_OPEN.fullmatch(self._text, start, index):
            self._in_fence = True
            self._is_code = not self._text[:start].strip()
        elif FENCE_LATE.fullmatch(self._text, start, index):
            self._in_fence = True
        self._line_start = index + 1

    # --- deciding ---------------------------------------------------------------------------------

    def _judge_pending(self, final: bool) -> tuple[int, Cut] | None:
        position = self._pending
        assert position is not None
        place = Place(self._text, position, self._line_start, self._lower_style, final)
        verdict = judge(place)
        if verdict is Verdict.WAIT:
            return None
        self._pending = None
        if verdict is Verdict.NONE:
            return None
        if verdict >= Verdict.SENTENCE:
            self._note_style(self._text[position:])
        weight = self._weight - sum(map(weight_of, self._text[position:]))
        self._boundaries.append((position, verdict, weight))
        return (position, _CUTS[verdict]) if self._accepts(verdict, weight) else None

    def _accepts(self, verdict: Verdict, weight: int) -> bool:
        """Whether the policy ends a segment of this length at such a boundary."""
        policy = self._policy
        if verdict is Verdict.LINE:
            return True
        first = self._spoken_segments == 0
        least = policy.first_min_chars if first else self._wanted_chars()
        if verdict is Verdict.SENTENCE:
            return weight >= least
        if verdict is Verdict.WORD or weight < least:
            return False
        short_of_audio = self._lead_ms is not None and self._lead_ms < LOW_LEAD_MS
        if verdict is Verdict.PHRASE and weight >= max(least, PHRASE_CHARS):
            return True
        return first or short_of_audio or policy.mode == "clause"

    def _wanted_chars(self) -> int:
        """The least length of a later segment: what half the listener's lead takes to speak."""
        policy = self._policy
        growth = (self._lead_ms or 0.0) / 1000 * SPOKEN_CHARS_PER_S / 2
        return min(policy.min_chars + int(growth), max(policy.min_chars, policy.max_chars // 2))

    def _note_style(self, sentence: str) -> None:
        letter = next((char for char in sentence if char.isalpha()), None)
        self._style_known = letter is not None
        if letter is not None:
            self._lower_style = letter.islower()

    def _deadlines(self) -> tuple[float | None, float | None, int]:
        """When everything buffered is due, when the part up to a word's end is, and that part."""
        if self._is_code or not self._text.strip():
            return None, None, 0
        policy, oldest_ms = self._policy, self._arrivals[0][1]
        due_ms = oldest_ms + policy.max_buffer_delay_ms
        latest_ms = due_ms + policy.max_buffer_delay_ms
        whole_ms = latest_ms
        if self._span is None:
            if self._break_end >= 0 or looks_complete(self._text):
                whole_ms = min(due_ms, self._last_push_ms + policy.end_delay_ms)
            elif not looks_torn(self._text):
                whole_ms = min(max(due_ms, self._last_push_ms + IDLE_MS), latest_ms)
        part = self._boundaries[-1][0] if self._boundaries else 0
        return whole_ms, due_ms if part and due_ms < whole_ms else None, part

    # --- giving out -------------------------------------------------------------------------------

    def _emit(self, position: int, cut: Cut) -> Segment:
        raw, rest = self._text[:position], self._text[position:]
        spoken = self._speaker.speak(
            raw, at_line_start=self._segment_at_line_start, code=self._is_code
        )
        broken = 0 <= self._break_end <= position
        segment = Segment(
            text=raw,
            start=self._start,
            end=self._start + position,
            spoken=spoken.text,
            spoken_map=spoken.breakpoints(),
            cut=cut,
            pause_ms=self._pause_ms if broken else 0,
        )
        self._spoken_segments += bool(segment.spoken)
        self._rebase(position, rest)
        if broken:
            self._break_end, self._pause_ms = -1, 0
        if cut not in (Cut.CLAUSE, Cut.LENGTH):
            self._note_style(rest)
        return segment

    def _rebase(self, position: int, rest: str) -> None:
        """Make every position count from the new segment's start."""
        self._text = rest
        self._start += position
        self._weight = sum(map(weight_of, rest))
        cut_weight = next((w for p, _, w in self._boundaries if p == position), 0)
        self._boundaries = [
            (p - position, verdict, weight - cut_weight)
            for p, verdict, weight in self._boundaries
            if p > position
        ]
        if self._pending is not None:
            self._pending = self._pending - position if self._pending > position else None
        if self._span is not None:
            kept = self._span.start >= position
            self._span = self._span.shifted(position) if kept else None
        self._line_start = max(self._line_start - position, -1)
        self._segment_at_line_start = self._line_start == 0
        self._break_end = max(self._break_end - position, -1)
        self._is_code = self._in_fence
        while len(self._arrivals) > 1 and self._arrivals[1][0] <= self._start:
            self._arrivals.popleft()
        if not rest:
            self._arrivals.clear()
