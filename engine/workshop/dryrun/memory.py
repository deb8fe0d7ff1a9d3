"""What a model needs on a GPU: memory by purpose, and the least time a step can take.

Sizes come from the engine's own modules and from the codec's own state layout, built on the meta
device; what no module says is an assumption and is named so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from engine.checkpoint.config_json import LanguageModelConfig, TransformerConfig
from engine.codec.decoder import Decoder
from engine.codec.sizes import CodecConfig
from engine.codec.weights import CodecWeights
from engine.codec.weights import expected_tensors as codec_tensors
from engine.workshop.dryrun.gpus import Gpu
from engine.workshop.dryrun.layout import build_on_meta, lm_layout, num_bytes, repeated_elements

_BF16_BYTES, _FP32_BYTES = 2, 4

# assumed: the CUDA context with its libraries' workspaces, and what an allocator cannot use
_CONTEXT_BYTES = 1 << 30
_FRAGMENTATION = 0.03
# tensors of a layer's width that are alive together: input, output, a temporary, the residual
_ALIVE = 4


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the model. `tokens_per_stream`: KV a stream holds at its end, prompt and
    voice included. `prefill_tokens`: most tokens of one prefill step (SGLang's chunk).
    """

    streams: int = 16
    tokens_per_stream: int = 4096
    prefill_tokens: int = 8192

    def __post_init__(self) -> None:
        for name in ("streams", "tokens_per_stream", "prefill_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Needs:
    """Bytes by purpose: `fixed` whatever the load, `per_stream` for each stream."""

    fixed: dict[str, int]
    per_stream: dict[str, int]
    kv_bytes_per_token: int

    def total(self, streams: int) -> int:
        """All bytes at so many streams."""
        return sum(self.fixed.values()) + streams * sum(self.per_stream.values())


def estimate(config: LanguageModelConfig, codec: CodecConfig, load: Load) -> Needs:
    """Memory of the whole worker in bf16 with the codec in fp32 beside it."""
    slow, fast = config.text_config, config.audio_decoder_config
    slow_ar, fast_ar = build_on_meta(config, frames_at_once=1)
    cache = _tensor_bytes(fast_ar.cache)
    tables = sum(_tensor_bytes(b) for m in (slow_ar, fast_ar) for b in m.buffers()) - cache
    kv = 2 * slow.n_layer * slow.n_local_heads * slow.head_dim * _BF16_BYTES
    decoder, encoder = _codec_bytes(codec)
    fixed = {
        "language model": num_bytes(lm_layout(config))
        + repeated_elements(config) * _BF16_BYTES
        + tables,
        "codec's decoder, fp32": decoder,
        "codec's encoder, fp32": encoder,
        "prefill's activations": load.prefill_tokens * _row_bytes(slow),
        "CUDA context (assumed)": _CONTEXT_BYTES,
    }
    # a graph's memory is what its step's activations take; all buckets share the greatest one's
    graph = _row_bytes(slow) + (config.num_semantic + 1) * (_BF16_BYTES + _FP32_BYTES)
    graph += 2 * _row_bytes(fast) + fast.vocab_size * (_BF16_BYTES + _FP32_BYTES)
    per_stream = {
        "KV cache": load.tokens_per_stream * kv,
        "fast AR's cache": cache,
        "graphs' activations": graph,
        "codec's state": codec_state_bytes(codec),
        "codec's activations": _codec_row_bytes(codec),
    }
    return Needs(fixed, per_stream, kv)


def _tensor_bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _row_bytes(part: TransformerConfig) -> int:
    """Activations of one token in the widest place of a layer, the feed-forward part."""
    width = 3 * part.intermediate_size + part.qkv_dim + _ALIVE * part.dim
    return width * _BF16_BYTES


def _codec_bytes(codec: CodecConfig) -> tuple[int, int]:
    """fp32 weights that decode, and those that only encode; the quantisers count as the former."""
    decoder = encoder = 0
    for name, shape in codec_tensors(codec):
        size = math.prod(shape) * _FP32_BYTES
        if name.startswith(("encoder.", "quantizer.pre_module", "quantizer.downsample")):
            encoder += size
        else:
            decoder += size
    return decoder, encoder


def codec_state_bytes(codec: CodecConfig) -> int:
    """What one stream's slot takes, as the decoder itself lays it out."""
    meta = torch.device("meta")
    tensors = {name: torch.empty(shape, device=meta) for name, shape in codec_tensors(codec)}
    return Decoder(CodecWeights(codec, tensors, meta)).layout.floats * _FP32_BYTES


def _codec_row_bytes(codec: CodecConfig) -> int:
    """Activations of one stream's one frame where they are widest."""
    steps, widest = codec.latent_steps, codec.latent_steps * codec.decoder_widths[0]
    for width, rate in zip(codec.decoder_widths[1:], codec.decoder_rates, strict=True):
        steps *= rate
        widest = max(widest, steps * width)
    return _ALIVE * widest * _FP32_BYTES


@dataclass(frozen=True, slots=True)
class Floor:
    """The least time of a decode step: every weight and every cached token read once, or every
    multiplication done, at the device's peak. Launches, sampling and the scheduler come on top.
    """

    read_bytes: int
    flops: int
    step_ms: float
    frame_ms: float
    streams: int

    @property
    def frames_per_s(self) -> float:
        """Of all streams together."""
        return 1000 * self.streams / self.step_ms

    @property
    def real_time_factor(self) -> float:
        """Computing time over playing time of one stream."""
        return self.step_ms / self.frame_ms


def decode_floor(
    config: LanguageModelConfig, codec: CodecConfig, gpu: Gpu, needs: Needs, load: Load
) -> Floor:
    """One frame for each of the load's streams, contexts half grown."""
    layout = lm_layout(config)
    sizes = {name: (num_bytes({name: e}), math.prod(e[1])) for name, e in layout.items()}

    def of(*prefixes: str) -> tuple[int, int]:
        found = [size for name, size in sizes.items() if name.startswith(prefixes)]
        return sum(b for b, _ in found), sum(n for _, n in found)

    slow_bytes, slow_elements = of("text_model.model.layers.")
    fast_bytes, fast_elements = of("audio_decoder.layers.", "audio_decoder.output.")
    head = (config.num_semantic + 1) * config.text_config.dim
    passes = config.num_codebooks - 1
    kv = load.streams * load.tokens_per_stream // 2 * needs.kv_bytes_per_token
    codec_bytes = needs.fixed["codec's decoder, fp32"]
    codec_bytes += 2 * load.streams * needs.per_stream["codec's state"]
    read = slow_bytes + head * _BF16_BYTES + passes * fast_bytes + kv + codec_bytes
    flops = 2 * load.streams * (slow_elements + head + passes * fast_elements)
    seconds = max(read / (gpu.bandwidth_gb_s * 1e9), flops / (gpu.bf16_tflops * 1e12))
    return Floor(read, flops, 1000 * seconds, 1000 / codec.frame_rate_hz, load.streams)


def usable_bytes(gpu: Gpu) -> int:
    """Memory that a plan may spend."""
    return int(gpu.memory_bytes * (1 - _FRAGMENTATION))


def most_streams(gpu: Gpu, needs: Needs) -> int:
    """Streams that memory has room for; 0 when not even the weights fit."""
    room = usable_bytes(gpu) - needs.total(0)
    return max(0, room // sum(needs.per_stream.values()))
