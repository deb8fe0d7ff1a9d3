"""The token id under which SGLang knows a frame: a hash of all its codes.

SGLang's prefix cache files KV under token ids, but a frame's KV depends on all its codebooks, and
the vocabulary spells codebook 0 only. So SGLang is shown, for every frame of a prompt and for every
frame that is made, an id above the vocabulary that hashes all codes; the model itself never reads
these ids (the codes travel beside them). A cache hit then means the same codes: across voices,
across dialogues that say the same text, for the next turn of a dialogue, and after a retraction,
without any key that would keep apart what could be shared.

SGLang accepts ids below one million, which leaves 844,224 for S2-Pro. Two prompts that are equal up
to a frame and differ in it share that one frame's KV with a chance of about 1e-6. Registered voices
are kept apart exactly, by `engine.host.cache_salt`.
"""

from __future__ import annotations

import torch
from torch import Tensor

# `sglang.srt.managers.schedule_batch.MM_PAD_SHIFT_VALUE`: where ids of other media begin
ID_LIMIT = 1_000_000

_MULTIPLIER, _STEP = 0x2545F4914F6CDD1D, 0x1E3779B97F4A7C15


def frame_ids(codes: Tensor, vocab_size: int) -> Tensor:
    """codes [..., num_codebooks], integers -> ids [...], int64, in vocab_size to ID_LIMIT."""
    places = torch.arange(1, codes.shape[-1] + 1, device=codes.device, dtype=torch.int64)
    # each place has its own odd multiplier; int64 products wrap, which is what a hash wants
    mixed = ((codes.to(torch.int64) + 1) * (places * _STEP * 2 + 1)).sum(dim=-1)
    mixed = (mixed ^ ((mixed >> 29) & 0x7FFFFFFFF)) * _MULTIPLIER
    return vocab_size + ((mixed >> 20) & 0x7FFFFFFFFFF) % (ID_LIMIT - vocab_size)
