"""SGLang's options on a GPU: attention and CUDA graphs."""

from __future__ import annotations

import logging
from typing import Any

from engine.models.graphs import batch_buckets
from engine.worker_config import EngineConfig

log = logging.getLogger("voice-gateway.worker")

# what S2-Pro's published figures were made with
REFERENCE_ATTENTION = "fa3"
_HOPPER = 9  # compute capability, major


def cuda_options(config: EngineConfig, capability_major: int) -> dict[str, Any]:
    """Keyword arguments of `sglang.Engine`; warns when attention will not be FlashAttention 3.

    Only decode steps are recorded as graphs: a prefill reads the codes that the scheduler's hook
    has staged for it.
    """
    options: dict[str, Any] = {
        "cuda_graph_bs_decode": batch_buckets(config.max_streams),
        "cuda_graph_max_bs_decode": config.max_streams,
        "disable_prefill_cuda_graph": True,
        "disable_decode_cuda_graph": not config.graphs,
    }
    attention = config.attention
    if attention is None and capability_major == _HOPPER:
        attention = REFERENCE_ATTENTION
    if attention is not None:
        options["attention_backend"] = attention
    if attention != REFERENCE_ATTENTION:
        log.warning(
            "attention: expected %s, as S2-Pro was published with, got %s on compute capability "
            "%d: it rounds differently, so the same seed speaks differently, and speech may be "
            "worse; listen before you trust it",
            REFERENCE_ATTENTION,
            attention or "SGLang's own choice",
            capability_major,
        )
    return options
