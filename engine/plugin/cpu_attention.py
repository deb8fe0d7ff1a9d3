"""Paged attention on a CPU for many short streams: one call per layer for the whole batch.

SGLang's torch-native backend loops over requests in Python, so a step's cost grows with the number
of streams by dozens of small calls each. Here a decode step in fp32 is one compiled loop a layer,
which reads keys and values where they lie. In other dtypes the index of every stream's cache rows
and the mask are made once per step, and each layer gathers and attends in a few calls.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend
from torch import Tensor

from engine.models.cpu_kernels import attend_paged


def _is_direct(pool: Any, table: Any) -> bool:
    """Whether the compiled loop can read the pools as they lie."""
    keys = pool.get_key_buffer(pool.start_layer)
    return (
        keys.dtype == torch.float32
        and keys.device.type == "cpu"
        and table.req_to_token.dtype == torch.int32
    )


class BatchedAttentionBackend(TorchNativeAttnBackend):
    """Decode: all streams at once. Extend: one call a request, over its own new tokens only."""

    def init_forward_metadata(self, forward_batch: Any) -> None:
        """What all layers of a step share."""
        super().init_forward_metadata(forward_batch)
        decode = forward_batch.forward_mode.is_decode()
        self._direct = decode and _is_direct(self.token_to_kv_pool, self.req_to_token_pool)
        if self._direct:
            self._table = self.req_to_token_pool.req_to_token.numpy()
            self._requests = forward_batch.req_pool_indices.long().numpy()
            self._lengths = forward_batch.seq_lens.long().numpy()
        else:
            self._index(forward_batch)

    def _index(self, forward_batch: Any) -> None:
        """Index and mask: cache rows [B, L] and additive mask [B, 1, 1, L]."""
        lengths = forward_batch.seq_lens
        longest = int(lengths.max()) if len(lengths) else 0
        table = self.req_to_token_pool.req_to_token
        self._rows = table[forward_batch.req_pool_indices, :longest]
        self._mask: Tensor | None = None
        if len(lengths) > 1:
            inside = torch.arange(longest, device=lengths.device) < lengths.unsqueeze(1)
            # rows beyond a stream's end point anywhere; make them valid, the mask drops them
            self._rows = torch.where(inside, self._rows, 0)
            mask = torch.zeros(inside.shape, dtype=torch.float32, device=lengths.device)
            self._mask = mask.masked_fill_(~inside, float("-inf"))[:, None, None]
        if forward_batch.forward_mode.is_extend():
            self._extend_lens = forward_batch.extend_seq_lens.tolist()
            self._seq_lens = lengths.tolist()

    def forward_decode(
        self, q: Any, k: Any, v: Any, layer: Any, forward_batch: Any, save_kv_cache: bool = True
    ) -> Tensor:
        """q [B, H * d] -> [B, H * d]."""
        keys, values = self._store(k, v, layer, forward_batch, save_kv_cache)
        heads, kv_heads, size = layer.tp_q_head_num, layer.tp_k_head_num, layer.qk_head_dim
        if self._direct:
            query = q.view(-1, heads, size)
            out = query.new_empty(query.shape)
            attend_paged(
                query.numpy(),
                keys.numpy(),
                values.numpy(),
                self._table,
                self._requests,
                self._lengths,
                layer.scaling,
                out.numpy(),
            )
            return out.flatten(1)
        # [B, L, K, d] -> [B, K, L, d]
        keys = keys[self._rows].transpose(1, 2)
        values = values[self._rows].transpose(1, 2)
        query = q.view(-1, kv_heads, heads // kv_heads, size)  # the group shares its keys
        scores = (query @ keys.transpose(-1, -2)).float() * layer.scaling
        if self._mask is not None:
            scores = scores + self._mask
        mixed: Tensor = scores.softmax(-1).to(values.dtype) @ values
        return mixed.reshape(q.shape[0], -1)

    def forward_extend(
        self, q: Any, k: Any, v: Any, layer: Any, forward_batch: Any, save_kv_cache: bool = True
    ) -> Tensor:
        """q [T, H * d], the new tokens of all requests -> [T, H * d]."""
        keys, values = self._store(k, v, layer, forward_batch, save_kv_cache)
        query = q.view(-1, layer.tp_q_head_num, layer.qk_head_dim)
        parts, start = [], 0
        for i, (new, length) in enumerate(zip(self._extend_lens, self._seq_lens, strict=True)):
            rows = self._rows[i, :length]
            mask = torch.ones(new, length, dtype=torch.bool, device=q.device).tril(length - new)
            part = F.scaled_dot_product_attention(
                query[start : start + new].transpose(0, 1),
                keys[rows].transpose(0, 1),
                values[rows].transpose(0, 1),
                attn_mask=mask,
                scale=layer.scaling,
                enable_gqa=True,
            )
            parts.append(part.transpose(0, 1).reshape(new, -1))
            start += new
        return torch.cat(parts)

    def _store(
        self, k: Any, v: Any, layer: Any, forward_batch: Any, save: bool
    ) -> tuple[Tensor, Tensor]:
        """Write the step's keys and values; return the layer's whole pools [size, K, d]."""
        pool = self.token_to_kv_pool
        keys: Tensor = pool.get_key_buffer(layer.layer_id)
        values: Tensor = pool.get_value_buffer(layer.layer_id)
        if save:
            where = forward_batch.out_cache_loc
            keys[where] = k.view(-1, layer.tp_k_head_num, layer.qk_head_dim).to(keys.dtype)
            values[where] = v.view(-1, layer.tp_v_head_num, layer.v_head_dim).to(values.dtype)
        return keys, values
