"""One utterance, whole: its text, its lines, its way out and its place in the listener's time.

`Session` routes commands and engine reports here. Barge-in is one call chain: `interrupt` stops the
clock, finds what was heard, drops what waits, asks the engine to abort, sends the faded tail, and
`silence` answers once the engine has confirmed or its time is up.
"""

from __future__ import annotations

import math
from dataclasses import replace

from gateway.types import (
    ContextSettings,
    Done,
    Ducked,
    Event,
    Failed,
    Finished,
    Frames,
    Interrupted,
    Resumed,
    Send,
    Submit,
)
from gateway.utterance.bargein import BargeIn
from gateway.utterance.context import OVER, SPEAKING, Context, State, Trigger
from gateway.utterance.egress import Egress
from gateway.utterance.lines import Lines, is_wordless
from gateway.utterance.playout import Playout, priority
from gateway.utterance.shared import Shared

RETRY_MS = 100.0


class Utterance:
    """See the module. `previous`: the playout of the utterance that is played before this one."""

    def __init__(
        self,
        context_id: str,
        settings: ContextSettings,
        generation: int,
        previous: Playout | None,
        shared: Shared,
        now_ms: float,
    ) -> None:
        self.context = Context(context_id, settings, shared.segmenters, now_ms)
        self.generation = generation
        self.playout = Playout(previous)
        self.lines = Lines(shared.facts, shared.limits, shared.chains, shared.rate, shared.prosody)
        tail = shared.faded_tail
        self.egress = Egress(context_id, self.lines, self.playout, tail, generation, self._send)
        self._shared = shared
        self._barge_in: BargeIn | None = None
        self._retry_at_ms: float | None = None
        self._failure: Failed | None = None

    # --- what the schedule sees ---

    @property
    def id(self) -> str:
        """The client's name for it."""
        return self.context.id

    @property
    def over(self) -> bool:
        """Nothing of it will be made or sent any more."""
        return self.context.state in OVER

    @property
    def speaking(self) -> bool:
        """It has, or may get, something to send."""
        return self.context.state in SPEAKING

    @property
    def has_pending(self) -> bool:
        """A segment waits to be submitted."""
        return bool(self.context.pending)

    @property
    def is_making(self) -> bool:
        """The engine works on a line of it, or will when it has room."""
        return self.lines.making is not None or self._retry_at_ms is not None

    @property
    def unstarted_lines(self) -> int:
        """Lines none of whose sound has left, although some could: a packet's worth is there."""
        if self.egress.starved and not self.is_making:
            return 0
        return len(self.lines.all) - self.egress.announced

    def wants_more(self, now_ms: float) -> bool:
        """Less was made than may be sent."""
        return self.lead_ms(now_ms) < self.context.settings.lead_ms

    def lead_ms(self, now_ms: float) -> float:
        """How long the listener can go on with what was sent and what is ready to be sent."""
        chain = self.lines.chain
        ready = self.lines.to_ms(chain.buffered_samples) if chain is not None else 0.0
        return self.playout.lead_ms(now_ms) + ready

    # --- commands ---

    def text(self, text: str, now_ms: float) -> None:
        """A piece of text."""
        self.context.push(text, self.lead_ms(now_ms), now_ms)
        self._pass_flushes()  # marks that the text has reached

    def end(self, now_ms: float) -> None:
        """No more text."""
        self.context.end(self.lead_ms(now_ms), now_ms)
        self._pass_flushes()

    def flush(self, flush_id: int | str | None, now_ms: float) -> None:
        """Speak what is buffered."""
        self.context.flush(flush_id, self.lead_ms(now_ms), now_ms)
        self._pass_flushes()

    def mark(self, mark_id: int | str) -> None:
        """Tell when all text so far has been spoken."""
        self.context.mark(mark_id)
        self._pass_flushes()

    def _pass_flushes(self) -> None:
        while self.context.flushes:
            self.egress.flush(self.context.flushes.popleft())
            self.egress.wake()

    def duck(self, gain: float, now_ms: float) -> None:
        """Lower the output, or pause it."""
        self.context.move(Trigger.DUCK)
        at_ms = self.egress.duck(gain, now_ms) if self.speaking else self.playout.sent_ms
        self._send(Ducked(self.id, at_ms))

    def resume(self, now_ms: float) -> None:
        """Take the duck back."""
        self.context.move(Trigger.RESUME)
        if self.speaking:
            self.egress.duck(1.0, now_ms)
        self._send(Resumed(self.id, self.playout.sent_ms))

    def playback(self, played_ms: float, now_ms: float) -> None:
        """The client's report."""
        self.context.move(Trigger.PLAYBACK)
        self.playout.report(played_ms, now_ms)

    # --- barge-in ---

    def interrupt(self, played_ms: float | None, now_ms: float) -> str | None:
        """Stop. Returns the request that the engine was asked to abort, if any."""
        state = self.context.state
        self.context.move(Trigger.INTERRUPT)
        if state is State.INTERRUPTING:
            return None  # one answer will do for both
        if self._barge_in is not None:
            self._send(self.last_answer(now_ms))
            return None
        if played_ms is not None:
            self.playout.report(played_ms, now_ms)
        self._barge_in = self._stop(now_ms, ends=state not in OVER)
        self._retry_at_ms = None
        if self._barge_in.aborting is None:
            self.silence(confirmed=True, frames_after=0)
        return self._barge_in.aborting

    def last_answer(self, now_ms: float) -> Interrupted:
        """What an interrupt is answered with from now on, of an utterance that is over."""
        if self._barge_in is None:
            self._barge_in = self._stop(now_ms, ends=False)
            self._barge_in.complete(confirmed=True, frames_after=0)
        return replace(self._barge_in.answer, ended=False)

    def _stop(self, now_ms: float, ends: bool) -> BargeIn:
        self.playout.cut(now_ms)
        timeout_ms = self._shared.limits.abort_timeout_ms
        return BargeIn(
            self.context, self.lines, self.egress, self.playout, now_ms, timeout_ms, ends
        )

    @property
    def abort_deadline_ms(self) -> float:
        """How long the interrupt may wait for the engine."""
        return math.inf if self._barge_in is None else self._barge_in.deadline_ms

    def note_late(self, pcm: bytes) -> None:
        """Sound that came after the abort was asked for: only counted."""
        if self._barge_in is not None:
            self._barge_in.note_late(len(pcm) // self._shared.facts.frame_bytes)

    def silence(self, confirmed: bool, frames_after: int) -> None:
        """The engine has stopped, or has had its time: answer."""
        assert self._barge_in is not None
        self.context.move(Trigger.SILENCED)
        self._send(self._barge_in.complete(confirmed, frames_after))

    # --- the engine ---

    def submit(self, now_ms: float) -> str | None:
        """Give the next segment to the engine. Returns the request's id; None for a silent one."""
        settings = self.context.settings
        segment = self.context.take()
        silent = is_wordless(segment.spoken, self._shared.facts.speaks_tags)
        if not silent or segment.pause_ms > 0:
            self.lines.open_chain(settings.format, settings.speed).set_speed(settings.speed)
        if silent:
            self.lines.skip(segment)
            self.egress.wake()
            return None
        request_id = self._shared.next_request_id()
        line = self.lines.begin(segment, request_id, settings.voice, settings.carry_prosody)
        lead_ms = self.lead_ms(now_ms)
        self._shared.emit(
            Submit(
                request_id=request_id,
                text=segment.spoken,
                voice=line.voice,
                dialogue=self._shared.session_id,
                history=self.lines.history.turns,
                sampling=settings.sampling,
                priority=priority(lead_ms),
                lead_ms=lead_ms,
            )
        )
        return request_id

    def frames(self, event: Frames) -> None:
        """Sound. Raises EngineFailedError when some is missing."""
        self.lines.take(event)
        self.egress.wake()

    @property
    def frames_of_line(self) -> int:
        """Frames of the line in the making, so far."""
        return self.lines.making.frames if self.lines.making is not None else 0

    def line_complete(self, event: Finished) -> None:
        """The line in the making is finished."""
        self.lines.complete(event)
        self.egress.wake()

    def try_again(self, now_ms: float) -> bool:
        """The engine has no room for the line in the making. Whether that can wait.

        It can while the listener has something to hear; an utterance that has not begun fails at
        once, because its client may find room elsewhere.
        """
        if not self.egress.started or self.frames_of_line or self.lead_ms(now_ms) < RETRY_MS:
            return False
        self.context.restore(self.lines.retract())
        self._retry_at_ms = now_ms + RETRY_MS
        return True

    def fail(self, code: str, message: str) -> None:
        """The engine failed: what it made before is still sent, then the context ends."""
        self.context.move(Trigger.BROKEN)
        self._failure = Failed(self.id, code, message, ended=True)
        self.context.drop_text()
        self.lines.abandon()

    # --- time ---

    def tick(self, now_ms: float) -> None:
        """Read on, cut text that has waited long enough; ask the engine again."""
        if self._retry_at_ms is not None and self._retry_at_ms <= now_ms:
            self._retry_at_ms = None
        if (text_ms := self.context.next_deadline_ms()) is not None and text_ms <= now_ms:
            self.context.tick(self.lead_ms(now_ms), now_ms)
            self._pass_flushes()

    def deadlines_ms(self, sending: bool) -> list[float]:
        """When this utterance wants a tick. `sending`: packets of it may leave."""
        deadlines = [self.idle_at_ms()]
        if (text_ms := self.context.next_deadline_ms()) is not None:
            deadlines.append(text_ms)
        if self._retry_at_ms is not None:
            deadlines.append(self._retry_at_ms)
        if sending and self.speaking:
            packet_ms = self.egress.next_deadline_ms(self.context.settings)
            if packet_ms is not None:
                deadlines.append(packet_ms)
        return deadlines

    def idle_at_ms(self) -> float:
        """When the utterance counts as forgotten by its client, or by the engine."""
        state = self.context.state
        cared_for = state in (State.ENDED, State.FAILING) and not self.egress.paused
        if state is State.INTERRUPTING or (cared_for and not self.is_making):
            return math.inf
        return self.context.touched_at_ms + self._shared.limits.idle_timeout_ms

    def pump(self, now_ms: float) -> bool:
        """Send what is due; end the context when all has left.

        Returns whether there may be something to do now that there was not before: running out of
        sound counts, because the next segment may then be made.
        """
        settings, starved = self.context.settings, self.egress.starved
        if self.context.text_complete and not self.has_pending and not self.is_making:
            if not self.lines.finished:
                self.lines.finish()
                if self.lines.chain is not None:
                    self.egress.wake()
        coming = self.has_pending or self.is_making or self.context.has_unread
        self.egress.expect(coming, now_ms)
        sent = self.egress.pump(settings, self._shared.next_number, now_ms)
        self.egress.settle(settings.words)
        if sent:
            self.context.touched_at_ms = now_ms
        if self.egress.drained and not self.egress.paused:
            self._end(now_ms)
            return True
        return sent or (self.egress.starved and not starved)

    def _end(self, now_ms: float) -> None:
        self.egress.announce_rest(self.context.settings.words)
        self.playout.settle(now_ms)
        self.context.move(Trigger.DRAINED)
        self.lines.release()
        if self._failure is not None:
            return self._send(self._failure)
        first_ms, since_ms = self.egress.first_sent_at_ms, self.context.text_since_ms
        wait_ms = None if first_ms is None or since_ms is None else first_ms - since_ms
        self._send(
            Done(
                context=self.id,
                audio_ms=self.playout.sent_ms,
                frames=self.lines.frames,
                segments=len(self.lines.all),
                prompt_tokens=self.lines.prompt_tokens,
                cached_tokens=self.lines.cached_tokens,
                first_audio_ms=wait_ms,
                first_audio_frames=self.egress.first_sent_frames,
                underrun_ms=self.egress.underrun_ms,
                truncated=self.lines.truncated,
                skipped_words=self.lines.skipped_words,
                retries=self.lines.retries,
            )
        )

    def _send(self, *events: Event) -> None:
        self._shared.emit(Send(events))
