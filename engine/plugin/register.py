"""SGLang's entry point `sglang.srt.plugins`: runs in every SGLang process of this environment.

Registers the configuration, the sampler, the CPU's attention and the scheduler's hook. A server of
another model notices nothing: each does its work for a Dual-AR model only.
"""

from __future__ import annotations

from typing import Any

# SGLang forces the backend "pytorch" on a CPU; elsewhere it takes the one that it is given
SAMPLING_BACKENDS = ("dual_ar", "pytorch")

_CPU_ATTENTION = "torch_native"


def register() -> None:
    """Called by SGLang before it parses its arguments, in the parent and in each child."""
    from sglang.srt.layers.attention.attention_registry import (
        ATTENTION_BACKENDS,
        register_attention_backend,
    )
    from sglang.srt.layers.sampler import register_sampler_backend
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    from transformers import AutoConfig

    from engine.plugin.pretrained import MODEL_TYPE, DualARConfig

    AutoConfig.register(MODEL_TYPE, DualARConfig, exist_ok=True)
    for backend in SAMPLING_BACKENDS:
        register_sampler_backend(backend, _make_sampler)
    stock = ATTENTION_BACKENDS[_CPU_ATTENTION]
    register_attention_backend(_CPU_ATTENTION)(lambda runner: _make_attention(runner, stock))
    HookRegistry.register(
        "sglang.srt.managers.scheduler.Scheduler.run_batch", _before_batch, HookType.BEFORE
    )


def _make_sampler() -> Any:
    from engine.plugin.sampler import DualARSampler

    return DualARSampler()


def _make_attention(runner: Any, stock: Any) -> Any:
    from engine.plugin.pretrained import MODEL_TYPE

    if runner.model_config.hf_config.model_type != MODEL_TYPE:
        return stock(runner)
    from engine.plugin.cpu_attention import BatchedAttentionBackend

    return BatchedAttentionBackend(runner)


def _before_batch(scheduler: Any, batch: Any, *args: Any, **kwargs: Any) -> None:
    from engine.models.request_table import draw_mode
    from engine.plugin.prefill import settings_of, stage_extend
    from engine.plugin.sampler import CODES_KEY, DualARSampler

    step = DualARSampler.frame_step
    if step is None:
        return
    if batch.forward_mode.is_extend():
        stage_extend(step.table, batch, CODES_KEY)
    settings = (settings_of(req.sampling_params.custom_params) for req in batch.reqs)
    step.table.stage_mode(draw_mode(settings))
