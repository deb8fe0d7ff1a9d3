"""How much of a context was heard, by the clock of a pipeline that plays it."""

from __future__ import annotations

from clients.heard.playback import SLACK_MS, Playback
from clients.heard.words import Piece
from clients.python.context import Context
from clients.python.wire import AudioPacket, Done
from tests.clients.python.virtual import ScriptedSession

RATE_HZ = 8000
PACKET_MS = 20.0
PACKET_SAMPLES = 160


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1000.0

    def __call__(self) -> int:
        return round(self.now_ms * 1e6)


def playback(clock: Clock) -> Playback:
    return Playback(Context(ScriptedSession(), "c", {}), clock, RATE_HZ)


def packet(index: int) -> AudioPacket:
    return AudioPacket(1, 0, index, index * PACKET_SAMPLES, bytes(2 * PACKET_SAMPLES))


def test_nothing_is_heard_before_it_is_audible() -> None:
    clock = Clock()
    speech = playback(clock)
    speech.take_sound(packet(0))
    clock.now_ms += 500.0
    assert speech.played_ms() == 0.0
    assert speech.audible  # it will be
    assert speech.written_words() == (0, 0)


def test_the_clock_says_how_much_and_never_more_than_came() -> None:
    clock = Clock()
    speech = playback(clock)
    for index in range(10):
        speech.take_sound(packet(index))
    speech.audible_from_ns = clock()
    clock.now_ms += 130.0
    assert speech.played_ms() == 130.0
    clock.now_ms += 1000.0
    assert speech.played_ms() == 10 * PACKET_MS


def test_a_gap_is_not_heard() -> None:
    clock = Clock()
    speech = playback(clock)
    speech.take_sound(packet(0))
    speech.audible_from_ns = clock()
    clock.now_ms += PACKET_MS + 300.0  # the listener waits
    speech.take_sound(packet(1))
    assert speech.late_ms == 300.0
    speech.take_sound(packet(2))
    clock.now_ms += 30.0
    assert speech.played_ms() == PACKET_MS + 30.0


def test_it_is_audible_until_the_last_sample_after_all_came() -> None:
    clock = Clock()
    speech = playback(clock)
    speech.take_sound(packet(0))
    speech.audible_from_ns = clock()
    speech.context.take_event(Done("c", PACKET_MS, 1, 1))
    clock.now_ms += PACKET_MS - 1.0
    assert speech.audible
    clock.now_ms += 1.0
    assert not speech.audible


def test_words_are_written_a_little_early_or_late() -> None:
    clock = Clock()
    speech = playback(clock)
    speech.pieces += [Piece("One ", 0.0, 200.0), Piece("two, three ", 900.0, 1100.0)]
    speech.audible_from_ns = clock()
    clock.now_ms += 100.0 + SLACK_MS
    assert speech.written_words() == (1, 1)
    clock.now_ms += 900.0 - 2 * SLACK_MS
    assert speech.written_words() == (1, 3)
    clock.now_ms += 2 * SLACK_MS
    assert speech.written_words() == (3, 3)
