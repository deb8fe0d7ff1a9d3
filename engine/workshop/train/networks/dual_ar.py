"""The Dual-AR as a network that learns: whole padded sequences, S2-Pro's arithmetic and tensor
names.

`state_dict` keys are those of the checkpoint's safetensors, so loading and saving need no
mapping. The engine's own modules (engine.models) fuse matrices for speed and do not learn; tests
hold the two equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.checkpoint.config_json import LanguageModelConfig, TransformerConfig
from engine.models.layers import rope_table


def rotate(x: Tensor, turn: Tensor) -> Tensor:
    """Rotate adjacent pairs of x [B, L, heads, d] by turn [L or B x L, d / 2], in fp32."""
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turn.unsqueeze(-2)).flatten(-2)


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """q [B, H, L, d], k and v [B, K, L, d] -> [B, H, L, d], by plain matrix products.

    At the lengths trained on, a few hundred positions, the fused CPU kernel takes two to three
    times as long in bf16, most of it in its backward pass.
    """
    ratio = q.shape[1] // k.shape[1]
    if ratio > 1:
        k, v = k.repeat_interleave(ratio, 1), v.repeat_interleave(ratio, 1)
    length = q.shape[2]
    future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    scores = (q @ k.transpose(-1, -2)).float() * q.shape[-1] ** -0.5
    y: Tensor = scores.masked_fill(future, float("-inf")).softmax(-1).to(v.dtype) @ v
    return y


class RMSNorm(nn.RMSNorm):
    """In fp32 even under autocast: the fused kernel wants input and weight alike."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., dim] -> [..., dim]."""
        return super().forward(x.float())


@dataclass(slots=True)
class KeyValues:
    """One layer's cache: keys and values [B, K, positions, d], filled up to `length`."""

    keys: Tensor
    values: Tensor
    length: int = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add [B, K, L, d] and return all so far."""
        end = self.length + keys.shape[2]
        self.keys[:, :, self.length : end] = keys
        self.values[:, :, self.length : end] = values
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]


class Attention(nn.Module):
    """Grouped-query attention with optional per-head norms."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        d = config.head_dim
        self.wqkv = nn.Linear(config.dim, config.qkv_dim, bias=False)
        self.wo = nn.Linear(config.attention_dim, config.dim, bias=False)
        if config.attention_qk_norm:
            self.q_norm = RMSNorm(d, eps=config.norm_eps)
            self.k_norm = RMSNorm(d, eps=config.norm_eps)

    def project(self, x: Tensor, turn: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[B, L, dim] -> q [B, H, L, d], k and v [B, K, L, d]."""
        c = self.config
        qkv = self.wqkv(x).float().unflatten(-1, (-1, c.head_dim))
        q, k, v = qkv.split((c.n_head, c.n_local_heads, c.n_local_heads), dim=2)
        if c.attention_qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        return rotate(q, turn).transpose(1, 2), rotate(k, turn).transpose(1, 2), v.transpose(1, 2)

    def forward(
        self, x: Tensor, turn: Tensor, mask: Tensor | None, cache: KeyValues | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """[B, L, dim] -> [B, L, dim], and the q and k that were used; mask None: causal."""
        q, k, v = self.project(x, turn)
        if cache is not None:
            k, v = cache.append(k, v)
        if torch.is_autocast_enabled("cpu") and mask is None:
            y = causal_attention(q.bfloat16(), k.bfloat16(), v.bfloat16())
        else:
            y = F.scaled_dot_product_attention(
                q,
                k,
                v,
                attn_mask=mask,
                is_causal=mask is None,
                enable_gqa=self.config.n_head != self.config.n_local_heads,
            )
        return self.wo(y.transpose(1, 2).flatten(2)), q, k


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[..., dim] -> [..., dim]."""
        y: Tensor = self.w2(F.silu(self.w1(x)) * self.w3(x))
        return y


class Layer(nn.Module):
    """Pre-norm block."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.feed_forward = FeedForward(config.dim, config.intermediate_size)
        self.attention_norm = RMSNorm(config.dim, eps=config.norm_eps)
        self.ffn_norm = RMSNorm(config.dim, eps=config.norm_eps)

    def forward(
        self, x: Tensor, turn: Tensor, mask: Tensor | None, cache: KeyValues | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """[B, L, dim] -> [B, L, dim], with the attention's q and k."""
        y, q, k = self.attention(self.attention_norm(x), turn, mask, cache)
        x = x + y
        return x + self.feed_forward(self.ffn_norm(x)), q, k


class TextModel(nn.Module):
    """The slow AR's trunk."""

    def __init__(self, config: TransformerConfig, vocab_size: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(vocab_size, config.dim)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.n_layer))
        self.norm = RMSNorm(config.dim, eps=config.norm_eps)


class AudioDecoder(nn.Module):
    """The fast AR; `codebook_embeddings` feeds the slow AR and only lives here."""

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__()
        fast, slow = config.audio_decoder_config, config.text_config
        self.codebook_embeddings = nn.Embedding(fast.num_codebooks * fast.vocab_size, slow.dim)
        self.embeddings = nn.Embedding(fast.vocab_size, fast.dim)
        self.project_in = nn.Linear(slow.dim, fast.dim) if slow.dim != fast.dim else nn.Identity()
        self.layers = nn.ModuleList(Layer(fast) for _ in range(fast.n_layer))
        self.norm = RMSNorm(fast.dim, eps=fast.norm_eps)
        self.output = nn.Linear(fast.dim, fast.vocab_size, bias=False)


@dataclass(frozen=True, slots=True)
class SlowOutput:
    """`normed` [B, L, dim]; `guides`: q and k of the watched layers, by layer."""

    normed: Tensor
    guides: dict[int, tuple[Tensor, Tensor]]


class DualAR(nn.Module):
    """Slow and fast AR. Weights start small and normal, residual branches smaller with depth."""

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__()
        self.config = config
        slow, fast = config.text_config, config.audio_decoder_config
        self.text_model = nn.ModuleDict({"model": TextModel(slow, slow.vocab_size)})
        self.audio_decoder = AudioDecoder(config)
        slow_turn = rope_table(slow.max_seq_len, slow.head_dim, slow.rope_base)
        fast_turn = rope_table(fast.num_codebooks, fast.head_dim, fast.rope_base)
        self.register_buffer("slow_turn", slow_turn, False)
        self.register_buffer("fast_turn", fast_turn, False)
        offsets = torch.arange(fast.num_codebooks) * fast.vocab_size
        self.register_buffer("offsets", offsets, False)
        self.slow_turn: Tensor
        self.fast_turn: Tensor
        self.offsets: Tensor
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                depth = slow.n_layer if name.startswith("text") else fast.n_layer
                out = name.endswith(("wo.weight", "w2.weight"))
                nn.init.normal_(parameter, 0.0, 0.03 / (2 * depth) ** 0.5 if out else 0.03)

    @property
    def trunk(self) -> TextModel:
        """The slow AR's trunk."""
        model = self.text_model["model"]
        assert isinstance(model, TextModel)
        return model

    def embed(self, ids: Tensor, codes: Tensor) -> Tensor:
        """ids [B, L], codes [B, L, books] (read at semantic ids only) -> [B, L, dim]."""
        x: Tensor = self.trunk.embeddings(ids)
        c = self.config
        spoken = (ids >= c.semantic_start_token_id) & (ids <= c.semantic_end_token_id)
        frame = self.audio_decoder.codebook_embeddings(codes + self.offsets).sum(2)
        return torch.where(spoken[..., None], (x + frame) / (c.num_codebooks + 1) ** 0.5, x)

    def slow(
        self,
        x: Tensor,
        caches: list[KeyValues] | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        watch: frozenset[int] = frozenset(),
    ) -> SlowOutput:
        """Embeddings [B, L, dim] -> normed hidden; positions default to 0..L-1."""
        turn = self.slow_turn[: x.shape[1]] if positions is None else self.slow_turn[positions]
        guides = {}
        for index, layer in enumerate(self.trunk.layers):
            x, q, k = layer(x, turn, mask, None if caches is None else caches[index])
            if index in watch:
                guides[index] = (q, k)
        return SlowOutput(self.trunk.norm(x), guides)

    def semantic_logits(self, normed: Tensor) -> Tensor:
        """[..., dim] -> [..., S + 1]: the semantic codes, then the end."""
        c = self.config
        table = self.trunk.embeddings.weight
        semantic = table[c.semantic_start_token_id : c.semantic_end_token_id + 1]
        head = torch.cat([semantic, table[c.eos_token_id : c.eos_token_id + 1]])
        return F.linear(normed, head)

    def fast(self, normed: Tensor, codes: Tensor) -> Tensor:
        """normed [F, slow dim], codes [F, n >= 1] -> logits [F, n, C] of codebooks 1..n."""
        start = self.audio_decoder.project_in(normed)[:, None]
        x = torch.cat([start, self.audio_decoder.embeddings(codes)], dim=1)
        turn = self.fast_turn[: x.shape[1]]
        for layer in self.audio_decoder.layers:
            x, _, _ = layer(x, turn, None)
        logits: Tensor = self.audio_decoder.output(self.audio_decoder.norm(x[:, 1:]))
        return logits
