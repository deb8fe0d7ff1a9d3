"""The layout without weights is the layout with them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from engine.checkpoint.config_json import LanguageModelConfig, parse_config
from engine.checkpoint.folder import Checkpoint
from engine.codec.sizes import CodecConfig
from engine.models.plain import PlainLoop
from engine.workshop.dryrun import layout
from engine.workshop.dryrun.layout import (
    Check,
    build_on_meta,
    check_layout,
    codec_layout,
    lm_layout,
    module_elements,
    num_bytes,
    repeated_elements,
)
from engine.workshop.dryrun.published import s2_pro
from engine.workshop.quantize.convert import convert
from engine.workshop.quantize.plan import Plan
from tests.golden_data import GOLDEN, TINY


def test_everything_published_comes_out() -> None:
    checks = check_layout(s2_pro(), CodecConfig())
    assert len(checks) == 7
    assert all(check.passed for check in checks), checks


def test_the_configuration_is_the_published_one() -> None:
    published = parse_config((GOLDEN / "s2-pro-config.json").read_bytes())
    assert s2_pro() == published


def smaller(**changes: int) -> LanguageModelConfig:
    config = s2_pro()
    return dataclasses.replace(
        config, text_config=dataclasses.replace(config.text_config, **changes)
    )


def test_another_model_is_only_held_against_itself() -> None:
    checks = check_layout(smaller(n_layer=2), CodecConfig(latent_dim=512))
    assert [check.what for check in checks] == ["elements in the engine's modules"]
    assert checks[0].passed


def test_a_lost_tensor_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = layout.expected_tensors

    def without_a_norm(config: LanguageModelConfig) -> dict[str, tuple[int, ...]]:
        shapes = whole(config)
        del shapes["text_model.model.layers.35.ffn_norm.weight"]
        return shapes

    monkeypatch.setattr(layout, "expected_tensors", without_a_norm)
    failed = [c.what for c in check_layout(s2_pro(), CodecConfig()) if not c.passed]
    assert failed == [
        "elements in the engine's modules",
        "language model: tensors",
        "language model: parameters",
        "language model: bytes",
    ]


def test_a_shape_that_does_not_fit_the_modules_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = layout.expected_tensors
    name = "audio_decoder.output.weight"
    monkeypatch.setattr(layout, "expected_tensors", lambda config: whole(config) | {name: (9, 9)})
    with pytest.raises(RuntimeError, match="size"):
        build_on_meta(smaller(n_layer=1), 1)


@pytest.mark.parametrize("plan", [None, Plan("int8", keep_attention=(1,)), Plan("fp8")])
def test_the_language_model_is_laid_out_as_in_files(tmp_path: Path, plan: Plan | None) -> None:
    checkpoint = Checkpoint.open(TINY)
    if plan is not None:
        checkpoint = convert(checkpoint, tmp_path / "quantised", plan)
    made = lm_layout(checkpoint.config)
    assert made == {name: (t.dtype, t.shape) for name, t in checkpoint.tensors.items()}
    assert num_bytes(made) == checkpoint.num_bytes
    elements = module_elements(*build_on_meta(checkpoint.config, 1))
    loop = PlainLoop(checkpoint.path, torch.bfloat16)
    assert elements == module_elements(loop.slow, loop.fast)
    stored = sum(tensor.num_elements for tensor in checkpoint.tensors.values())
    assert elements == stored + repeated_elements(checkpoint.config)


def test_the_codec_is_laid_out_as_in_the_file() -> None:
    made = codec_layout(CodecConfig.from_checkpoint(TINY))
    stored = torch.load(TINY / "codec.pth", weights_only=True)
    assert made.keys() == stored.keys()
    tables = json.loads((GOLDEN / "codec_config.json").read_text("utf-8"))
    assert tables["shared"]["semantic_codebook_size"] == 4096
    for name, (dtype, shape) in made.items():
        assert layout.TORCH_DTYPES[dtype] == stored[name].dtype, name
        if not name.endswith((".freqs_cis", ".causal_mask")):  # shortened in the tiny file
            assert shape == tuple(stored[name].shape), name


def test_checks() -> None:
    assert Check("x", 3, 3).passed and not Check("x", 3, 4).passed
    assert Check("x", 3, 5, most=5).passed
    assert not Check("x", 3, 6, most=5).passed and not Check("x", 3, 2, most=5).passed
