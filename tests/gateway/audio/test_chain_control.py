from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.audio import make_chain
from gateway.audio.constants import CROSSFADE_MS, samples_of, scale_position
from gateway.types import AudioFormat, Codec
from tests.gateway.audio.signals import (
    PCM,
    all_formats,
    check_time_line,
    decoded,
    drain,
    largest_jump,
    noise,
    sine,
    speak,
    speech_like,
)

# --- silence, flush, speed ---


def test_added_silence_is_exact() -> None:
    chain = make_chain(PCM, 44_100)
    tone = sine(44_100, 0.2)
    chain.begin_segment()
    chain.push(tone.tobytes())
    chain.end_segment()
    chain.add_silence(300)
    chain.begin_segment()
    chain.push(tone.tobytes())
    chain.finish()
    got = decoded(PCM, drain(chain))
    assert len(got) == 2 * len(tone) + 13_230
    assert not got[len(tone) : len(tone) + 13_230].any()
    assert chain.segment_start_samples(1) == len(tone) + 13_230
    with pytest.raises(ValueError, match="expected 0 or more, got -1"):
        chain.add_silence(-1)


@all_formats
def test_flush_lets_everything_out_and_the_stream_goes_on(audio_format: AudioFormat) -> None:
    chain = make_chain(audio_format, 44_100)
    tone = sine(44_100, 0.333)
    chain.begin_segment()
    chain.push(tone.tobytes())
    chain.end_segment()
    packets = drain(chain)
    before = chain.position_samples
    chain.flush()
    packets += drain(chain)
    end = chain.output_samples(0, len(tone))
    assert end is not None and before < end + chain.pre_skip_samples <= chain.position_samples
    assert chain.position_samples - end < audio_format.sample_rate_hz * 0.25
    chain.begin_segment()
    chain.push(tone.tobytes())
    chain.finish()
    packets += drain(chain)
    got = decoded(audio_format, packets, chain.pre_skip_samples)
    start = chain.segment_start_samples(1)
    assert start is not None and len(got) == check_time_line(packets) - chain.pre_skip_samples
    assert abs(len(got) - start - 0.333 * audio_format.sample_rate_hz) <= 1
    assert np.abs(got[end + 200 : start - 200]).max(initial=0) < 0.02


@pytest.mark.parametrize("speed", [0.5, 0.75, 1.25, 2.0])
def test_speed_changes_the_duration_exactly(speed: float) -> None:
    audio_format = AudioFormat(Codec.PCM_S16LE, 24_000)
    chain = make_chain(audio_format, 44_100, speed)
    sound = speech_like(44_100, 1.0)
    total = check_time_line(speak(chain, [sound]))
    assert total == scale_position(round(len(sound) / speed), 44_100, 24_000)
    assert chain.output_samples(0, len(sound)) == total
    middle = chain.output_samples(0, 22_050)
    assert middle is not None and abs(middle - 12_000 / speed) <= 1


def test_speed_may_change_between_segments() -> None:
    chain = make_chain(PCM, 44_100, 2.0)
    sound = noise(44_100, 0.5)
    starts = []
    for speed in (2.0, 1.0, 0.5):
        chain.set_speed(speed)
        chain.begin_segment()
        chain.set_speed(1.3)  # not for the running segment
        chain.push(sound.tobytes())
        chain.end_segment()
        starts.append(chain.segment_start_samples(len(starts)))
    chain.finish()
    hold = samples_of(CROSSFADE_MS, 44_100)
    assert starts == [0, 11_025, 11_025 + 22_050 - hold]
    assert check_time_line(drain(chain)) == 11_025 + 22_050 + 44_100 - 2 * hold
    with pytest.raises(ValueError, match="speed: expected 0.25 to 4.0, got 5"):
        chain.set_speed(5)


# --- duck ---


@pytest.mark.parametrize("frame_ms", [10, 20, 60])
@pytest.mark.parametrize("codec", [Codec.PCM_F32LE, Codec.OPUS])
def test_gain_steps_do_not_click(codec: Codec, frame_ms: int) -> None:
    audio_format = AudioFormat(codec, 48_000, frame_ms)
    chain = make_chain(audio_format, 48_000)
    chain.begin_segment()
    tone = sine(48_000, 3.0, 150.0)
    chain.push(tone.tobytes())
    packets = []
    for gain in (0.2, 1.0, 0.0, 0.7, 1.0):
        packets += [chain.pull() for _ in range(4)]
        chain.set_gain(gain)
    chain.finish()
    packets += drain(chain)
    got = decoded(audio_format, packets, chain.pre_skip_samples)
    bound = 1.05 if codec is Codec.PCM_F32LE else 1.6
    ramp = 0.5 * np.pi / 2 / (0.0035 if codec is Codec.OPUS and frame_ms == 10 else 0.01) / 48_000
    assert largest_jump(got) <= bound * largest_jump(tone) + ramp
    assert check_time_line(packets) == len(tone) + chain.pre_skip_samples


def test_a_duck_acts_on_the_next_packet_and_a_resume_restores_every_sample() -> None:
    chain = make_chain(PCM, 44_100)
    sound = noise(44_100, 1.0)
    chain.begin_segment()
    chain.push(sound.tobytes())
    n = PCM.frame_samples
    packets = [chain.pull()]
    chain.set_gain(0.25)
    packets += [chain.pull(), chain.pull()]
    chain.set_gain(1.0)
    packets += [chain.pull(), chain.pull()]
    got = decoded(PCM, [p for p in packets if p])
    assert np.array_equal(got[200:n], sound[200:n])
    assert np.allclose(got[2 * n : 3 * n], 0.25 * sound[2 * n : 3 * n])
    assert np.array_equal(got[4 * n : 5 * n], sound[4 * n : 5 * n])
    with pytest.raises(ValueError, match=r"gain: expected 0.0 to 1.0, got 1.5"):
        chain.set_gain(1.5)


@pytest.mark.parametrize("frame_ms", [10, 20, 40, 60])
def test_one_packet_carries_the_whole_way_to_silence(frame_ms: int) -> None:
    """A pause stops after one more packet: what a decoder made of it must end in silence."""
    audio_format = AudioFormat(frame_ms=frame_ms)
    chain = make_chain(audio_format, 48_000)
    chain.begin_segment()
    chain.push(sine(48_000, 1.0, 200.0).tobytes())
    packets = [chain.pull() for _ in range(3)]
    chain.set_gain(0.0)
    packets.append(chain.pull())
    got = decoded(audio_format, [p for p in packets if p])
    # look-ahead leaves a 10 ms packet 3.5 ms to fade in; the tone has 0.5
    assert np.abs(got[-48:]).max() < (0.1 if frame_ms == 10 else 0.03)


operations = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 6_000)),
        st.tuples(st.just("silence"), st.integers(0, 200)),
        st.tuples(st.just("gain"), st.sampled_from([0.0, 0.3, 1.0])),
        st.tuples(st.just("speed"), st.sampled_from([0.7, 1.0, 1.6])),
        st.tuples(
            st.sampled_from(["begin", "end", "flush", "pull", "pull", "finish", "fade"]), st.just(0)
        ),
    ),
    max_size=40,
)


@settings(max_examples=80, deadline=None)
@given(operations, st.sampled_from([AudioFormat(), PCM, AudioFormat(Codec.MULAW, 8_000, 60)]))
def test_any_order_of_calls_keeps_the_time_line(
    ops: list[tuple[str, float]], fmt: AudioFormat
) -> None:
    chain, packets, sound = make_chain(fmt, 44_100), [], speech_like(44_100, 0.2)

    def do(name: str, value: float) -> None:
        if name == "pull":
            packets.extend(p for p in [chain.pull()] if p)
        elif name == "fade":
            packets.extend(chain.fade_out())
        elif name == "push":
            chain.push(sound[: int(value)].tobytes())
        elif name in ("silence", "gain", "speed"):
            calls = {"silence": chain.add_silence, "gain": chain.set_gain, "speed": chain.set_speed}
            calls[name](value)
        else:
            calls = {"begin": chain.begin_segment, "end": chain.end_segment}
            {**calls, "flush": chain.flush, "finish": chain.finish}[name]()

    for name, value in ops:
        try:
            do(name, value)
        except ValueError as error:
            assert "segment" in str(error)
        assert chain.buffered_samples >= 0
        assert check_time_line(packets) == chain.position_samples
    chain.finish()
    packets += drain(chain)
    assert len(decoded(fmt, packets)) == chain.position_samples
    assert chain.buffered_samples == 0
