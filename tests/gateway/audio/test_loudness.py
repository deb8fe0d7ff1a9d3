from __future__ import annotations

import numpy as np
import pytest

from gateway.audio import make_chain, voice_gain
from gateway.audio.loudness import LIMIT_DB, PEAK, TARGET_DBFS, speech_level_dbfs
from tests.gateway.audio.signals import PCM, decoded, silence, sine, speak, speech_like

RATE = 24_000


def test_level_of_a_tone_is_its_rms() -> None:
    level = speech_level_dbfs(sine(RATE, 1.0, 200.0, 0.1), RATE)
    assert level == pytest.approx(20 * np.log10(0.1 / 2**0.5), abs=0.05)


def test_pauses_do_not_count() -> None:
    speech = speech_like(RATE, 3.0)
    pauses = np.concatenate([speech, silence(RATE, 10.0), speech])
    plain, spread = speech_level_dbfs(speech, RATE), speech_level_dbfs(pauses, RATE)
    assert plain is not None and spread is not None and abs(plain - spread) < 1.0


@pytest.mark.parametrize("change_db", [-5.0, -3.0, 0.0, 2.0])
def test_voices_become_equally_loud(change_db: float) -> None:
    voice = speech_like(RATE, 3.0) * np.float32(10 ** (change_db / 20) * 0.5)
    level = speech_level_dbfs(voice * np.float32(voice_gain(voice, RATE)), RATE)
    assert level == pytest.approx(TARGET_DBFS, abs=0.2)


def test_the_gain_is_bounded_and_never_clips() -> None:
    quiet, spiky = sine(RATE, 1.0, 200.0, 0.002), sine(RATE, 1.0, 200.0, 0.03)
    spiky[5_000] = 0.7
    assert voice_gain(quiet, RATE) == pytest.approx(10 ** (LIMIT_DB / 20))
    assert voice_gain(spiky, RATE) * 0.7 <= PEAK * 1.0001
    assert voice_gain(sine(RATE, 1.0, 200.0, 1.0), RATE) == pytest.approx(10 ** (-LIMIT_DB / 20))
    assert voice_gain(silence(RATE, 1.0), RATE) == 1.0
    assert voice_gain(silence(RATE, 0.01), RATE) == 1.0


def test_the_chain_applies_it_to_every_sample() -> None:
    sound = speech_like(44_100, 0.5)
    plain = decoded(PCM, speak(make_chain(PCM, 44_100), [sound]))
    louder = decoded(PCM, speak(make_chain(PCM, 44_100, voice_gain=1.5), [sound]))
    assert np.allclose(louder, 1.5 * plain, atol=1e-6)
    with pytest.raises(ValueError, match="voice_gain: expected above 0, got 0"):
        make_chain(PCM, 44_100, voice_gain=0)
