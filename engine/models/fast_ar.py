"""The fast AR: a frame's hidden state and semantic code in, its residual codes out.

The frame has num_codebooks positions: position 0 is the slow AR's hidden state, position k > 0
embeds code k - 1; position k predicts codebook k (position 0's prediction is discarded). The first
two positions are known together and run in one pass, so a frame costs num_codebooks - 1 passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from engine.checkpoint.config_json import FastConfig
from engine.models.layers import Block, RMSNorm, load_block_weight, rope_table

# (codebook index k, logits [B, C]) -> codes [B]
Draw = Callable[[int, Tensor], Tensor]


class FastAR(nn.Module):
    """Residual codebooks of one frame for a whole batch; its cache is allocated once."""

    def __init__(self, config: FastConfig, text_dim: int, max_batch: int) -> None:
        super().__init__()
        self.num_codebooks = config.num_codebooks
        self.codebook_size = config.vocab_size
        self.head_dim = config.head_dim
        self.kv_heads = config.n_local_heads
        self.groups = config.n_head // config.n_local_heads
        self.project_in: nn.Linear | None = None
        if text_dim != config.dim:
            self.project_in = nn.Linear(text_dim, config.dim)
        self.embeddings = nn.Embedding(config.vocab_size, config.dim)
        self.layers = nn.ModuleList(Block(config, i) for i in range(config.n_layer))
        self.norm = RMSNorm(config.dim, config.norm_eps)
        self.output = nn.Linear(config.dim, config.vocab_size, bias=False)
        # [layers, k or v, batch, kv heads, positions, d]
        shape = (
            config.n_layer, 2, max_batch, config.n_local_heads, config.num_codebooks,
            config.head_dim,
        )  # fmt: skip
        self.register_buffer("cache", torch.zeros(shape), False)
        self.register_buffer(
            "turns", rope_table(config.num_codebooks, config.head_dim, config.rope_base), False
        )
        first = torch.full((2, 2), float("-inf")).triu(1)
        self.register_buffer("first_mask", first, False)
        self.cache: Tensor
        self.turns: Tensor
        self.first_mask: Tensor
        self._attend_frame: Callable[..., None] | None = None

    @property
    def _blocks(self) -> Iterator[Block]:
        for block in self.layers:
            assert isinstance(block, Block)
            yield block

    def compile_attention(self) -> None:
        """Attend by a compiled loop from now on, if this is fp32 on a CPU without head norms."""
        plain = self.cache.device.type == "cpu" and self.cache.dtype == torch.float32
        if plain and all(block.attention.qk_norm is None for block in self._blocks):
            from engine.models import cpu_kernels  # where it is not used, nothing is compiled

            self._attend_frame = cpu_kernels.attend_frame

    def forward(self, hidden: Tensor, semantic: Tensor, draw: Draw) -> Tensor:
        """hidden [B, text_dim] (normed), semantic codes [B] -> codes [B, num_codebooks].

        Raises ValueError when B exceeds the cache's batch.
        """
        batch = hidden.shape[0]
        if batch > self.cache.shape[2]:
            raise ValueError(f"expected a batch of at most {self.cache.shape[2]}, got {batch}")
        codes = [semantic]
        if self.num_codebooks > 1:
            start = hidden if self.project_in is None else self.project_in(hidden)
            x = torch.stack((start, self.embeddings(semantic)), dim=1)  # [B, 2, dim]
            codes.append(draw(1, self._pass(x, 0)))
        for k in range(2, self.num_codebooks):
            codes.append(draw(k, self._pass(self.embeddings(codes[-1]).unsqueeze(1), k)))
        return torch.stack(codes, dim=1)

    def teacher_forced(self, hidden: Tensor, codes: Tensor) -> Tensor:
        """hidden [B, text_dim], codes [B, num_codebooks] -> logits [B, num_codebooks - 1, C]."""
        seen: list[Tensor] = []

        def follow(k: int, logits: Tensor) -> Tensor:
            seen.append(logits)
            return codes[:, k]

        self(hidden, codes[:, 0], follow)
        return torch.stack(seen, dim=1)

    def _pass(self, x: Tensor, start: int) -> Tensor:
        """x [B, P, dim] at positions start.. -> logits of the last position [B, C]."""
        batch, width, dim = x.shape
        flat = x.reshape(batch * width, dim)
        if self._attend_frame is not None:
            flat = self._compiled_blocks(flat, start, batch)
        else:
            flat = self._eager_blocks(flat, start, batch)
        logits: Tensor = self.output(self.norm(flat.view(batch, width, dim)[:, -1]))
        return logits

    def _eager_blocks(self, flat: Tensor, start: int, batch: int) -> Tensor:
        width = flat.shape[0] // batch
        stop = start + width
        turn = self.turns[start:stop].repeat(batch, 1)
        mask = self.first_mask if width == 2 else None

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            cache = self.cache[layer, :, :batch]
            kv = (batch, width, self.kv_heads, self.head_dim)
            cache[0, :, :, start:stop] = k.view(kv).transpose(1, 2)
            cache[1, :, :, start:stop] = v.reshape(kv).transpose(1, 2)
            keys, values = cache[0, :, :, :stop], cache[1, :, :, :stop]
            # [B, K, groups * P, d]: the queries of a group share their keys in one matmul
            query = q.view(batch, width, self.kv_heads, self.groups, self.head_dim)
            query = query.permute(0, 2, 3, 1, 4).reshape(batch, self.kv_heads, -1, self.head_dim)
            scores = (query @ keys.transpose(-1, -2)) * self.head_dim**-0.5
            if mask is not None:
                scores = (scores.unflatten(2, (self.groups, width)) + mask).flatten(2, 3)
            mixed = scores.softmax(-1, dtype=torch.float32).to(values.dtype) @ values
            mixed = mixed.unflatten(2, (self.groups, width)).permute(0, 3, 1, 2, 4)
            return mixed.reshape(batch * width, -1)

        for block in self._blocks:
            flat = block(flat, turn, attend)
        return flat

    def _compiled_blocks(self, flat: Tensor, start: int, batch: int) -> Tensor:
        assert self._attend_frame is not None
        kernel, heads = self._attend_frame, self.groups * self.kv_heads
        turns, cache = torch.view_as_real(self.turns).numpy(), self.cache.numpy()

        def attend(layer: int, qkv: Tensor) -> Tensor:
            out = qkv.new_empty(qkv.shape[0], heads, self.head_dim)
            keys, values = cache[layer, 0, :batch], cache[layer, 1, :batch]
            kernel(qkv.numpy(), turns, start, keys, values, out.numpy())
            return out.flatten(1)

        for block in self._blocks:
            flat = block.compiled(flat, attend)
        return flat

    @torch.no_grad()
    def load(self, name: str, value: Tensor, scale: Tensor | None = None) -> None:
        """Copy one tensor of `audio_decoder.`. Raises KeyError if unknown."""
        if name.startswith("layers."):
            _, index, rest = name.split(".", 2)
            block = self.layers[int(index)]
            assert isinstance(block, Block)
            load_block_weight(block, rest, value, scale)
        else:
            dict(self.named_parameters())[name].copy_(value)
