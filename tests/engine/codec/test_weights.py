from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.codec.sizes import CodecConfig
from engine.codec.weights import (
    WEIGHTS_FILE,
    CodecWeights,
    expected_tensors,
    find_problems,
    load_codec,
)
from engine.errors import CheckpointError
from tests.golden_data import TINY

NORMED = "decoder.model.1.block.1.conv"
CODEBOOK = "quantizer.quantizer.quantizers.3.codebook.weight"

Tensors = dict[str, Any]


def test_s2_pro_s_tensors_add_up_to_the_published_file() -> None:
    shapes = dict(expected_tensors(CodecConfig()))
    normed = sum(
        len(shape) == 3
        and name.endswith(".weight")
        and (".conv." in name or "_proj." in name)
        and "sample." not in name
        for name, shape in shapes.items()
    )
    assert len(shapes) + normed == 535  # weight norm stores two tensors for one
    masks = 16384**2 + 2 * 4096**2  # the legacy buffers, bool and bf16
    tables = (16384 + 2 * 4096) * 32 * 2 * 2
    total = 4 * sum(math.prod(shape) for shape in shapes.values()) + masks + tables
    assert 0 <= 1_871_099_728 - total < 400_000  # scales of weight norm, and the archive itself


def test_golden_checkpoint_is_accepted_and_its_legacy_buffers_ignored() -> None:
    weights = load_codec(TINY)
    assert not find_problems(weights.config, weights.tensors)
    assert not any("freqs_cis" in name or "causal_mask" in name for name in weights.tensors)


@pytest.mark.parametrize("shape", [(6, 5, 4), (6, 1, 7), (8, 5, 1)])
def test_every_spelling_of_weight_norm_folds_like_torch(shape: tuple[int, ...]) -> None:
    v, g = torch.randn(shape), torch.randn(shape[0], 1, 1)
    expected = torch._weight_norm(v, g, 0)
    spellings = [
        {"x.parametrizations.weight.original0": g, "x.parametrizations.weight.original1": v},
        {"x.weight_g": g, "x.weight_v": v},
        {"x.weight": expected},
    ]
    for tensors in spellings:
        folded = CodecWeights(CodecConfig(), tensors).weight("x")
        np.testing.assert_allclose(folded, expected, rtol=0, atol=3e-7)


def _drop(*names: str) -> Callable[[Tensors], Any]:
    return lambda tensors: {k: v for k, v in tensors.items() if k not in names}


def _replace(name: str, change: Callable[[Tensor], Any]) -> Callable[[Tensors], Any]:
    return lambda tensors: {**tensors, name: change(tensors[name])}


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (
            _drop(CODEBOOK, "decoder.model.6.conv.bias"),
            [
                f"missing {CODEBOOK}, expected shape [1024, 8]",
                "missing decoder.model.6.conv.bias, expected shape [1]",
            ],
        ),
        (
            _drop(f"{NORMED}.parametrizations.weight.original0"),
            [f"missing {NORMED}.parametrizations.weight.original0, expected shape [64, 1, 1]"],
        ),
        (
            _drop(*(f"{NORMED}.parametrizations.weight.original{i}" for i in (0, 1))),
            [f"missing {NORMED}.weight, expected shape [64, 32, 16]"],
        ),
        (
            _replace(CODEBOOK, lambda t: t[:1000]),
            [f"{CODEBOOK}: expected shape [1024, 8], got [1000, 8]"],
        ),
        (
            _replace(CODEBOOK, lambda t: t.to(torch.int8)),
            [f"{CODEBOOK}: expected torch.float32 or", "got torch.int8"],
        ),
        (
            lambda tensors: {**tensors, "decoder.model.7.alpha": torch.ones(1, 4, 1)},
            ["unexpected decoder.model.7.alpha of shape [1, 4, 1]"],
        ),
        (_replace(CODEBOOK, lambda t: 3), ["from name to tensor, got int under", CODEBOOK]),
        (lambda tensors: {"state_dict": dict(tensors)}, ["from name to tensor", "state_dict"]),
        (lambda tensors: list(tensors.values()), ["expected a mapping of tensors, got list"]),
        (lambda tensors: {}, ["missing encoder.block.0.conv.weight", "... and 309 more"]),
    ],
)
def test_bad_checkpoints_say_what_is_wrong(
    tmp_path: Path, change: Callable[[Tensors], Any], messages: list[str]
) -> None:
    shutil.copy(TINY / "codec_config.json", tmp_path)
    tensors = torch.load(TINY / WEIGHTS_FILE, weights_only=True)
    torch.save(change(tensors), tmp_path / WEIGHTS_FILE)
    with pytest.raises(CheckpointError) as caught:
        load_codec(tmp_path)
    for message in (*messages, str(tmp_path / WEIGHTS_FILE)):
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "expected the codec's weights, found no such file"),
        (b"", "expected a file written by torch.save"),
        (b"not an archive", "expected a file written by torch.save"),
        (b"PK\x03\x04 cut off", "expected a file written by torch.save"),
    ],
)
def test_files_that_are_no_checkpoint(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / WEIGHTS_FILE).write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        load_codec(tmp_path)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path) -> None:
    torch.save({"x": Path("unpickles by calling")}, tmp_path / WEIGHTS_FILE)
    with pytest.raises(CheckpointError, match="holds only tensors"):
        load_codec(tmp_path)


def test_without_a_config_the_sizes_are_s2_pro_s_and_the_error_says_so(tmp_path: Path) -> None:
    shutil.copy(TINY / WEIGHTS_FILE, tmp_path)
    with pytest.raises(CheckpointError, match="no codec_config.json, so S2-Pro's sizes"):
        load_codec(tmp_path)
