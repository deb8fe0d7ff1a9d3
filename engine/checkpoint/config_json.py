"""What a checkpoint's `config.json` says: sizes, token ids and this project's own extension object.

The names of the fields are the file's own (`dim`, `n_layer`, `n_local_heads` ...), so that the
code reads like the published layout of `fishaudio/s2-pro`. `parse_config` checks every type and
range and how the values fit together, and refuses variants that the engine does not compute
(biases, mixture of experts, an untied text head) before anything is allocated.

The optional object `voice_gateway` carries what the published layout has no place for:

    "voice_gateway": {
        "text_frontend": "bpe",               # name registered in engine.text.tokenizer
        "wants_words": false,                 # figures and short forms are best given as words
        "alignment_heads": [[1, 0], [1, 3]],  # [layer, head] of the slow AR that follow the text
        "sampling": {"temperature": 0.8, "top_p": 0.8, "top_k": 30},
        ...                                   # other keys are kept, unread, in `extra`
    }
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from engine.errors import CheckpointError

# The upper bounds only keep a damaged file from asking for absurd work; real models are far below.
Layers = Annotated[int, Meta(ge=1, le=1024)]
Size = Annotated[int, Meta(ge=1, le=1 << 24)]
TokenId = Annotated[int, Meta(ge=0, le=1 << 24)]
Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
Probability = Annotated[float, Meta(gt=0, le=1)]
CodebookSize = Annotated[int, Meta(ge=1, le=1 << 16)]  # codes travel as uint16


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantization:
    """How a transformer's linear weights are stored; made by `engine.workshop.quantize`.

    Every attention and feed-forward matrix is `scheme`, 8 bits an element with one fp32 scale an
    output channel, except in the layers listed: those keep the checkpoint's own dtype. The object
    stands in each transformer's section and not in a top-level `quantization_config`, which
    SGLang and transformers would take as an order to put their own kernels in.
    """

    scheme: Literal["int8", "fp8"]
    keep_attention: tuple[Annotated[int, Meta(ge=0)], ...] = ()
    keep_feed_forward: tuple[Annotated[int, Meta(ge=0)], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """The sizes that the slow and the fast AR share. `n_local_heads` counts the key/value heads."""

    n_layer: Layers
    dim: Size
    n_head: Size
    n_local_heads: Size
    head_dim: Size
    intermediate_size: Size
    rope_base: Positive
    norm_eps: Positive
    max_seq_len: Size
    attention_qk_norm: bool
    attention_qkv_bias: bool = False
    attention_o_bias: bool = False
    use_moe: bool = False
    quantization: Quantization | None = None

    def attention_scheme(self, layer: int) -> Literal["int8", "fp8"] | None:
        """How a layer's wqkv and wo are stored; None: in the checkpoint's own dtype."""
        found = self.quantization
        return None if found is None or layer in found.keep_attention else found.scheme

    def feed_forward_scheme(self, layer: int) -> Literal["int8", "fp8"] | None:
        """How a layer's w1, w2 and w3 are stored; None: in the checkpoint's own dtype."""
        found = self.quantization
        return None if found is None or layer in found.keep_feed_forward else found.scheme

    @property
    def attention_dim(self) -> int:
        """Width of all query heads together; not `dim` (4096 against 2560 in S2-Pro)."""
        return self.n_head * self.head_dim

    @property
    def qkv_dim(self) -> int:
        """Rows of the fused projection, in the order q, k, v."""
        return (self.n_head + 2 * self.n_local_heads) * self.head_dim


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowConfig(TransformerConfig):
    """`text_config`: the slow AR, one step a frame, over text and semantic tokens."""

    model_type: Literal["fish_qwen3"] = "fish_qwen3"
    vocab_size: Size
    tie_word_embeddings: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FastConfig(TransformerConfig):
    """`audio_decoder_config`: the fast AR, one step a codebook. `text_dim`: the slow AR's `dim`."""

    model_type: Literal["fish_qwen3_audio_decoder"] = "fish_qwen3_audio_decoder"
    vocab_size: CodebookSize
    num_codebooks: Annotated[int, Meta(ge=1, le=64)]
    text_dim: Size
    tie_word_embeddings: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingDefaults:
    """What the checkpoint's makers recommend; None leaves the engine's own default in force."""

    temperature: NonNegative | None = None
    top_p: Probability | None = None
    top_k: Annotated[int, Meta(ge=1)] | None = None
    residual_temperature: NonNegative | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayExtension:
    """The `voice_gateway` object. `extra` holds the keys that are other modules' business."""

    text_frontend: str = "bpe"
    wants_words: bool = False
    alignment_heads: tuple[tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)]], ...] = ()
    sampling: SamplingDefaults = field(default_factory=SamplingDefaults)
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageModelConfig:
    """The whole of `config.json`: two transformers and the token ids that bind them."""

    model_type: Literal["fish_qwen3_omni"]
    text_config: SlowConfig
    audio_decoder_config: FastConfig
    eos_token_id: TokenId
    pad_token_id: TokenId
    audio_pad_token_id: TokenId
    semantic_start_token_id: TokenId
    semantic_end_token_id: TokenId
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    voice_gateway: GatewayExtension = field(default_factory=GatewayExtension)

    @property
    def num_codebooks(self) -> int:
        """Codes per frame (10 in S2-Pro)."""
        return self.audio_decoder_config.num_codebooks

    @property
    def codebook_size(self) -> int:
        """Width of the fast AR's head, and rows of each codebook's embedding table."""
        return self.audio_decoder_config.vocab_size

    @property
    def num_semantic(self) -> int:
        """How many token ids stand for a code of codebook 0."""
        return self.semantic_end_token_id - self.semantic_start_token_id + 1

    @property
    def quantization(self) -> tuple[Quantization | None, Quantization | None]:
        """Of the slow and of the fast AR."""
        return self.text_config.quantization, self.audio_decoder_config.quantization

    def is_semantic(self, token_id: int) -> bool:
        """Whether a token id stands for a code of codebook 0."""
        return self.semantic_start_token_id <= token_id <= self.semantic_end_token_id


def parse_config(data: bytes, source: str = "config.json") -> LanguageModelConfig:
    """Read and check the bytes of a `config.json`.

    Raises CheckpointError, which names `source`, the key, what was expected and what came.
    """
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{source}: expected JSON, got: {error}") from error
    try:
        config = msgspec.convert(_collect_extra(raw, source), LanguageModelConfig)
    except msgspec.ValidationError as error:
        raise CheckpointError(f"{source}: {error}{_what_came(raw, str(error))}") from error
    problems = _inconsistencies(config)
    if problems:
        raise CheckpointError(f"{source}: " + "; ".join(problems))
    return config


def _collect_extra(raw: Any, source: str) -> Any:
    """Move unknown keys of `voice_gateway` into its `extra`; refuse misspelt sampling keys."""
    extension = raw.get("voice_gateway") if isinstance(raw, dict) else None
    if not isinstance(extension, dict):
        return raw
    known = {f.name for f in fields(GatewayExtension)} - {"extra"}
    sampling = extension.get("sampling")
    if isinstance(sampling, dict):
        allowed = [f.name for f in fields(SamplingDefaults)]
        for key in sorted(sampling.keys() - set(allowed)):
            raise CheckpointError(
                f"{source}: expected voice_gateway.sampling keys among {', '.join(allowed)}, "
                f"got {key!r}"
            )
    mine = {key: value for key, value in extension.items() if key in known}
    mine["extra"] = {key: value for key, value in extension.items() if key not in known}
    return {**raw, "voice_gateway": mine}


def _what_came(raw: Any, message: str) -> str:
    """The offending value, looked up by the path that ends the library's message."""
    _, found, path = message.rpartition(" - at `$.")
    value = raw
    for key in path.rstrip("`").split(".") if found else ():
        if not isinstance(value, dict) or key not in value:
            return ""
        value = value[key]
    return f", got {value!r:.80}" if found else ""


def _inconsistencies(config: LanguageModelConfig) -> list[str]:
    slow, fast = config.text_config, config.audio_decoder_config
    problems = []

    def expect(condition: bool, text: str) -> None:
        if not condition:
            problems.append(text)

    for name, part in (("text_config", slow), ("audio_decoder_config", fast)):
        expect(
            part.n_head % part.n_local_heads == 0,
            f"expected {name}.n_head to be a multiple of n_local_heads, "
            f"got {part.n_head} and {part.n_local_heads}",
        )
        # Rotary embeddings turn pairs of dimensions.
        expect(part.head_dim % 2 == 0, f"expected an even {name}.head_dim, got {part.head_dim}")
        kept = part.quantization
        for layer in () if kept is None else kept.keep_attention + kept.keep_feed_forward:
            expect(
                layer < part.n_layer,
                f"expected {name}.quantization to keep layers below {part.n_layer}, got {layer}",
            )
        for switch in ("attention_qkv_bias", "attention_o_bias", "use_moe"):
            expect(not getattr(part, switch), f"expected {name}.{switch} false, got true")
    expect(slow.tie_word_embeddings, "expected text_config.tie_word_embeddings true, got false")
    expect(
        not fast.tie_word_embeddings,
        "expected audio_decoder_config.tie_word_embeddings false, got true",
    )
    expect(
        fast.text_dim == slow.dim,
        f"expected audio_decoder_config.text_dim {slow.dim} (text_config.dim), got {fast.text_dim}",
    )
    expect(
        fast.max_seq_len >= fast.num_codebooks,
        f"expected audio_decoder_config.max_seq_len of at least num_codebooks "
        f"({fast.num_codebooks}), got {fast.max_seq_len}",
    )
    problems += _token_problems(config)
    for layer, head in config.voice_gateway.alignment_heads:
        expect(
            layer < slow.n_layer and head < slow.n_head,
            f"expected voice_gateway.alignment_heads within {slow.n_layer} layers and "
            f"{slow.n_head} heads, got [{layer}, {head}]",
        )
    return problems


def _token_problems(config: LanguageModelConfig) -> list[str]:
    vocab_size, size = config.text_config.vocab_size, config.codebook_size
    start, end = config.semantic_start_token_id, config.semantic_end_token_id
    problems = []
    if not start <= end < vocab_size:
        problems.append(
            f"expected semantic_start_token_id <= semantic_end_token_id < text_config.vocab_size "
            f"({vocab_size}), got {start} and {end}"
        )
    elif config.num_semantic > size:
        problems.append(
            f"expected at most {size} semantic tokens (audio_decoder_config.vocab_size), "
            f"got {config.num_semantic} ({start}..{end})"
        )
    for name in ("eos_token_id", "pad_token_id", "audio_pad_token_id"):
        token_id = getattr(config, name)
        if token_id >= vocab_size or config.is_semantic(token_id):
            problems.append(
                f"expected {name} below {vocab_size} and outside the semantic range "
                f"{start}..{end}, got {token_id}"
            )
    return problems
