"""The slow AR: text and past frames in, one semantic token's logits and hidden state out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.checkpoint.config_json import SlowConfig
from engine.models.layers import Attend, Block, RMSNorm, load_block_weight, rope_table


class SlowAR(nn.Module):
    """Embeddings of tokens and codes, the block stack, and the semantic head (tied).

    `semantic` are the first and last semantic ids, `end_id` is `<|im_end|>`; the head scores only
    these: column j < S is semantic id first + j, column S is the end.
    """

    def __init__(
        self,
        config: SlowConfig,
        num_codebooks: int,
        codebook_size: int,
        semantic: tuple[int, int],
        end_id: int,
    ) -> None:
        super().__init__()
        self.first_id, self.last_id = semantic
        self.end_id = end_id
        self.num_codebooks = num_codebooks
        self.embeddings = nn.Embedding(config.vocab_size, config.dim)
        self.codebook_embeddings = nn.Embedding(num_codebooks * codebook_size, config.dim)
        self.layers = nn.ModuleList(Block(config, i) for i in range(config.n_layer))
        self.norm = RMSNorm(config.dim, config.norm_eps)
        self.head = nn.Parameter(
            torch.empty(self.last_id - self.first_id + 2, config.dim), requires_grad=False
        )
        self.register_buffer(
            "turns", rope_table(config.max_seq_len, config.head_dim, config.rope_base), False
        )
        self.register_buffer("offsets", torch.arange(num_codebooks) * codebook_size, False)
        self.turns: Tensor
        self.offsets: Tensor

    def embed(self, ids: Tensor, codes: Tensor) -> Tensor:
        """ids [T], codes [T, num_codebooks] (used only at semantic ids) -> [T, dim]."""
        x = self.embeddings(ids)
        spoken = ((ids >= self.first_id) & (ids <= self.last_id)).unsqueeze(-1)
        frame = F.embedding_bag(codes + self.offsets, self.codebook_embeddings.weight, mode="sum")
        return torch.where(spoken, (x + frame) / (self.num_codebooks + 1) ** 0.5, x)

    def forward(self, x: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Embeddings x [T, dim] at positions [T] -> hidden before the final norm [T, dim]."""
        turn = self.turns[positions]
        for block in self.layers:
            x = block(x, turn, attend)
        return x

    def logits(self, normed: Tensor) -> Tensor:
        """Normed hidden [B, dim] -> scores of the S semantic ids and of the end [B, S + 1]."""
        return F.linear(normed, self.head)

    def token_ids(self, columns: Tensor) -> Tensor:
        """Columns of `logits` -> token ids of the vocabulary."""
        ids = columns + self.first_id
        return torch.where(ids > self.last_id, self.end_id, ids)

    @torch.no_grad()
    def load(self, name: str, value: Tensor, scale: Tensor | None = None) -> None:
        """Copy one tensor of `text_model.model.` (or the codebook table). KeyError if unknown."""
        if name == "embeddings.weight":
            self.embeddings.weight.copy_(value)
            self.head[:-1].copy_(value[self.first_id : self.last_id + 1])
            self.head[-1].copy_(value[self.end_id])
        elif name == "norm.weight":
            self.norm.weight.copy_(value)
        elif name == "codebook_embeddings.weight":
            self.codebook_embeddings.weight.copy_(value)
        elif name.startswith("layers."):
            _, index, rest = name.split(".", 2)
            block = self.layers[int(index)]
            assert isinstance(block, Block)
            load_block_weight(block, rest, value, scale)
        else:
            raise KeyError(name)
