"""S2-Pro's Dual-AR as an SGLang model: paged attention under the slow AR, codes from the table.

The checkpoint's layout is that of the S2-Pro specification, section 3. SGLang builds this class
from `EntryClass`; the request table and the frame step are handed to the sampler from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from sglang.srt.layers.logits_processor import LogitsProcessorOutput
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
from sglang.srt.model_executor.forward_context import get_req_to_token_pool, get_token_to_kv_pool
from sglang.srt.runtime_context import get_server_args
from torch import Tensor, nn

from engine.models.alignment import Alignment, text_window
from engine.models.frame_step import FrameStep
from engine.models.graphs import CudaRecorder, StepGraphs, batch_buckets
from engine.models.request_table import RequestTable
from engine.models.weights import build_dual_ar, load_dual_ar
from engine.plugin.pretrained import DualARConfig
from engine.plugin.sampler import DualARSampler


class DualARForSpeech(nn.Module):
    """forward: one slow step for every token of the batch; logits of the last of each request."""

    def __init__(self, config: DualARConfig, quant_config: Any = None, prefix: str = "") -> None:
        super().__init__()
        self.config = config
        args = get_server_args()
        max_batch = args.max_running_requests
        model = config.language_model
        slow, fast = model.text_config, model.audio_decoder_config
        self.slow, self.fast = build_dual_ar(model, max_batch)
        self.paged = nn.ModuleList(
            RadixAttention(
                slow.n_head, slow.head_dim, slow.head_dim**-0.5, slow.n_local_heads, layer_id=i
            )
            for i in range(slow.n_layer)
        )
        # SGLang numbers request slots from 1 on some pools, and keeps a spare
        self.table = RequestTable(2 * max_batch + 2, fast.num_codebooks, args.device)
        self.alignment = Alignment(config.alignment_heads, slow.n_head, slow.n_local_heads)
        self._step = FrameStep(self.slow, self.fast, self.table)
        self._buckets = batch_buckets(max_batch)
        self._records = args.device == "cuda" and not args.disable_decode_cuda_graph
        DualARSampler.frame_step = self._step

    @torch.no_grad()
    def forward(
        self,
        input_ids: Tensor,
        positions: Tensor,
        forward_batch: ForwardBatch,
        input_embeds: Tensor | None = None,
    ) -> LogitsProcessorOutput:
        """input_ids [T], positions [T] -> restricted logits [B, S + 1], hidden states [B, dim]."""
        extend = forward_batch.forward_mode.is_extend()
        slots = forward_batch.req_pool_indices
        if extend:
            codes = self.table.take_prefill(forward_batch.rids or (), input_ids.shape[0])
        else:
            codes = self.table.codes[slots]
        last = forward_batch.extend_seq_lens.cumsum(0) - 1 if extend else None
        # SGLang's ids of frames are hashes (engine.plugin.frame_ids): back to the vocabulary's
        frames = input_ids >= self.slow.embeddings.num_embeddings
        input_ids = torch.where(frames, self.slow.first_id + codes[:, 0], input_ids)

        text_weights: list[Tensor] = []
        rows, inside = self._text_rows(slots) if self.alignment.heads else (slots, slots)

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            out: Tensor = self.paged[layer](
                q.flatten(1), k.flatten(1), v.reshape(v.shape[0], -1), forward_batch
            )
            if layer in self.alignment.heads:
                keys = get_token_to_kv_pool().get_key_buffer(layer)[rows]
                query = q if last is None else q[last]
                text_weights.append(self.alignment.weights(layer, query, keys, inside))
            return out

        x = self.slow(self.slow.embed(input_ids, codes), positions, attend)
        if last is not None:
            x = x[last]
        hidden = self.slow.norm(x)
        return LogitsProcessorOutput(
            next_token_logits=self.slow.logits(hidden).float(),
            hidden_states=hidden,
            customized_info={"slots": slots, "text_weights": text_weights},
        )

    def _text_rows(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Where the text's keys lie in the paged cache [B, W], and which of them are text."""
        positions, inside = text_window(self.table.text[slots])
        table = get_req_to_token_pool().req_to_token
        return table[slots.unsqueeze(1), positions], inside

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Copy every tensor of the checkpoint; on a GPU, then record the frame step.

        Here SGLang has not yet given the rest of the memory to its KV cache.
        """
        load_dual_ar(self.slow, self.fast, weights)
        self.fast.compile_attention()
        if self._records:
            graphs = StepGraphs(self._step, self._buckets, CudaRecorder())
            graphs.record()
            DualARSampler.frame_step = graphs


EntryClass = DualARForSpeech
