"""What surrounds the characters: tags, links and code that are never cut, lines, pauses, fences."""

from __future__ import annotations

from gateway.text.segment.chars import NEWLINES, Kind, kind_of
from gateway.text.segment.spans import (
    FENCE_CLOSE,
    FENCE_LATE,
    FENCE_LINE,
    FENCE_OPEN,
    Span,
    is_abandoned,
    open_span,
)
from gateway.text.tags import (
    BREAK_TAG,
    PAUSE_TAG,
    SPEAKER_TAG,
    THOUGHT_END,
    THOUGHT_OPEN,
    pause_ms,
)


class Structure:
    """Follows one text, character by character. Positions are indices in the present segment."""

    def __init__(self, follow_fences: bool, speak_thoughts: bool = False) -> None:
        self._follow_fences = follow_fences
        self._hides_thoughts = not speak_thoughts
        self.span: Span | None = None
        self.line_start = 0  # -1: the present line began in an earlier segment
        self.segment_at_line_start = True
        self.in_fence = False
        self.in_thought = False  # after <think>, before </think>
        self.is_silent = False  # the present segment is fenced code, or thought
        self.break_end = -1  # where the segment's <break/> ends; -1: it has none
        self.pause_ms = 0

    def feed(self, text: str, index: int) -> int | None:
        """Take the newest character, text[index]; return where the segment must end, if it must."""
        if self.in_thought:
            return self._feed_thought(text, index)
        if self.span is not None:
            cut = self._feed_span(self.span, text, index)
        else:
            cut = self._forced_start(text, index)
            opened = open_span(text, index)
            if opened is not None and self.may_start(text):
                self.span = opened
        if text[index] in NEWLINES:
            self._end_line(text, index)
        return cut

    def may_start(self, text: str) -> bool:
        """Whether the newest character, just fed, is in ordinary text, where judging helps."""
        return not self._is_hidden and not self._on_fence_line(text)

    def rebase(self, position: int) -> None:
        """The segment was cut at `position`: count from there."""
        if 0 <= self.break_end <= position:
            self.break_end, self.pause_ms = -1, 0
        else:
            self.break_end = max(self.break_end - position, -1)
        if self.span is not None:
            kept = self.span.start >= position
            self.span = self.span.shifted(position) if kept else None
        self.line_start = max(self.line_start - position, -1)
        self.segment_at_line_start = self.line_start == 0
        self.is_silent = self._is_hidden

    def _forced_start(self, text: str, index: int) -> int | None:
        """A new segment must start at the newest character: after a pause, before or after code
        and thoughts.
        """
        if self.break_end < 0 and self.is_silent == self._is_hidden:
            return None
        if kind_of(text[index]) & (Kind.SPACE | Kind.EXTEND) or not text[:index].strip():
            return None
        return index

    def _feed_span(self, span: Span, text: str, index: int) -> int | None:
        """Look for the end of the open stretch; tags that end a segment do so here."""
        if text[index] != span.close:
            if is_abandoned(span, text, index):
                self.span = None
            return None
        self.span = None
        if span.close == "]":
            self._feed_pause(span, text, index)
        if span.close != ">":
            return None
        if self._hides_thoughts and THOUGHT_OPEN.fullmatch(text, span.start, index + 1):
            self.in_thought = True
        elif BREAK_TAG.fullmatch(text, span.start, index + 1):
            self.pause_ms = pause_ms(text[span.start : index + 1])
            self.break_end = index + 1
        elif SPEAKER_TAG.fullmatch(text, span.start, index + 1) and text[: span.start].strip():
            return span.start
        return None

    def _feed_pause(self, span: Span, text: str, index: int) -> None:
        """`[pause:1s]` ends a segment as `<break time="1s"/>` does."""
        if PAUSE_TAG.fullmatch(text, span.start, index + 1):
            self.pause_ms = pause_ms(text[span.start : index + 1])
            self.break_end = index + 1

    def _feed_thought(self, text: str, index: int) -> int | None:
        """Nothing in a thought counts but its end."""
        cut = self._forced_start(text, index)
        if text[index] == ">" and THOUGHT_END.match(text, 0, index + 1):
            self.in_thought = False
        if text[index] in NEWLINES:
            self.line_start = index + 1
        return cut

    @property
    def _is_hidden(self) -> bool:
        return self.in_fence or self.in_thought

    def _on_fence_line(self, text: str) -> bool:
        return (
            self._follow_fences
            and self.line_start >= 0
            and FENCE_LINE.match(text, self.line_start) is not None
        )

    def _end_line(self, text: str, index: int) -> None:
        """Follow fenced code blocks, line by line; text[index] is the newline."""
        start = max(self.line_start, 0)
        if self._follow_fences:
            if self.in_fence:
                self.in_fence = FENCE_CLOSE.fullmatch(text, start, index) is None
            elif self.line_start >= 0 and FENCE_OPEN.fullmatch(text, start, index):
                self.in_fence = True
                self.is_silent = not text[:start].strip()
            elif FENCE_LATE.fullmatch(text, start, index):
                self.in_fence = True
        self.line_start = index + 1
