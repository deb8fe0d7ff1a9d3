"""Tentative interrupts, in virtual time."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Configure,
    Done,
    Duck,
    Ducked,
    Interrupt,
    Resume,
    Resumed,
    SettingsPatch,
)
from tests.gateway import sounds
from tests.gateway.fakes import FakeEngine, Harness, settings
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


CONTEXTS = ("c1", "c2", "c3")
gains = st.sampled_from([0.0, 0.2, 0.5, 1.0])
steps = st.lists(
    st.one_of(
        st.builds(Duck, st.sampled_from([None, *CONTEXTS]), gains),
        st.builds(Resume, st.sampled_from([None, *CONTEXTS])),
        st.sampled_from(CONTEXTS),  # is opened, and when named again, speaks
        st.sampled_from([1.0, 25.0, 150.0]),  # so long nothing happens
    ),
    max_size=25,
)


@hypothesis_settings(max_examples=80, deadline=None)
@given(steps, st.sampled_from([0, 100]), st.sampled_from([0.0, 30.0]))
def test_every_packet_leaves_at_the_gain_last_asked_for(
    script: list[Duck | Resume | str | float], lead_ms: int, frame_delay_ms: float
) -> None:
    """Whenever it was asked for: before the first sound, while queued, twice, for all or one."""
    h = Harness(FakeEngine(frame_delay_ms=frame_delay_ms), defaults=settings(lead_ms=lead_ms))
    plain = expected_samples(h.engine, "Hello there. ", "How are you today. ", "All is well here. ")
    wanted: dict[str, float] = {}
    spoken: set[str] = set()
    checked = 0

    def check() -> None:
        nonlocal checked
        for _, event in h.sent[checked:]:
            if isinstance(event, Audio):
                got = struct.unpack(f"<{len(event.payload) // 4}f", event.payload)
                start = event.timestamp_samples
                gain = wanted[event.context]
                assert got == pytest.approx([gain * x for x in plain[start : start + len(got)]])
        checked = len(h.sent)

    for step in script:
        if isinstance(step, float):
            h.run(step)
        elif isinstance(step, str):
            if step not in wanted:
                wanted[step] = 1.0
                h.do(Configure(step, SettingsPatch()))
            elif step not in spoken:
                spoken.add(step)
                speak(h, LONG, step)
        else:
            gain = step.gain if isinstance(step, Duck) else 1.0
            for name in wanted if step.context is None else {step.context} & set(wanted):
                wanted[name] = gain
            h.do(step)
        check()
    for name in set(wanted) - spoken:
        speak(h, LONG, name)
    for name, gain in wanted.items():
        if gain == 0.0:
            wanted[name] = 1.0
            h.do(Resume(name))
    h.run()
    check()
    assert {e.context for e in h.events(Done)} == set(wanted)


def test_a_duck_before_the_first_sound_lowers_it_from_its_first_sample() -> None:
    pcm = AudioFormat(Codec.PCM_F32LE, 16_000)
    heard = []
    for gain in (1.0, 0.2):
        h = sounds.harness()
        h.engine = sounds.SpeakingEngine()
        h.do(Configure("c1", SettingsPatch(format=pcm, lead_ms=0)))
        h.do(Duck("c1", gain))
        speak(h, LONG)
        h.run()
        heard.append(sounds.sound(h, "c1", pcm))
    whole, low = heard
    assert len(low) == len(whole) and abs(whole).max() > 0.1
    assert low == pytest.approx(0.2 * whole, abs=1e-6)
