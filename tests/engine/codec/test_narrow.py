"""Which codecs are decoded in tiles, and that the others sound the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.codec import decoder as codec_decoder
from engine.codec.decoder import StreamingDecoder
from engine.codec.narrow import is_small
from engine.codec.sizes import CodecConfig
from tests.engine.codec.conftest import SMALL
from tests.engine.codec.test_decoder import GOLDEN_TOLERANCE, chunked, some_codes


@pytest.mark.parametrize("sizes", [[1], [3, 8]])
def test_the_convolutions_of_any_size(
    monkeypatch: pytest.MonkeyPatch, small_codec: Path, sizes: list[int]
) -> None:
    """As a large codec is decoded on a CPU: other loops, other order of the state."""
    codes = some_codes(SMALL, 21, seed=8)
    narrow = StreamingDecoder.from_checkpoint(small_codec, 1)
    monkeypatch.setattr(codec_decoder, "is_small", lambda config, device: False)
    wide = StreamingDecoder.from_checkpoint(small_codec, 2)
    samples = chunked(wide, codes, sizes)
    np.testing.assert_array_equal(samples, wide.decode_whole(codes))
    np.testing.assert_allclose(samples, narrow.decode_whole(codes), rtol=0, atol=GOLDEN_TOLERANCE)


def test_small_is_what_tiles_pay_for() -> None:
    cpu = torch.device("cpu")
    assert is_small(SMALL, cpu)
    assert not is_small(CodecConfig(), cpu)  # S2-Pro
    assert not is_small(SMALL, torch.device("cuda"))
