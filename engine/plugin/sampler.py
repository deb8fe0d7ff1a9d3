"""SGLang's sampler interface over the frame step; registered as a sampling backend."""

from __future__ import annotations

from typing import Any

import torch
from sglang.srt.layers.logits_processor import LogitsProcessorOutput
from sglang.srt.layers.sampler import Sampler
from torch import Tensor

from engine.models.frame_step import FrameStep
from engine.models.graphs import StepGraphs
from engine.plugin.frame_ids import frame_ids

# key of the per-token extra output: bytes, little-endian uint16 [num_codebooks] a token
CODES_KEY = "codes"
# ... and which token of the text the frame speaks, where the checkpoint names alignment heads
TEXT_TOKEN_KEY = "text_token"


class DualARSampler(Sampler):
    """Runs the `FrameStep` that the model provides once it is built."""

    # set by the model, which SGLang builds after us
    frame_step: FrameStep | StepGraphs | None = None

    def forward(
        self,
        logits_output: LogitsProcessorOutput,
        sampling_info: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Tensor:
        """SGLang's token ids [B]; the codes travel in `customized_info`, one bytes object a row."""
        step = DualARSampler.frame_step
        if step is None:  # another model's server, in an environment where we are installed
            return super().forward(logits_output, sampling_info, *args, **kwargs)
        logits, hidden = logits_output.next_token_logits, logits_output.hidden_states
        # a graph's slots are padded to its batch, its logits and hidden states are not
        info = logits_output.customized_info
        slots = info["slots"][: logits.shape[0]]
        ids, codes = step(logits, hidden, slots, step.table.take_mode())
        packed = codes.to(torch.uint16).cpu().numpy()
        logits_output.customized_info = {CODES_KEY: [row.tobytes() for row in packed]}
        if info["text_weights"]:
            weights = sum(info["text_weights"])[: logits.shape[0]]
            logits_output.customized_info[TEXT_TOKEN_KEY] = weights.argmax(dim=-1).tolist()
        logits_output.hidden_states = None
        spoken = frame_ids(codes, step.slow.embeddings.num_embeddings)
        return torch.where(ids == step.slow.end_id, ids, spoken).to(torch.int32)
