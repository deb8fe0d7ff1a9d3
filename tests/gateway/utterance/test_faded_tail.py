"""The joint of an interrupted utterance and the next: real chains, random moments, one listener."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.sound.mixer import Mixer
from gateway.audio import make_chain
from gateway.audio.constants import FADE_OUT_MS, Samples
from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Configure,
    Done,
    End,
    Event,
    Interrupt,
    SettingsPatch,
    Started,
    Text,
)
from gateway.utterance.faded_tail import FadedTail
from tests.gateway.audio.signals import largest_jump
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import Harness
from tests.gateway.sounds import SpeakingEngine, sound, started

RATE_HZ = FACTS.sample_rate_hz
FLOAT = AudioFormat(Codec.PCM_F32LE, RATE_HZ)
FORMATS = [
    FLOAT,
    AudioFormat(Codec.PCM_S16LE, 24_000, frame_ms=40),
    AudioFormat(Codec.MULAW, 8_000),
    AudioFormat(frame_ms=10),
    AudioFormat(frame_ms=60),
]
FIRST = "One two three four five six. Seven eight nine ten. Eleven twelve thirteen. "
SECOND = "Now for something else. It is another thought altogether. "


def harness(audio_format: AudioFormat, lead_ms: int, frame_delay_ms: float = 15.0) -> Harness:
    made = Harness(
        SpeakingEngine(frame_delay_ms=frame_delay_ms),
        chain=lambda f, s: make_chain(f, RATE_HZ, s),  # type: ignore[arg-type, return-value]
    )
    made.do(Configure(None, SettingsPatch(format=audio_format, lead_ms=lead_ms)))
    return made


def conversation(h: Harness, at_ms: float, second_at_ms: float | None, played: bool) -> None:
    """c1 is interrupted at `at_ms`; c2 is queued before it begins, or comes later."""
    say(h, "c1", FIRST)
    if second_at_ms is None:
        say(h, "c2", SECOND)
    h.run(at_ms)
    h.do(Interrupt("c1", played_ms=at_ms / 2 if played else None))
    if second_at_ms is not None:
        h.run(second_at_ms)
        say(h, "c2", SECOND)
    h.run(60_000)


def say(h: Harness, context: str, text: str) -> None:
    h.do(Text(context, text))
    h.do(End(context))


def without_crossfade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FadedTail, "overlap_ms", lambda self, now_ms: 0.0)


def comparable(h: Harness) -> list[tuple[float, Event]]:
    """All that was told, without the one thing that may differ: the sound of c2's first packet."""
    out: list[tuple[float, Event]] = []
    for at_ms, event in h.sent:
        if isinstance(event, Started):
            event = replace(event, crossfade_ms=0.0)
        elif isinstance(event, Audio) and event.context == "c2" and event.sequence == 0:
            event = replace(event, payload=bytes(len(event.payload)))
        out.append((at_ms, event))
    return out


moments = st.floats(30.0, 2500.0)
seconds = st.one_of(st.none(), st.floats(0.0, 400.0))
leads = st.sampled_from([0, 60, 400, 1500])


@settings(max_examples=60, deadline=None)
@given(moments, seconds, leads, st.booleans())
def test_nothing_but_the_first_packets_sound_differs(
    at_ms: float, second_at_ms: float | None, lead_ms: int, played: bool
) -> None:
    """Positions, times, heard text and every later packet are as without the crossfade."""
    faded, plain = harness(FLOAT, lead_ms), harness(FLOAT, lead_ms)
    conversation(faded, at_ms, second_at_ms, played)
    with pytest.MonkeyPatch.context() as monkeypatch:
        without_crossfade(monkeypatch)
        conversation(plain, at_ms, second_at_ms, played)
    assert comparable(faded) == comparable(plain)
    head, whole = sound(faded, "c2", FLOAT), sound(plain, "c2", FLOAT)
    count = round(started(faded, "c2").crossfade_ms * RATE_HZ / 1000)
    tail = 0.5 + 0.5 * np.cos(np.pi * (np.arange(count) + 0.5) / count) if count else np.zeros(0)
    assert np.allclose(head[:count], whole[:count] * np.sqrt(1 - tail**2), atol=1e-6)
    assert np.array_equal(head[count:], whole[count:])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(FORMATS), moments, seconds, leads, st.lists(st.integers(1, 3000), max_size=20)
)
def test_a_listener_hears_no_click_and_every_sample_once(
    audio_format: AudioFormat,
    at_ms: float,
    second_at_ms: float | None,
    lead_ms: int,
    takes: list[int],
) -> None:
    h = harness(audio_format, lead_ms)
    conversation(h, at_ms, second_at_ms, played=False)
    first, second = sound(h, "c1", audio_format), sound(h, "c2", audio_format)
    overlap_ms = started(h, "c2").crossfade_ms
    line = mixed(audio_format.sample_rate_hz, first, second, overlap_ms, takes)
    overlap = round(overlap_ms * audio_format.sample_rate_hz / 1000)
    assert len(line) == len(first) + len(second) - overlap
    joint = len(first) - overlap
    assert np.array_equal(line[:joint], first[:joint])
    assert np.array_equal(line[len(first) :], second[overlap:])
    assert np.allclose(line[joint : len(first)], first[joint:] + second[:overlap], atol=1e-6)
    around = line[max(joint - 50, 0) : len(first) + 50]
    inside = max(largest_jump(first), largest_jump(second))
    quantised = 0.02 if audio_format.codec in (Codec.MULAW, Codec.OPUS) else 1e-3
    assert largest_jump(around) <= inside + quantised
    one_behind_the_other = np.concatenate((first[-50:], second[: overlap + 50]))
    assert largest_jump(one_behind_the_other) <= inside + quantised


def mixed(
    rate_hz: int, first: Samples, second: Samples, overlap_ms: float, takes: list[int]
) -> Samples:
    """What a player puts out that lets the first one sound to its faded end."""
    mixer = Mixer(rate_hz)
    mixer.begin(1)
    mixer.push(1, np.concatenate((first, np.full(77, 0.3, np.float32))))  # a decoder's padding
    mixer.finish(1, 1000.0 * len(first) / rate_hz)
    keep = round(overlap_ms * rate_hz / 1000)
    parts = []
    for count in takes:  # not so far that the next one would come too late for the tail
        parts.append(mixer.take(min(count, max(len(first) - keep - sum(map(len, parts)), 0))))
    mixer.begin(2, overlap_ms)
    mixer.push(2, second)
    mixer.finish(2, 1000.0 * len(second) / rate_hz)
    parts.append(mixer.take(round(mixer.queued_ms * rate_hz / 1000)))
    assert mixer.played_ms(1) == pytest.approx(1000.0 * len(first) / rate_hz)
    assert mixer.played_ms(2) == pytest.approx(1000.0 * len(second) / rate_hz)
    return np.concatenate(parts)


def test_one_that_waits_behind_the_interrupted_one_fades_in_over_its_tail() -> None:
    h = harness(FLOAT, lead_ms=60, frame_delay_ms=0.0)
    conversation(h, 400.0, second_at_ms=None, played=False)
    assert started(h, "c2").crossfade_ms == FADE_OUT_MS


@pytest.mark.parametrize(("later_ms", "overlap_ms"), [(900.0, FADE_OUT_MS), (1100.0, 0.0)])
def test_a_tail_that_has_been_played_is_no_longer_there(later_ms: float, overlap_ms: float) -> None:
    h = harness(FLOAT, lead_ms=1000, frame_delay_ms=0.0)
    conversation(h, 400.0, later_ms, played=False)
    assert started(h, "c2").crossfade_ms == overlap_ms


def test_only_the_next_one_fades_in() -> None:
    h = harness(FLOAT, lead_ms=0, frame_delay_ms=0.0)
    say(h, "c1", FIRST * 3)
    h.run(5.0)
    for context in ("c2", "c3"):
        say(h, context, SECOND)
    h.run(30.0)
    h.do(Interrupt("c1"))
    h.run(60_000)
    assert [cast(Started, e).crossfade_ms for e in h.events(Started)] == [0.0, FADE_OUT_MS, 0.0]


def test_without_a_faded_tail_nobody_fades_in() -> None:
    undisturbed, silent, done = (harness(FLOAT, lead_ms=0) for _ in range(3))
    say(undisturbed, "c1", FIRST)
    say(silent, "c1", FIRST)
    silent.do(Interrupt("c1"))  # before the first packet
    say(done, "c1", FIRST)
    done.run(3000)
    assert done.events(Done)
    done.do(Interrupt("c1"))  # all of it was sent
    for h in (undisturbed, silent, done):
        say(h, "c2", SECOND)
        h.run(60_000)
        assert started(h, "c2").crossfade_ms == 0.0
