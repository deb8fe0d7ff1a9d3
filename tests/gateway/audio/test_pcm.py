from __future__ import annotations

import numpy as np
import pytest

from gateway.audio.pcm import from_bytes, from_int16, to_int16


def test_int16_rounds_and_clips_and_never_wraps() -> None:
    values = np.array([0, 1, -1, 2, -2, 1e9, -1e9, 0.4 / 32768, 0.6 / 32768, -0.6 / 32768], "f4")
    assert to_int16(values).tolist() == [
        0, 32767, -32768, 32767, -32768, 32767, -32768, 0, 1, -1
    ]  # fmt: skip


def test_every_int16_survives_the_round_trip() -> None:
    every = np.arange(-32768, 32768).astype(np.int16)
    assert np.array_equal(to_int16(from_int16(every)), every)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 4097])
def test_partial_samples_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"4 bytes, got {count} bytes"):
        from_bytes(bytes(count))


def test_what_is_no_number_becomes_silence() -> None:
    bad = np.array([0.5, np.nan, np.inf, -np.inf, -0.25], "<f4").tobytes()
    assert from_bytes(bad).tolist() == [0.5, 0.0, 1.0, -1.0, -0.25]
    assert len(from_bytes(b"")) == 0
