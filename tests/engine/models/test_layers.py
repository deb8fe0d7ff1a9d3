"""The block's norms, where the reference rounds: a matter of bf16."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.checkpoint.folder import Checkpoint
from engine.models.layers import Attention, RMSNorm, rotate
from engine.models.plain import default_dtype
from tests.golden_data import TINY

CONFIG = Checkpoint.open(TINY).config.text_config
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
TOKENS = 16


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", DTYPES)
@torch.no_grad()
def test_the_heads_norms_round_once_as_torchs_do(dtype: torch.dtype) -> None:
    """The reference's q and k norms are torch.nn.RMSNorm (specification, slow AR)."""
    with default_dtype(dtype):
        attention = Attention(CONFIG, 0)
    heads, size = attention.heads + attention.kv_heads, attention.head_dim
    assert isinstance(attention.wqkv, torch.nn.Linear)
    attention.wqkv.weight.copy_(noise(*attention.wqkv.weight.shape))
    q_weight, k_weight = (1 + 0.3 * noise(size, seed=seed) for seed in (1, 2))
    assert attention.qk_norm is not None
    attention.qk_norm[: attention.heads] = q_weight.to(dtype)
    attention.qk_norm[attention.heads :] = k_weight.to(dtype)
    x = noise(TOKENS, CONFIG.dim, seed=3).to(dtype)
    turn = torch.ones(TOKENS, size // 2, dtype=torch.complex64)  # no rotation
    q, k, _ = attention.project(x, turn)

    projected = attention.wqkv(x).view(TOKENS, -1, size)
    for ours, heads_of, weight in (
        (q, projected[:, : attention.heads], q_weight),
        (k, projected[:, attention.heads : heads], k_weight),
    ):
        expected = F.rms_norm(heads_of, (size,), weight.to(dtype), CONFIG.norm_eps)
        assert torch.equal(ours, rotate(expected, turn))


@pytest.mark.parametrize("dtype", DTYPES)
@torch.no_grad()
def test_the_blocks_norms_round_before_the_weight_too(dtype: torch.dtype) -> None:
    norm = RMSNorm(64, 1e-6)
    norm.weight.copy_(1 + 0.3 * noise(64))
    norm.to(dtype)
    x = noise(TOKENS, 64, seed=1).to(dtype)
    wide = x.float()
    root = (wide.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    expected = (wide * root).to(dtype) * norm.weight
    assert torch.allclose(norm(x).float(), expected.float(), atol=0, rtol=2**-20)
