"""The GPU's kernel without a GPU: interpreted for its arithmetic, compiled for its targets.

Triton reads its interpreter's switch when it is imported, so the arithmetic runs in a process of
its own. There x is fp32 or fp16: the interpreter cannot multiply bf16.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INTERPRETED = """
import torch
from engine.models.w8a16 import product
for stored in (torch.int8, torch.float8_e4m3fn):
    for rows, out, into in ((1, 40, 64), (5, 130, 272), (17, 64, 512), (64, 33, 300)):
        noise = torch.Generator().manual_seed(rows)
        weight = (torch.randn(out, into, generator=noise) * 50).clamp(-127, 127).to(stored)
        scale = torch.rand(out, generator=noise)
        for dtype, error in ((torch.float32, 1e-6), (torch.float16, 1e-3)):
            x = torch.randn(rows, into, generator=noise).to(dtype)
            got = product(x, weight, scale)
            expected = (x.double() @ weight.double().T) * scale
            assert got.shape == (rows, out) and got.dtype == dtype
            assert (got - expected).abs().max() <= error * expected.abs().max()
            alone = product(x[:1], weight, scale)
            assert torch.equal(got[:1], alone) or rows > 16
print("good")
"""

COMPILED = """
import sys
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from engine.models.w8a16 import _kernel
signature = dict(x="*bf16", w=sys.argv[1], scale="*fp32", y="*bf16", rows="i32",
                 out_features="i32", in_features="i32")
blocks = dict(BLOCK_ROWS=16, BLOCK_OUT=16, BLOCK_IN=256)
source = ASTSource(_kernel, signature | dict.fromkeys(blocks, "constexpr"), blocks)
kernel = compile(source, target=GPUTarget("cuda", int(sys.argv[2]), 32))
assert "mma" in kernel.asm["ptx"] and kernel.asm["cubin"]
print("good")
"""


def run(code: str, *arguments: str, **environment: str) -> str:
    pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    return done.stdout + done.stderr


def test_interpreted_it_computes_what_it_should() -> None:
    assert run(INTERPRETED, TRITON_INTERPRET="1").strip() == "good"


@pytest.mark.slow
@pytest.mark.parametrize("capability", ["89", "90", "100", "120"])
@pytest.mark.parametrize("weights", ["*i8", "*fp8e4nv"])
def test_it_compiles_to_tensor_core_code(tmp_path: Path, weights: str, capability: str) -> None:
    assert run(COMPILED, weights, capability, TRITON_CACHE_DIR=str(tmp_path)).strip() == "good"
