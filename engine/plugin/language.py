"""SGLang, hosted: a prompt in, one frame's codes after the other out."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import numpy as np

from engine.api import EngineOverloadedError
from engine.checkpoint.folder import Checkpoint
from engine.errors import EngineStartError, PromptError
from engine.models.request_table import RowSettings
from engine.plugin.prefill import to_custom_params
from engine.plugin.startup import prepare, uses_cuda
from engine.text.prompt import Prompt
from engine.worker_config import EngineConfig

# tokens of the KV cache per stream where the configuration leaves it open on a CPU: a prompt with
# history and a long segment, and as much again for cached prefixes
_KV_TOKENS_PER_STREAM = 4096


@dataclass(frozen=True, slots=True)
class CodeStep:
    """What one or more decode steps generated. `codes`: one bytes object a frame, uint16 LE [N].

    `retractions`: how often the request was retracted for want of KV cache, so far.
    """

    codes: list[bytes]
    text_tokens: tuple[int, ...]  # one a frame, or none at all
    prompt_tokens: int
    cached_tokens: int
    finish: str | None  # "stop", "length", "abort" or None
    retractions: int


class LanguageEngine:
    """One `sglang.Engine` with the Dual-AR plugin. Construct it in the main thread."""

    def __init__(self, checkpoint: Checkpoint, config: EngineConfig) -> None:
        self._end_id = checkpoint.config.eos_token_id
        self._vocab_size = checkpoint.config.text_config.vocab_size
        self._engine = _start(checkpoint, config)

    async def generate(
        self,
        request_id: str,
        prompt: Prompt,
        settings: RowSettings,
        max_frames: int,
        cache_salt: str,
        rank: int,
    ) -> AsyncGenerator[CodeStep]:
        """Speak a prompt; the last step has `finish`.

        `rank`: when the cache is full, what was prefilled with a lower one goes first. Raises
        PromptError on what can never fit the cache, EngineOverloadedError on what did not.
        """
        params = {
            # one more, so that a segment of exactly max_frames may still end by itself
            "max_new_tokens": max_frames + 1,
            "stop_token_ids": [self._end_id],
            "custom_params": to_custom_params(
                settings, prompt.code_spans, prompt.codes, prompt.text_span, prompt.answered
            ),
        }
        stream: Any = await self._engine.async_generate(
            input_ids=self._cache_ids(prompt),
            sampling_params=params,
            stream=True,
            rid=request_id,
            cache_salt=cache_salt,
            priority=rank,
        )
        generated = 0
        async with aclosing(stream):
            async for output in stream:
                meta = output["meta_info"]  # all but empty if aborted before the first step
                finish = meta["finish_reason"]
                _raise_refusal(finish)
                frames = zip(output.get("output_ids", []), meta.get("codes", []), strict=False)
                codes = [code for token, code in frames if token != self._end_id]
                codes = codes[: max_frames - generated]
                generated += len(codes)
                text_tokens = tuple(meta.get("text_token", ()))[: len(codes)]
                yield CodeStep(
                    codes,
                    text_tokens,
                    meta.get("prompt_tokens", 0),
                    meta.get("cached_tokens", 0),
                    None if finish is None else finish["type"],
                    meta.get("num_retractions", 0),
                )

    def _cache_ids(self, prompt: Prompt) -> list[int]:
        """The prompt's ids as SGLang sees them: hashes where there are frames."""
        import torch

        from engine.plugin.frame_ids import frame_ids

        ids = np.array(prompt.input_ids)
        codes = torch.from_numpy(prompt.codes.astype(np.int64))
        ids[prompt.code_positions()] = frame_ids(codes, self._vocab_size).numpy()
        return [int(token) for token in ids]

    def abort(self, request_id: str) -> None:
        """Ask the scheduler to drop a request; its stream then ends with finish "abort".

        Before the scheduler has the request nothing is asked: it would ignore the first word, and
        SGLang sends no second one. Ask again when the request has had a step.
        """
        manager = self._engine.tokenizer_manager
        state = manager.rid_to_state.get(request_id)
        if state is not None and state.dispatched:
            manager.abort_request(request_id)

    def kv_tokens(self) -> tuple[int, int]:
        """Size of the KV cache and how much of it running requests hold, as last published."""
        loads = self._engine.tokenizer_manager.load_snapshot_reader.read_all()
        return (
            sum(load.max_total_num_tokens for load in loads),
            sum(load.num_used_tokens for load in loads),
        )

    def close(self) -> None:
        """End SGLang's processes."""
        self._engine.shutdown()


def _raise_refusal(finish: dict[str, Any] | None) -> None:
    """An abort that nobody asked for has an HTTP status."""
    if finish is None or finish.get("status_code") is None:
        return
    message = f"expected a request that fits the KV cache, SGLang says: {finish['message']}"
    if finish["status_code"] == HTTPStatus.BAD_REQUEST:
        raise PromptError(message)
    raise EngineOverloadedError(message)


def _start(checkpoint: Checkpoint, config: EngineConfig) -> Any:
    cuda = uses_cuda(config)
    prepare(config)
    from engine.plugin.tokens_only import TokensOnlyEngine

    dtype = config.dtype if config.dtype != "auto" else ("bfloat16" if cuda else "float32")
    kv_tokens = config.kv_tokens
    if kv_tokens is None and not cuda:
        kv_tokens = _KV_TOKENS_PER_STREAM * config.max_streams
    options: dict[str, Any] = {
        "model_path": str(checkpoint.path),
        "device": "cuda" if cuda else "cpu",
        "dtype": dtype,
        "sampling_backend": "dual_ar",
        "skip_tokenizer_init": True,
        "disable_overlap_schedule": True,
        "incremental_streaming_output": True,
        # SGLang takes one number for both the order of its own line and the cache's: we have a
        # line of our own, so it ranks the cache only, and never retracts a running request
        "enable_priority_scheduling": True,
        "disable_priority_preemption": True,
        "radix_eviction_policy": "priority",
        "max_running_requests": config.max_streams,
        "context_length": checkpoint.config.text_config.max_seq_len,
        "json_model_override_args": json.dumps({"architectures": ["DualARForSpeech"]}),
        # else the scheduler polls: a whole core, for ever
        "sleep_on_idle": True,
        "log_level": "error",
    }
    if kv_tokens is not None:
        options["max_total_tokens"] = kv_tokens
    if cuda:
        import torch

        from engine.plugin.cuda_options import cuda_options

        options |= cuda_options(config, torch.cuda.get_device_capability()[0])
    else:
        options["attention_backend"] = config.attention or "torch_native"
    try:
        return TokensOnlyEngine(**options)
    except Exception as error:
        raise EngineStartError(f"expected SGLang to start, got {error!r}") from error
