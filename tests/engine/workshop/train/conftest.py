"""Small configurations: every stage on next to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine.workshop.train.recipe import VoiceConfig

TINY = """
[corpus]
rate_hz = 4000
shards = 1
[codec]
sample_rate_hz = 4000
n_residual_codebooks = 2
semantic_codebook_size = 60
residual_codebook_size = 20
codebook_dim = 10
latent_dim = 32
resample_factors = [2, 2]
decoder_dim = 32
decoder_rates = [2, 16]
decoder_block_dims = [24, 10]
decoder_residual_dilations = [1, 3]
encoder_dim = 8
encoder_rates = [4, 8]
encoder_transformer_layers = [0, 0]
pre_layers = 1
post_layers = 1
latent_heads = 2
latent_ff = 48
latent_window = 6
head_dim = 16
[slow]
n_layer = 2
dim = 32
n_head = 4
n_local_heads = 2
head_dim = 16
intermediate_size = 48
rope_base = 10000.0
norm_eps = 1e-6
max_seq_len = 256
[fast]
n_layer = 1
dim = 24
n_head = 2
n_local_heads = 1
head_dim = 16
intermediate_size = 32
rope_base = 10000.0
norm_eps = 1e-6
"""


@pytest.fixture
def config(tmp_path: Path) -> VoiceConfig:
    """A tiny voice: frames of 128 samples at 4 kHz, three codebooks."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, "utf-8")
    return VoiceConfig.load(path)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
