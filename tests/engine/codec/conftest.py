"""Codecs to test: S2-Pro's tiny golden one, and made-up ones of other sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from torch import Tensor

from engine.codec.decoder import StreamingDecoder
from engine.codec.encoder import Encoder
from engine.codec.sizes import CONFIG_FILE, CodecConfig
from engine.codec.weights import WEIGHTS_FILE, expected_tensors
from tests.golden_data import TINY

# as a small voice may be: another rate and frame, few and wide codebooks, three blocks, odd widths
SMALL = CodecConfig(
    sample_rate_hz=22050,
    n_residual_codebooks=3,
    semantic_codebook_size=96,
    residual_codebook_size=40,
    codebook_dim=24,
    latent_dim=24,
    resample_factors=(2, 4),
    decoder_dim=40,
    decoder_rates=(8, 4, 4),
    residual_dilations=(1, 5),
    encoder_dim=6,
    encoder_rates=(4, 4, 8),
    encoder_transformer_layers=(1, 0, 0),
    encoder_transformer_heads=1,
    encoder_transformer_ff=20,
    encoder_window=48,
    pre_layers=1,
    post_layers=2,
    latent_heads=3,
    latent_ff=32,
    latent_window=5,
    head_dim=16,
)

WriteCodec = Callable[[CodecConfig], Path]


def random_tensors(config: CodecConfig, seed: int = 0) -> dict[str, Tensor]:
    """Tensors of a codec of these sizes that keep signals at about their loudness."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for name, shape in expected_tensors(config):
        fan_in = max(1, torch.Size(shape[1:]).numel())
        tensor = 0.6 * torch.randn(shape, generator=generator) / fan_in**0.5
        if name.endswith((".alpha", "norm.weight")):
            tensor = 0.5 + torch.rand(shape, generator=generator)
        tensors[name] = tensor
    return tensors


def write_codec(folder: Path, config: CodecConfig, tensors: dict[str, Tensor]) -> Path:
    """A checkpoint directory with just a codec."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG_FILE).write_text(json.dumps(asdict(config)), encoding="utf-8")
    torch.save(tensors, folder / WEIGHTS_FILE)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Small tensors are slower on many threads, far more so beside other work."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def small_codec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint directory of SMALL's sizes."""
    return write_codec(tmp_path_factory.mktemp("small"), SMALL, random_tensors(SMALL))


@pytest.fixture(scope="session")
def decoder() -> StreamingDecoder:
    """The golden codec with 8 slots, all free between tests."""
    return StreamingDecoder.from_checkpoint(TINY, max_slots=8)


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """The golden codec's encoder."""
    return Encoder.from_checkpoint(TINY)
