"""Recordings on disk: what 16 bits keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.workshop.train.corpus.wav import read_wav, write_wav

STEP = 1.0 / 32768.0


def test_sound_comes_back_within_two_steps_and_full_scale_does_not_wrap(tmp_path: Path) -> None:
    sound = np.sin(np.linspace(0.0, 300.0, 8000)).astype(np.float32)
    sound[:2] = 1.5, -1.5
    write_wav(tmp_path / "a.wav", sound, 8000)
    back, rate_hz = read_wav(tmp_path / "a.wav")
    assert rate_hz == 8000
    assert np.abs(back - np.clip(sound, -1, 1)).max() <= 2.5 * STEP


def test_what_is_quieter_than_a_step_is_kept_in_the_mean(tmp_path: Path) -> None:
    write_wav(tmp_path / "a.wav", np.full(40_000, 0.3 * STEP, np.float32), 8000)
    back, _ = read_wav(tmp_path / "a.wav")
    assert abs(back.mean() / STEP - 0.3) < 0.05


def test_the_same_sound_makes_the_same_file(tmp_path: Path) -> None:
    sound = np.linspace(-0.5, 0.5, 1000, dtype=np.float32)
    for name in ("a.wav", "b.wav"):
        write_wav(tmp_path / name, sound, 8000)
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()
