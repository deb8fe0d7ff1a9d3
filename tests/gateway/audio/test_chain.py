from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.audio import Chain, make_chain
from gateway.audio.constants import CROSSFADE_MS, samples_of, scale_position
from gateway.types import AudioChain, AudioFormat, Codec
from tests.gateway.audio.signals import (
    FORMATS,
    PCM,
    all_formats,
    check_time_line,
    decoded,
    drain,
    largest_jump,
    noise,
    silence,
    sine,
    speak,
    speech_like,
)

ENGINE_RATES = [22_050, 24_000, 44_100]


def test_is_an_audio_chain() -> None:
    chain: AudioChain = make_chain(AudioFormat(), 44_100)
    assert isinstance(chain, Chain)


@all_formats
@pytest.mark.parametrize("engine_hz", ENGINE_RATES)
def test_decoded_duration_is_the_pcms(audio_format: AudioFormat, engine_hz: int) -> None:
    segments = [speech_like(engine_hz, 0.731, 1), speech_like(engine_hz, 0.52, 2)]
    chain = make_chain(audio_format, engine_hz)
    packets = speak(chain, segments)
    line = sum(map(len, segments)) - samples_of(CROSSFADE_MS, engine_hz)
    want = scale_position(line, engine_hz, audio_format.sample_rate_hz)
    assert check_time_line(packets) == chain.position_samples == chain.pre_skip_samples + want
    assert len(decoded(audio_format, packets, chain.pre_skip_samples)) == want
    assert all(p.duration_samples == audio_format.frame_samples for p in packets[:-1])
    assert chain.buffered_samples == 0 and chain.pull() is None


@all_formats
@pytest.mark.parametrize("engine_hz", ENGINE_RATES)
def test_the_sound_arrives_whole_and_in_time(audio_format: AudioFormat, engine_hz: int) -> None:
    tone = sine(engine_hz, 0.5, 300.0)
    chain = make_chain(audio_format, engine_hz)
    got = decoded(audio_format, speak(chain, [tone]), chain.pre_skip_samples)
    want = sine(audio_format.sample_rate_hz, 0.5, 300.0)
    inside = slice(len(want) // 10, -len(want) // 20)
    error = got[inside] - want[inside]
    tolerance = {Codec.OPUS: 0.12, Codec.MULAW: 0.02, Codec.ALAW: 0.02}
    bound = 0.2 if audio_format.fec else tolerance.get(audio_format.codec, 2e-4)
    assert np.sqrt(np.mean(error**2)) < bound  # SILK's high-pass shifts the phase


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(FORMATS),
    st.sampled_from(ENGINE_RATES),
    st.sampled_from([1.0, 1.0, 0.8, 1.7]),
    st.lists(st.integers(0, 20_000), min_size=1, max_size=3),
    st.integers(1, 5_000),
    st.booleans(),
)
def test_streamed_packets_equal_those_made_in_one_piece(
    audio_format: AudioFormat, hz: int, speed: float, lengths: list[int], chunk: int, pull: bool
) -> None:
    segments = [speech_like(hz, 1.0, seed)[:n] for seed, n in enumerate(lengths)]
    whole = speak(make_chain(audio_format, hz, speed), segments, 1 << 20, pull=False)
    assert speak(make_chain(audio_format, hz, speed), segments, chunk, pull) == whole


@pytest.mark.parametrize("audio_format", [f for f in FORMATS if f.frame_ms <= 20], ids=str)
@pytest.mark.parametrize("sound", [speech_like, silence], ids=["speech", "silence"])
def test_the_first_packet_leaves_with_the_first_engine_frame(audio_format, sound) -> None:  # type: ignore[no-untyped-def]
    chain = make_chain(audio_format, 44_100)
    chain.begin_segment()
    chain.push(sound(44_100, 1.0)[:2048].tobytes())
    assert chain.pull() is not None


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
def test_the_first_packet_leaves_with_the_first_frame_of_a_22_khz_engine(rate_hz: int) -> None:
    chain = make_chain(AudioFormat(Codec.PCM_S16LE, rate_hz), 22_050)
    chain.begin_segment()
    chain.push(speech_like(22_050, 1.0)[:1024].tobytes())
    assert chain.pull() is not None


def test_no_larger_jump_across_a_seam_than_inside() -> None:
    for seed in range(8):
        a, b = speech_like(44_100, 0.4, seed), speech_like(44_100, 0.4, seed + 50)
        got = decoded(PCM, speak(make_chain(PCM, 44_100), [a, b]))
        seam = got[len(a) - 400 : len(a) + 400]
        assert largest_jump(seam) <= max(largest_jump(a), largest_jump(b))


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([AudioFormat(), PCM, AudioFormat(Codec.MULAW, 8_000)]),
    st.sampled_from([1.0, 1.5, 0.6]),
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)), min_size=1, max_size=3),
)
def test_positions_are_monotonic_final_and_inside_the_time_line(
    audio_format: AudioFormat, speed: float, lengths: list[tuple[int, int]]
) -> None:
    chain = make_chain(audio_format, 44_100, speed)
    answers: dict[tuple[int, int], int] = {}
    segments = [
        np.concatenate([silence(44_100, quiet / 44_100), noise(44_100, 1.0, i)[:loud]])
        for i, (quiet, loud) in enumerate(lengths)
    ]

    def ask() -> None:
        for index, segment in enumerate(segments):
            for sample in range(0, len(segment) + 1, 1_499):
                place = chain.output_samples(index, sample)
                if place is not None:
                    assert answers.setdefault((index, sample), place) == place

    for segment in segments:
        chain.begin_segment()
        for at in range(0, len(segment), 4_096):
            chain.push(segment[at : at + 4_096].tobytes())
            ask()
        chain.end_segment()
        ask()
    chain.finish()
    ask()
    total = check_time_line(drain(chain))
    places = [answers[key] for key in sorted(answers)]
    assert places == sorted(places)
    assert all(0 <= place <= total for place in places)
    for index, segment in enumerate(segments):
        start, end = chain.segment_start_samples(index), chain.output_samples(index, len(segment))
        assert start is not None and end is not None and start <= end
        assert answers[index, 0] >= start
    assert chain.segment_start_samples(len(segments)) is None
    assert chain.output_samples(len(segments), 0) is None


def test_a_segment_is_where_its_position_says() -> None:
    first, second = speech_like(44_100, 0.5, 1), speech_like(44_100, 0.5, 2)
    chain = make_chain(PCM, 44_100)
    got = decoded(PCM, speak(chain, [first, second]))
    place = chain.output_samples(1, 3_000)
    assert place is not None
    assert np.array_equal(got[place : place + 5_000], second[3_000:8_000])


def test_a_position_not_yet_pushed_is_not_known() -> None:
    chain = make_chain(PCM, 44_100)
    assert chain.output_samples(0, 0) is None and chain.segment_start_samples(0) is None
    chain.begin_segment()
    chain.push(noise(44_100, 0.1).tobytes())
    assert chain.segment_start_samples(0) == 0
    assert chain.output_samples(0, 4_410) == 4_410
    assert chain.output_samples(0, 4_411) is None


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8_191])
def test_partial_samples_are_refused_and_do_no_harm(count: int) -> None:
    chain = make_chain(PCM, 44_100)
    chain.begin_segment()
    with pytest.raises(ValueError, match=f"got {count} bytes"):
        chain.push(bytes(count))
    sound = noise(44_100, 0.2)
    chain.push(sound.tobytes())
    chain.finish()
    assert check_time_line(drain(chain)) == len(sound)


def test_one_bad_sample_does_not_spoil_the_stream() -> None:
    sound = sine(44_100, 0.5)
    sound[5_000] = np.nan
    audio_format = AudioFormat(Codec.PCM_S16LE, 24_000)
    got = decoded(audio_format, speak(make_chain(audio_format, 44_100), [sound]))
    assert np.abs(got[6_000:11_000] - sine(24_000, 0.5)[6_000:11_000]).max() < 1e-3


def test_overload_clips_instead_of_wrapping() -> None:
    audio_format = AudioFormat(Codec.PCM_S16LE, 44_100)
    got = decoded(
        audio_format, speak(make_chain(audio_format, 44_100), [sine(44_100, 0.2, 100, 3)])
    )
    loud = sine(44_100, 0.2, 100, 3)
    assert np.all(got[np.abs(loud) > 1.1][200:-300] * loud[np.abs(loud) > 1.1][200:-300] > 0)
    assert 0.99 < got.max() < 1.0 and got.min() == -1.0


def test_no_context_without_sound_makes_a_packet() -> None:
    chain = make_chain(AudioFormat(), 44_100)
    chain.finish()
    assert chain.pull() is None and chain.position_samples == 0
    assert chain.fade_out() == []
