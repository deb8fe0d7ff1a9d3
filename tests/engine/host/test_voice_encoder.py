"""Recordings to codes: the encoder is loaded once, whoever comes first."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from engine.codec.encoder import Encoder
from engine.host.voice_encoder import VoiceEncoder
from engine.workshop.train.corpus.wav import write_wav
from tests.golden_data import TINY

CALLERS = 4


@pytest.fixture
def recording(tmp_path: Path) -> bytes:
    noise = np.random.default_rng(0).standard_normal(44_100).astype(np.float32)
    write_wav(tmp_path / "a.wav", 0.1 * noise, 44_100)
    return (tmp_path / "a.wav").read_bytes()


def test_first_calls_side_by_side_load_one_encoder(
    recording: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[Path] = []
    load = Encoder.from_checkpoint
    all_here, second = threading.Barrier(CALLERS), threading.Barrier(2)

    def loading(directory: Path) -> Encoder:
        loads.append(directory)
        with contextlib.suppress(threading.BrokenBarrierError):
            second.wait(0.2)  # the others, if they could come so far
        return load(directory)

    monkeypatch.setattr(Encoder, "from_checkpoint", loading)
    encoder = VoiceEncoder(TINY)

    def call(_: int) -> np.ndarray:
        all_here.wait(10)
        return encoder(recording)

    with ThreadPoolExecutor(CALLERS) as pool:
        results = list(pool.map(call, range(CALLERS)))
    assert loads == [TINY]
    assert all(np.array_equal(result, results[0]) for result in results)


def test_a_load_that_fails_is_tried_again(
    recording: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = VoiceEncoder(TINY)
    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "from_checkpoint", lambda _: (_ for _ in ()).throw(OSError("disk")))
        with pytest.raises(OSError, match="disk"):
            encoder(recording)
    assert len(encoder(recording)) == 22
