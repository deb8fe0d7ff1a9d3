"""One interrupt, from the moment it takes effect until it is answered.

The answer is made at once, because only now is it certain what was heard; it is given when the
engine has confirmed the abort, or has had its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gateway.types import Interrupted
from gateway.utterance.context import Context
from gateway.utterance.egress import Egress
from gateway.utterance.lines import Line, Lines
from gateway.utterance.playout import Playout


def split_heard(lines: Lines, context: Context, heard_ms: float) -> int:
    """Return the position in the context's text that divides what was heard from what was not.

    A word counts as heard when half of it was, and so does a line without words, a laugh say. The
    space after a heard word belongs to it. What was never made was never heard.
    """
    heard_any = False
    at = 0
    for line in lines.all:
        for start, start_ms, end_ms in _places(lines, line):
            if (start_ms + end_ms) / 2.0 > heard_ms:
                return start if heard_any else 0
            heard_any = True
        at = line.segment.end
        if not line.complete:
            return at
    all_made = lines.making is None and not context.buffered_chars and context.text_complete
    whole = all_made and heard_any and not context.text_dropped
    return context.received_chars if whole else at


def _places(lines: Lines, line: Line) -> Iterator[tuple[int, float, float]]:
    """Where in the text, from when until when, each of a line's words is spoken."""
    timed = lines.times(line)
    if timed:
        yield from ((word.start, word.start_ms, word.end_ms) for word in timed)
    else:
        yield line.segment.start, *lines.extent_ms(line)


def frames_sent(lines: Lines, sent_ms: float) -> int:
    """How many of the frames made have left, the last one of them perhaps in part."""
    sent = 0
    for line in lines.all:
        start_ms, end_ms = lines.extent_ms(line)
        if sent_ms <= start_ms:
            break
        share = 1.0 if sent_ms >= end_ms else (sent_ms - start_ms) / (end_ms - start_ms)
        sent += min(line.frames, int(line.frames * share + 0.999))
    return sent


class BargeIn:
    """Stops an utterance when made. `ends`: it was not over before.

    `aborting`: the request that the engine must stop, if any.
    """

    def __init__(
        self,
        context: Context,
        lines: Lines,
        egress: Egress,
        playout: Playout,
        now_ms: float,
        timeout_ms: float,
        ends: bool,
    ) -> None:
        heard_ms = playout.heard_ms(now_ms)
        text = context.text
        at = split_heard(lines, context, heard_ms)
        wasted = lines.frames - frames_sent(lines, playout.sent_ms)
        self.aborting = lines.making.request_id if lines.making is not None else None
        self.deadline_ms = now_ms + timeout_ms
        self._late_frames = 0
        context.drop_text()
        lines.abandon()
        egress.fade_out(now_ms)
        lines.release()
        self.answer = Interrupted(
            context=context.id,
            generation=egress.generation,
            heard_text=text[:at],
            unspoken_text=text[at:],
            heard_ms=heard_ms,
            sent_ms=playout.sent_ms,
            engine_confirmed=False,
            frames_wasted=wasted,
            ended=ends,
        )

    def note_late(self, frames: int) -> None:
        """Frames that came after the abort was asked for."""
        self._late_frames += frames

    def complete(self, confirmed: bool, frames_after: int) -> Interrupted:
        """Return the answer, with the engine's part of it."""
        wasted = self.answer.frames_wasted + max(frames_after, self._late_frames)
        self.answer = replace(self.answer, engine_confirmed=confirmed, frames_wasted=wasted)
        return self.answer
