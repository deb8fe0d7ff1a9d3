"""One context's way out: packets pulled when due, and the events that belong between them.

Nothing is encoded before it is due, so a fade or a duck acts on the very next packet.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from gateway.types import (
    Audio,
    AudioChain,
    ContextSettings,
    Event,
    Flushed,
    Packet,
    Started,
)
from gateway.utterance.announce import Announcements
from gateway.utterance.context import FlushMark
from gateway.utterance.faded_tail import FadedTail
from gateway.utterance.lines import Lines
from gateway.utterance.playout import Playout

REST_MARGIN_MS = 60.0
BURST_PACKETS = 16  # in a row; then others have their turn
# A wake-up, a write and what they touch cost about as much as making a packet, so packets leave in
# groups: so many that the lead suffers little by it.
GROUP_SHARE = 1 / 8  # of the lead: 180 ms of 1.5 s


def group_packets(settings: ContextSettings) -> int:
    """Packets that leave together; 1 when there is too little lead for more."""
    return max(int(settings.lead_ms * GROUP_SHARE / settings.format.frame_ms), 1)


class Sink(Protocol):
    """Takes events that leave together, in order."""

    def __call__(self, *events: Event) -> None: ...


class Egress:
    """The sending side of one context."""

    def __init__(
        self,
        context_id: str,
        lines: Lines,
        playout: Playout,
        faded_tail: FadedTail,
        generation: int,
        sink: Sink,
    ) -> None:
        self.number = 0  # tags the binary frames; 0 until started
        self.pre_skip_samples = 0  # known when started
        self.generation = generation
        self.sequence = 0
        self.first_sent_at_ms: float | None = None
        self.first_sent_frames: int | None = None  # made by the engine when the first packet left
        self.paused = False
        self.gain = 1.0  # wanted; the chain, which may not be there yet, is told with a pull
        self._chain_gain = 1.0
        self._id = context_id
        self._lines = lines
        self._announcements = Announcements(context_id, lines)
        self._playout = playout
        self._faded_tail = faded_tail
        self._sink = sink
        self._flushes: deque[FlushMark] = deque()
        self._dry = True  # the last pull found too little for a packet
        self._rest_is_out = True  # nothing is held back for what may follow
        self.underrun_ms = 0.0  # how long the listener had nothing to play, although text was there
        self._expecting = False  # more sound is on its way
        self._busy_since_ms: float | None = None  # there has been text to speak all the time

    @property
    def started(self) -> bool:
        """The context has a number, and audio of it has left."""
        return self.number > 0

    @property
    def announced(self) -> int:
        """Lines whose first packet has left."""
        return self._announcements.count

    @property
    def sent_samples(self) -> int:
        """Samples sent, pre-skip excluded: how far the listener can get."""
        chain = self._lines.chain
        if chain is None:
            return 0
        return max(chain.position_samples - chain.pre_skip_samples, 0)

    @property
    def starved(self) -> bool:
        """There is too little sound for a packet."""
        return self._dry

    def wake(self) -> None:
        """There may be more to pull than before."""
        self._dry = False
        self._rest_is_out = False

    def expect(self, more: bool, now_ms: float) -> None:
        """Whether there is text that is not sound yet."""
        self._expecting = more
        if self.paused or not (more or not self._dry):
            self._busy_since_ms = None
        elif self._busy_since_ms is None:
            self._busy_since_ms = now_ms

    def next_deadline_ms(self, settings: ContextSettings) -> float | None:
        """When the next packet is due, or a rest should be let out; None while there is neither."""
        if self.paused:
            return None
        if self._dry:
            return self._rest_at_ms
        left_ms = self._left_of_group(settings) * settings.format.frame_ms
        return self._playout.due_at_ms(left_ms, settings.lead_ms)

    def pump(
        self, settings: ContextSettings, next_number: Callable[[], int], now_ms: float
    ) -> bool:
        """Send what is due, at most a burst of it. Returns whether anything left."""
        sent = False
        last = self.sequence + BURST_PACKETS
        while (due_ms := self.next_deadline_ms(settings)) is not None and due_ms <= now_ms:
            if self.sequence >= last:
                break
            if self._dry:
                self._let_rest_out()
            if not self.started and (chain := self._lines.chain) is not None:
                chain.fade_in(self._faded_tail.overlap_ms(now_ms))
            left = self._left_of_group(settings)  # when one of them is due, all are
            packets = self._pull_some(min(left, last - self.sequence))
            if not packets:
                continue  # starved now: perhaps the rest is to be let out
            if not self.started:
                self._start(settings, next_number(), now_ms)
            self._send_some(packets, self._is_last(), now_ms)
            sent = True
        return sent

    def _left_of_group(self, settings: ContextSettings) -> int:
        group = group_packets(settings)
        return group - self.sequence % group

    @property
    def _rest_at_ms(self) -> float | None:
        """When what is too short for a packet, or held for a crossfade, should leave by itself.

        While more is expected it waits; otherwise it leaves when it is asked for by a flush, or
        just before the listener has heard everything else.
        """
        lines = self._lines
        if self._rest_is_out or self._expecting or lines.finished or lines.chain is None:
            return None
        if self._flushes or not self.started:
            return -math.inf
        return self._playout.end_at_ms() - REST_MARGIN_MS

    def _let_rest_out(self) -> None:
        self._rest_is_out = True
        if self._lines.chain is not None:
            self._lines.chain.flush()

    @property
    def drained(self) -> bool:
        """Everything has left: only true once the speech is finished."""
        return self._lines.finished and self._dry

    def flush(self, mark: FlushMark) -> None:
        """Answer with `Flushed` when everything before the mark has left."""
        self._flushes.append(mark)

    def settle(self, words_wanted: bool) -> None:
        """Send what became certain: word times, answered flushes."""
        for event in self._announcements.words(words_wanted):
            self._sink(event)
        while self._flushes and self._has_left(self._flushes[0].ordinal):
            mark = self._flushes.popleft()
            self._sink(Flushed(self._id, mark.flush_id, self._playout.sent_ms))

    def announce_rest(self, words_wanted: bool) -> None:
        """Everything has left: announce what begins at the very end, too."""
        for event in self._announcements.beginnings(math.inf):
            self._sink(event)
        self.settle(words_wanted)

    def duck(self, gain: float, now_ms: float) -> float:
        """Lower the output. Returns the position from which it is lowered, or stopped, in ms."""
        at_ms = self._playout.sent_ms
        self.gain = gain
        if gain == 0.0 and not self.paused:
            # One packet carries the ramp, so that the pause does not begin with a click.
            if self.started and not self._dry:
                packet = self._pull()
                if packet is not None:
                    self._send(packet, self._is_last(), now_ms)
                    at_ms = self._playout.sent_ms
        self.paused = gain == 0.0
        return at_ms

    def fade_out(self, now_ms: float) -> None:
        """Send the last packets, faded to silence, and forget everything behind them."""
        chain = self._lines.chain
        packets: list[Packet] = []
        if chain is not None and self.started and not self.drained and not self.paused:
            packets = chain.fade_out()
        for i, packet in enumerate(packets):
            self._send(packet, i == len(packets) - 1, now_ms)
        if chain is not None and packets:
            self._faded_tail.leave(chain.faded_ms, self._playout.lead_ms(now_ms), now_ms)
        self._dry = True
        self._flushes.clear()

    def _has_left(self, ordinal: int) -> bool:
        """Every segment before `ordinal` was spoken, and its sound has left."""
        lines, chain = self._lines, self._lines.chain
        if lines.ordinal < ordinal or (lines.making and lines.making.ordinal < ordinal):
            return False
        if chain is None or self.drained or (self._dry and not chain.buffered_samples):
            return True
        line = next((x for x in reversed(lines.all) if x.ordinal < ordinal), None)
        if line is None:
            return True
        end = chain.output_samples(line.index, line.samples)
        return end is not None and end <= self.sent_samples

    def _ready_chain(self) -> AudioChain | None:
        """The chain, at the gain it should have."""
        chain = self._lines.chain
        if chain is not None and self._chain_gain != self.gain:
            self._chain_gain = self.gain
            chain.set_gain(self.gain)
        return chain

    def _pull(self) -> Packet | None:
        chain = self._ready_chain()
        packet = chain.pull() if chain is not None else None
        self._dry = packet is None
        return packet

    def _pull_some(self, most: int) -> list[Packet]:
        chain = self._ready_chain()
        packets = chain.pull_some(most) if chain is not None else []
        self._dry = len(packets) < most
        return packets

    def _is_last(self) -> bool:
        """Nothing follows the packet that was just pulled."""
        chain = self._lines.chain
        return self._lines.finished and chain is not None and not chain.buffered_samples

    def _start(self, settings: ContextSettings, number: int, now_ms: float) -> None:
        chain = self._lines.chain
        assert chain is not None
        self.number = number
        self.pre_skip_samples = chain.pre_skip_samples
        overlap_ms = self._faded_tail.overlap_ms(now_ms)
        self._faded_tail.close()
        pre_skip = self.pre_skip_samples
        self._sink(
            Started(self._id, number, self.generation, settings.format, pre_skip, overlap_ms)
        )

    def _send(self, packet: Packet, last: bool, now_ms: float) -> None:
        self._send_some((packet,), last, now_ms)

    def _send_some(self, packets: Sequence[Packet], last: bool, now_ms: float) -> None:
        """`last`: nothing follows them."""
        lines, chain = self._lines, self._lines.chain
        assert chain is not None
        if self.first_sent_at_ms is None:
            self.first_sent_at_ms = now_ms
            self.first_sent_frames = lines.frames
        elif self._busy_since_ms is not None:
            dry_since_ms = max(self._playout.end_at_ms(), self._busy_since_ms)
            self.underrun_ms += max(now_ms - dry_since_ms, 0.0)
        skip, final = chain.pre_skip_samples, packets[-1]
        end_samples = final.start_samples + final.duration_samples - skip
        begins = self._announcements.next_start_samples() < end_samples
        events: list[Event] = []
        for packet in packets:
            if begins:
                at = packet.start_samples + packet.duration_samples - skip
                events += self._announcements.beginnings(at)
            ends = last and packet is final
            events.append(
                Audio(
                    self._id,
                    self.number,
                    self.generation,
                    self.sequence,
                    packet.start_samples,
                    packet.payload,
                    ends,
                )
            )
            self.sequence += 1
        self._sink(*events)
        self._playout.note_sent(lines.to_ms(max(end_samples, 0)), now_ms)
