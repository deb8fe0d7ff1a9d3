from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gateway.audio import Chain, make_chain
from gateway.audio.splice import rising
from gateway.types import AudioFormat, Codec, Packet
from tests.gateway.audio.signals import (
    PCM,
    all_formats,
    check_time_line,
    decoded,
    largest_jump,
    noise,
    sine,
    speak,
    speech_like,
)


def interrupted(
    audio_format: AudioFormat, sound: np.ndarray, pulled: int, pushed: int | None = None
) -> tuple[Chain, list[Packet], list[Packet]]:
    chain = make_chain(audio_format, 44_100)
    chain.begin_segment()
    chain.push(sound[:pushed].tobytes())
    packets = []
    for _ in range(pulled):
        packet = chain.pull()
        if packet is not None:
            packets.append(packet)
    return chain, packets, chain.fade_out()


@all_formats
@pytest.mark.parametrize("pulled", [1, 5, 1_000])
@pytest.mark.parametrize("make", [sine, speech_like], ids=["sine", "speech"])
def test_fade_out_ends_in_silence_without_a_click(audio_format, pulled, make) -> None:  # type: ignore[no-untyped-def]
    sound = make(44_100, 0.61)
    chain, packets, faded = interrupted(audio_format, sound, pulled)
    limit_ms = 25 + 1000 * chain.pre_skip_samples / audio_format.sample_rate_hz
    assert 1 <= len(faded) <= 2
    assert sum(p.duration_samples for p in faded) <= audio_format.sample_rate_hz * limit_ms / 1000
    check_time_line(packets + faded)
    got = decoded(audio_format, packets + faded)
    lossy = audio_format.codec is Codec.OPUS
    assert abs(got[-1]) < (0.03 if lossy else 0.01)
    plain = make_chain(audio_format, 44_100)
    uncut = decoded(audio_format, speak(plain, [sound]))
    tail = got[-audio_format.sample_rate_hz // 25 :]
    assert largest_jump(tail) <= 1.1 * largest_jump(uncut) + 0.01
    assert chain.pull() is None and chain.buffered_samples == 0


def test_the_fade_follows_the_sound_exactly() -> None:
    sound = noise(44_100, 0.5)
    chain, packets, faded = interrupted(PCM, sound, 3)
    got, at = decoded(PCM, faded), 3 * PCM.frame_samples
    assert len(got) == 441
    assert np.all(np.abs(got) <= np.abs(sound[at : at + 441]))
    assert np.allclose(got[:20], sound[at : at + 20], atol=2e-3)
    assert chain.position_samples == at + 441


@all_formats
def test_what_follows_a_faded_tail_begins_at_equal_power(audio_format: AudioFormat) -> None:
    sound = noise(44_100, 0.5)
    cut, _, faded = interrupted(audio_format, sound, 3)
    assert faded and cut.faded_ms == pytest.approx(10.0, abs=0.1)
    plain, after = make_chain(audio_format, 44_100), make_chain(audio_format, 44_100)
    after.fade_in(cut.faded_ms)
    whole = decoded(audio_format, speak(plain, [sound]), plain.pre_skip_samples)
    got = decoded(audio_format, speak(after, [sound]), after.pre_skip_samples)
    assert len(got) == len(whole)
    if audio_format.codec is Codec.PCM_F32LE:
        count = round(cut.faded_ms * audio_format.sample_rate_hz / 1000)
        tail = rising(count)[::-1]
        assert np.allclose(got[:count] ** 2 + (whole[:count] * tail) ** 2, whole[:count] ** 2)
        assert np.array_equal(got[count:], whole[count:])
    else:
        first_ms = round(audio_format.sample_rate_hz / 1000)
        assert np.abs(got[:first_ms]).max() < 0.3 * np.abs(whole).max()


def test_a_fade_in_comes_before_the_first_packet() -> None:
    chain = make_chain(PCM, 44_100)
    for duration_ms in (10.0, 0.0):  # the last word counts
        chain.fade_in(duration_ms)
    chain.begin_segment()
    chain.push(np.full(4096, 0.5, np.float32).tobytes())
    packet = chain.pull()
    assert packet is not None and decoded(PCM, [packet])[440] == 0.5
    with pytest.raises(ValueError, match="before any packet"):
        chain.fade_in(10.0)


def test_nothing_to_fade_makes_no_packet() -> None:
    assert interrupted(AudioFormat(), sine(44_100, 1.0), 0)[2] == []  # before the first
    chain = make_chain(AudioFormat(), 44_100)
    speak(chain, [sine(44_100, 0.3)])
    assert chain.fade_out() == []  # after the last
    chain = make_chain(AudioFormat(), 44_100)
    chain.begin_segment()
    chain.push(sine(44_100, 1.0).tobytes())
    chain.pull()
    chain.set_gain(0.0)
    chain.pull()
    assert chain.fade_out() == []  # while silent


@all_formats
def test_a_starved_chain_fades_what_it_holds(audio_format: AudioFormat) -> None:
    chain, packets, faded = interrupted(audio_format, sine(44_100, 1.0), 100, pushed=8_192)
    assert faded
    got = decoded(audio_format, packets + faded)
    assert abs(got[-1]) < 0.03
    assert len(packets) * audio_format.frame_samples < len(got)


@all_formats
def test_fade_out_in_the_tail_stays_inside_the_end(audio_format: AudioFormat) -> None:
    sound = sine(44_100, 0.3)
    for behind in range(1, 4):
        chain = make_chain(audio_format, 44_100)
        chain.begin_segment()
        chain.push(sound.tobytes())
        chain.finish()
        end = chain.buffered_samples
        packets = []
        while chain.buffered_samples > behind * audio_format.frame_samples:
            packet = chain.pull()
            assert packet is not None
            packets.append(packet)
        packets += chain.fade_out()
        assert check_time_line(packets) <= end


def test_after_a_fade_out_late_sound_is_dropped() -> None:
    chain, packets, faded = interrupted(AudioFormat(), sine(44_100, 1.0), 3)
    position = chain.position_samples
    for late in (chain.begin_segment, chain.end_segment, chain.finish, chain.flush):
        late()
    chain.push(sine(44_100, 1.0).tobytes())
    chain.add_silence(100)
    assert chain.pull() is None and chain.fade_out() == []
    assert chain.position_samples == position
    assert all(a.start_samples < b.start_samples for a, b in pairwise(packets + faded))


def test_calls_out_of_order_are_refused() -> None:
    chain = make_chain(AudioFormat(), 44_100)
    with pytest.raises(ValueError, match="expected begin_segment"):
        chain.push(bytes(4))
    with pytest.raises(ValueError, match="expected begin_segment"):
        chain.end_segment()
    chain.begin_segment()
    with pytest.raises(ValueError, match="expected end_segment"):
        chain.begin_segment()
    with pytest.raises(ValueError, match="expected end_segment"):
        chain.add_silence(10)
