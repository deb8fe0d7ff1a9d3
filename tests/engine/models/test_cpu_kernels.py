"""The compiled attention of a CPU says what torch's says, row by row, whatever the batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.checkpoint.config_json import FastConfig
from engine.models import cpu_kernels
from engine.models.fast_ar import FastAR

CONFIG = FastConfig(
    dim=24,
    n_layer=2,
    n_head=4,
    n_local_heads=2,
    head_dim=16,
    intermediate_size=40,
    rope_base=10000.0,
    norm_eps=1e-6,
    vocab_size=50,
    num_codebooks=5,
    max_seq_len=6,
    attention_qk_norm=False,
    text_dim=32,
)


def fast_ar(max_batch: int) -> FastAR:
    torch.manual_seed(0)
    fast = FastAR(CONFIG, 32, max_batch)
    with torch.no_grad():
        for parameter in fast.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.3)
    return fast


@torch.inference_mode()
@pytest.mark.parametrize("batch", [1, 3])
def test_the_fast_ar_gives_the_same_logits_compiled(batch: int) -> None:
    eager, compiled = fast_ar(batch), fast_ar(batch)
    compiled.compile_attention()
    hidden = torch.randn(batch, 32)
    codes = torch.randint(0, 50, (batch, 5))
    for _ in range(2):  # the cache of the frame before must not matter
        expected = eager.teacher_forced(hidden, codes)
        assert torch.allclose(compiled.teacher_forced(hidden, codes), expected, atol=1e-4)


@torch.inference_mode()
def test_a_row_does_not_depend_on_its_batch() -> None:
    fast = fast_ar(4)
    fast.compile_attention()
    qkv = torch.randn(4, 8, 16).numpy()
    turns = torch.view_as_real(fast.turns).numpy()

    def run(rows: slice) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        part = np.ascontiguousarray(qkv[rows])
        cache = np.zeros((2, len(part), 2, 5, 16), np.float32)
        out = np.empty((len(part), 4, 16), np.float32)
        for at in range(3):
            cpu_kernels.attend_frame(part, turns, at, cache[0], cache[1], out)
        return out

    assert np.array_equal(run(slice(2, 3))[0], run(slice(0, 4))[2])


def test_other_dtypes_stay_eager() -> None:
    fast = fast_ar(1).bfloat16()
    fast.compile_attention()
    assert fast._attend_frame is None


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    seed=st.integers(0, 2**16),
)
def test_paged_attention_is_attention_over_the_pages(
    lengths: list[int], kv_heads: int, group: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    batch, size, pool = len(lengths), 8, 300
    q = rng.standard_normal((batch, kv_heads * group, size), np.float32)
    keys, values = (rng.standard_normal((pool, kv_heads, size), np.float32) for _ in range(2))
    table = np.full((batch + 3, 64), 10**9, np.int32)  # what is not a request's must not be read
    requests = rng.permutation(batch + 3)[:batch].astype(np.int64)
    free = rng.permutation(pool)
    for i, length in enumerate(lengths):
        table[requests[i], :length] = free[50 * i : 50 * i + length]
    out = np.empty_like(q)
    counts = np.array(lengths, np.int64)
    cpu_kernels.attend_paged(q, keys, values, table, requests, counts, size**-0.5, out)
    for i, length in enumerate(lengths):
        rows = table[requests[i], :length]
        expected = F.scaled_dot_product_attention(
            torch.from_numpy(q[i])[:, None],
            torch.from_numpy(keys[rows]).transpose(0, 1),
            torch.from_numpy(values[rows]).transpose(0, 1),
            enable_gqa=True,
        )[:, 0]
        assert np.allclose(out[i], expected.numpy(), atol=1e-5)
