"""Tentative interrupts, in virtual time."""

from __future__ import annotations

import pytest

from gateway.types import (
    Audio,
    Configure,
    Done,
    Duck,
    Ducked,
    Interrupt,
    Resume,
    Resumed,
    SettingsPatch,
)
from tests.gateway.fakes import Harness, settings
from tests.gateway.talk import (
    LONG,
    expected_samples,
    interrupted,
    running,
    samples,
    speak,
)


def test_a_pause_goes_on_from_the_sample_where_it_stopped() -> None:
    h = running()
    (*ramp, ducked) = h.do(Duck("c1", 0.0))
    assert len(ramp) == 1 and isinstance(ramp[0], Audio) and isinstance(ducked, Ducked)
    at_samples = ramp[0].timestamp_samples + 320
    assert ducked == Ducked("c1", at_samples / 16)
    assert not [e for e in h.run(5000) if isinstance(e, (Audio, Done))]
    assert h.do(Resume("c1"))[0] == Resumed("c1", at_samples / 16)
    h.run()
    assert h.events(Done)
    packets = [packet for _, packet in h.audio("c1")]
    assert [p.timestamp_samples for p in packets] == [320 * i for i in range(len(packets))]
    assert [p.sequence for p in packets] == list(range(len(packets)))


def test_a_duck_lowers_the_very_next_packet_and_a_resume_raises_it() -> None:
    h = running()
    (ducked,) = h.do(Duck("c1", 0.25))
    position = h.chains[0].position_samples
    assert ducked == Ducked("c1", position / 16)
    h.run(100)
    h.do(Resume("c1"))
    back = h.chains[0].position_samples
    h.run()
    got = samples(h)
    plain = expected_samples(h.engine, "Hello there. ", "How are you today. ", "All is well here. ")
    assert got[:position] == plain[:position] and got[back:] == plain[back:]
    assert got[position:back] == pytest.approx([0.25 * s for s in plain[position:back]])


def test_a_duck_becomes_an_interrupt() -> None:
    h = running()
    h.do(Duck("c1", 0.0))
    assert h.do(Interrupt("c1")) == []  # nothing is left to fade
    h.run()
    assert interrupted(h).heard_text + interrupted(h).unspoken_text == LONG


def test_duck_before_the_first_packet_and_after_the_last() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    h.do(Configure("c1", SettingsPatch()))
    assert h.do(Duck("c1", 0.0)) == [Ducked("c1", 0.0)]
    speak(h, "Hello there. ")
    assert not [e for e in h.run(1000) if isinstance(e, Audio)]
    h.do(Resume())
    h.run(100)
    assert h.events(Done)
    assert h.do(Duck("c1", 0.5)) == [Ducked("c1", 240.0)]
    assert h.do(Resume("c1")) == [Resumed("c1", 240.0)]


def test_repeated_ducks_and_resumes_are_harmless() -> None:
    h = running()
    h.do(Resume("c1"))
    h.do(Duck("c1", 0.0))
    first = h.sent[-1][1]
    assert h.do(Duck("c1", 0.0)) == [first]
    h.do(Resume("c1"))
    h.do(Resume("c1"))
    h.run()
    packets = [packet for _, packet in h.audio("c1")]
    assert [p.timestamp_samples for p in packets] == [320 * i for i in range(len(packets))]
