from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.codec.sizes import CONFIG_FILE, CodecConfig
from engine.errors import CheckpointError
from tests.golden_data import TINY


def test_defaults_are_s2_pro() -> None:
    config = CodecConfig()
    assert config.n_codebooks == 10
    assert config.codebook_sizes == (4096, *(1024,) * 9)
    assert config.frame_samples == 2048
    assert config.frame_rate_hz == pytest.approx(21.533, abs=1e-3)
    assert config.decoder_widths == (1536, 768, 384, 192, 96)
    assert config.encoder_widths == (64, 128, 256, 512, 1024)


def test_sizes_derive_from_one_another() -> None:
    config = CodecConfig(
        sample_rate_hz=22050, n_residual_codebooks=3, decoder_rates=(8, 8, 4), encoder_dim=0
    )
    assert config.frame_samples == 1024
    assert config.n_codebooks == 4
    assert not config.has_encoder
    assert config.frame_rate_hz == pytest.approx(21.533, abs=1e-3)


def test_a_decoder_may_name_its_widths() -> None:
    config = CodecConfig(decoder_rates=(2, 256), decoder_dim=250, decoder_block_dims=(190, 20))
    assert config.decoder_widths == (250, 190, 20)


def test_a_decoder_may_have_residual_units_of_its_own() -> None:
    assert CodecConfig().decoder_dilations == (1, 3, 9)
    config = CodecConfig(decoder_residual_dilations=(1, 3))
    assert (config.decoder_dilations, config.residual_dilations) == ((1, 3), (1, 3, 9))


def test_reads_the_golden_checkpoint() -> None:
    config = CodecConfig.from_checkpoint(TINY)
    assert (config.latent_dim, config.decoder_dim, config.post_layers) == (64, 64, 2)
    assert config.frame_samples == 2048  # not in the file: S2-Pro's


def test_without_a_file_sizes_are_s2_pro(tmp_path: Path) -> None:
    assert CodecConfig.from_checkpoint(tmp_path) == CodecConfig()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected a JSON object, got"),
        ("[1]", "expected a JSON object, got list"),
        ('{"latent_dims": 64}', "unknown keys latent_dims; expected some of sample_rate_hz"),
        ('{"latent_dim": "64"}', "expected latent_dim to be an integer >= 0, got '64'"),
        ('{"latent_dim": 0}', "expected latent_dim >= 1, got 0"),
        ('{"latent_dim": true}', "expected latent_dim to be an integer >= 0, got True"),
        ('{"post_layers": -1}', "expected post_layers to be an integer >= 0, got -1"),
        ('{"rope_base": 0}', "expected rope_base to be a positive number, got 0.0"),
        ('{"decoder_rates": 8}', "expected decoder_rates to be a list of integers >= 1, got 8"),
        ('{"decoder_rates": [8, 0]}', "expected decoder_rates to be a list of integers >= 1"),
        ('{"decoder_dim": 100}', "expected decoder_dim to halve 4 times (once per decoder rate)"),
        (
            '{"decoder_block_dims": [192, 16]}',
            "expected 4 decoder_block_dims (one per decoder rate), got 2",
        ),
        ('{"head_dim": 63}', "expected an even head_dim, got 63"),
        ('{"decoder_rates": [8, 8, 4]}', "expected the encoder to take the decoder's 1024 samples"),
        (
            '{"encoder_transformer_layers": [0, 4]}',
            "expected 4 encoder_transformer_layers (one per encoder rate), got 2",
        ),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / CONFIG_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        CodecConfig.from_checkpoint(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path / CONFIG_FILE) in str(caught.value)


def test_integers_serve_as_numbers(tmp_path: Path) -> None:
    (tmp_path / CONFIG_FILE).write_text(json.dumps({"rope_base": 500}), encoding="utf-8")
    assert CodecConfig.from_checkpoint(tmp_path).rope_base == 500.0
