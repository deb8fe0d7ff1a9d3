"""Sizes of a codec, read from `codec_config.json` where a checkpoint has one.

S2-Pro ships no such file: its codec's sizes are constants of its reference implementation, and they
are this class's defaults. A checkpoint of any other size puts a flat JSON object named
`codec_config.json` beside `codec.pth`; every key is the name of one field below, a key left out
keeps S2-Pro's value, an unknown key is an error. The tensors' shapes must agree with these sizes
(`engine.codec.weights`).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from engine.errors import CheckpointError

CONFIG_FILE = "codec_config.json"
KERNEL_STEPS = 7  # taps of every wide convolution: first, last, residual units, ConvNeXt
RESPONSE_SAMPLES = 1024  # length of a vocoder's filter, and of its FFT
CONVNEXT_EXPANSION = 4  # a ConvNeXt block's inner width, in units of latent_dim


@dataclass(frozen=True, slots=True)
class CodecConfig:
    """Every size of the codec. Defaults: Fish Audio S2-Pro.

    sample_rate_hz: rate of the waveform on both sides.
    n_residual_codebooks, semantic_codebook_size, residual_codebook_size, codebook_dim: the
        quantisers; a frame has one semantic code and n_residual_codebooks residual ones.
    latent_dim: width of the latents between quantisers, transformers and decoder.
    resample_factors: the encoder's latents are further reduced by these, in this order; the decoder
        undoes it in reverse order. Empty: none.
    decoder_dim, decoder_rates: width of the decoder's first convolution; each block multiplies the
        number of steps by its rate.
    decoder_block_dims: width behind each of these blocks; empty: half of what is before it.
    vocoder_steps: not 0: a vocoder (engine.codec.vocoder) makes the sound instead of the decoder's
        blocks, from so many steps of parameters a latent step; decoder_rates must then be empty.
    vocoder_hop_samples, vocoder_blocks, vocoder_bands, vocoder_noise_bands: samples of such a step,
        ConvNeXt blocks before it, bands of its envelope and of its noise.
    residual_dilations: one residual unit per entry, in every block on both sides.
    decoder_residual_dilations: those of the decoder's blocks; empty: the same.
    encoder_dim, encoder_rates: width of the encoder's first convolution, doubled by every block,
        each of which divides the number of steps by its rate. encoder_dim 0: no encoder, and none
        of its tensors (the checkpoint speaks, but cannot take a recording in).
    encoder_transformer_layers: one entry per encoder block; not 0: a transformer follows it.
    encoder_transformer_heads, encoder_transformer_ff, encoder_window: of those transformers.
    pre_layers, post_layers: transformers before the quantisers (encoding) and after (decoding);
        0: absent, its final norm too. latent_heads, latent_ff, latent_window: of both.
    head_dim, rope_base, rms_norm_eps, layer_norm_eps: shared by all.
    Windows are in steps of the module they belong to, and include the step itself.
    """

    sample_rate_hz: int = 44100
    n_residual_codebooks: int = 9
    semantic_codebook_size: int = 4096
    residual_codebook_size: int = 1024
    codebook_dim: int = 8
    latent_dim: int = 1024
    resample_factors: tuple[int, ...] = (2, 2)
    decoder_dim: int = 1536
    decoder_rates: tuple[int, ...] = (8, 8, 4, 2)
    decoder_block_dims: tuple[int, ...] = ()
    vocoder_steps: int = 0
    vocoder_hop_samples: int = 128
    vocoder_blocks: int = 4
    vocoder_bands: int = 80
    vocoder_noise_bands: int = 20
    residual_dilations: tuple[int, ...] = (1, 3, 9)
    decoder_residual_dilations: tuple[int, ...] = ()
    encoder_dim: int = 64
    encoder_rates: tuple[int, ...] = (2, 4, 8, 8)
    encoder_transformer_layers: tuple[int, ...] = (0, 0, 0, 4)
    encoder_transformer_heads: int = 16
    encoder_transformer_ff: int = 3072
    encoder_window: int = 512
    pre_layers: int = 8
    post_layers: int = 8
    latent_heads: int = 16
    latent_ff: int = 3072
    latent_window: int = 128
    head_dim: int = 64
    rope_base: float = 10000.0
    rms_norm_eps: float = 1e-5
    layer_norm_eps: float = 1e-6

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_type(field.name, getattr(self, field.name), field.default)
        for name in _AT_LEAST_ONE:
            if (value := getattr(self, name)) < 1:
                raise CheckpointError(f"codec config: expected {name} >= 1, got {value}")
        if self.head_dim % 2:
            raise CheckpointError(f"codec config: expected an even head_dim, got {self.head_dim}")
        self._check_decoder()
        if self.has_encoder:
            self._check_encoder()

    def _check_decoder(self) -> None:
        if self.has_vocoder:
            self._check_vocoder()
            return
        blocks, dims = len(self.decoder_rates), self.decoder_block_dims
        if dims and len(dims) != blocks:
            raise CheckpointError(
                f"codec config: expected {blocks} decoder_block_dims (one per decoder rate), "
                f"got {len(dims)}"
            )
        if not dims and self.decoder_dim % 2**blocks:
            raise CheckpointError(
                f"codec config: expected decoder_dim to halve {blocks} times "
                f"(once per decoder rate), got {self.decoder_dim}"
            )

    def _check_vocoder(self) -> None:
        if self.decoder_rates or self.decoder_block_dims:
            raise CheckpointError(
                "codec config: expected no decoder_rates and decoder_block_dims beside a vocoder, "
                f"got {list(self.decoder_rates)} and {list(self.decoder_block_dims)}"
            )
        if RESPONSE_SAMPLES % self.vocoder_hop_samples:
            raise CheckpointError(
                f"codec config: expected vocoder_hop_samples to divide {RESPONSE_SAMPLES}, "
                f"got {self.vocoder_hop_samples}"
            )

    def _check_encoder(self) -> None:
        samples = math.prod(self.encoder_rates) * math.prod(self.resample_factors)
        if samples != self.frame_samples:
            raise CheckpointError(
                f"codec config: expected the encoder to take the decoder's {self.frame_samples} "
                f"samples a frame, got {samples} (encoder_rates {list(self.encoder_rates)} times "
                f"resample_factors {list(self.resample_factors)})"
            )
        if len(self.encoder_transformer_layers) != len(self.encoder_rates):
            raise CheckpointError(
                f"codec config: expected {len(self.encoder_rates)} encoder_transformer_layers (one "
                f"per encoder rate), got {len(self.encoder_transformer_layers)}"
            )

    @property
    def has_encoder(self) -> bool:
        """Whether the checkpoint can turn a recording into codes."""
        return self.encoder_dim > 0

    @property
    def has_vocoder(self) -> bool:
        """Whether sound is made by a source and a filter instead of convolutions."""
        return self.vocoder_steps > 0

    @property
    def n_codebooks(self) -> int:
        """Codes per frame."""
        return 1 + self.n_residual_codebooks

    @property
    def codebook_sizes(self) -> tuple[int, ...]:
        """Entries of each codebook, semantic first."""
        return (self.semantic_codebook_size,) + (self.residual_codebook_size,) * (
            self.n_residual_codebooks
        )

    @property
    def latent_steps(self) -> int:
        """Decoder input steps per frame."""
        return math.prod(self.resample_factors)

    @property
    def frame_samples(self) -> int:
        """Samples per frame."""
        if self.has_vocoder:
            return self.latent_steps * self.vocoder_steps * self.vocoder_hop_samples
        return self.latent_steps * math.prod(self.decoder_rates)

    @property
    def frame_rate_hz(self) -> float:
        """Frames per second of sound."""
        return self.sample_rate_hz / self.frame_samples

    @property
    def decoder_widths(self) -> tuple[int, ...]:
        """Channels before the first decoder block and after each one."""
        blocks = range(1, len(self.decoder_rates) + 1)
        halved = tuple(self.decoder_dim >> i for i in blocks)
        return (self.decoder_dim, *(self.decoder_block_dims or halved))

    @property
    def decoder_dilations(self) -> tuple[int, ...]:
        """Of the residual units in a decoder block."""
        return self.decoder_residual_dilations or self.residual_dilations

    @property
    def encoder_widths(self) -> tuple[int, ...]:
        """Channels before the first encoder block and after each one."""
        return tuple(self.encoder_dim << i for i in range(len(self.encoder_rates) + 1))

    @classmethod
    def from_checkpoint(cls, directory: str | Path) -> CodecConfig:
        """Sizes of the codec in a checkpoint directory; S2-Pro's where it has no config file.

        Raises CheckpointError for a file that is no JSON object, an unknown key, or a bad value.
        """
        path = Path(directory) / CONFIG_FILE
        if not path.exists():
            return cls()
        try:
            loaded = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path}: expected a JSON object, got {error}") from error
        if not isinstance(loaded, dict):
            raise CheckpointError(f"{path}: expected a JSON object, got {type(loaded).__name__}")
        known = {field.name: field.default for field in fields(cls)}
        if unknown := sorted(loaded.keys() - known.keys()):
            raise CheckpointError(
                f"{path}: unknown keys {', '.join(unknown)}; expected some of {', '.join(known)}"
            )
        try:
            return cls(**{key: _from_json(value, known[key]) for key, value in loaded.items()})
        except CheckpointError as error:
            raise CheckpointError(f"{path}: {error}") from error


_AT_LEAST_ONE = (
    "sample_rate_hz",
    "semantic_codebook_size",
    "residual_codebook_size",
    "codebook_dim",
    "latent_dim",
    "decoder_dim",
    "vocoder_hop_samples",
    "vocoder_bands",
    "vocoder_noise_bands",
    "encoder_transformer_heads",
    "encoder_transformer_ff",
    "encoder_window",
    "latent_heads",
    "latent_ff",
    "latent_window",
    "head_dim",
)


def _from_json(value: Any, default: Any) -> Any:
    """JSON's types to the fields' types: lists to tuples, integers to floats where due."""
    if isinstance(default, tuple) and isinstance(value, list):
        return tuple(value)
    if isinstance(default, float) and type(value) is int:
        return float(value)
    return value


def _check_type(name: str, value: object, default: object) -> None:
    """Integers are not negative, floats are positive, members of tuples likewise."""
    if isinstance(default, tuple):
        least = 0 if name == "encoder_transformer_layers" else 1
        if not isinstance(value, tuple) or any(type(v) is not int or v < least for v in value):
            raise CheckpointError(
                f"codec config: expected {name} to be a list of integers >= {least}, got {value!r}"
            )
    elif isinstance(default, float):
        if not isinstance(value, float) or not 0 < value < math.inf:
            raise CheckpointError(
                f"codec config: expected {name} to be a positive number, got {value!r}"
            )
    elif type(value) is not int or value < 0:
        raise CheckpointError(f"codec config: expected {name} to be an integer >= 0, got {value!r}")
