"""The frame step as CUDA graphs: recorded once per bucket of batch sizes, replayed with padding.

The nine passes of the fast AR and the sampler are some 700 small kernels a frame, whose launches
would cost a GPU more than their work. SGLang records the slow AR in the same way; what follows the
slow AR is its sampler's business, hence ours.

A batch is copied to buffers that never move, padded to the next bucket with the request table's
spare slot, and comes back in buffers that the next replay overwrites. One graph serves every mix of
sampling styles (`DrawMode.ANY`): its few kernels more cost less than a second set of graphs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from engine.models.frame_step import FrameStep
from engine.models.request_table import DrawMode

Outputs = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Recording:
    """`replay` does the recorded work again, on the same memory; `outputs` is where it writes."""

    replay: Callable[[], None]
    outputs: Outputs


class Recorder(Protocol):
    """Makes recordings; `CudaRecorder`, or a stand-in where there is no GPU."""

    def record(self, work: Callable[[], Outputs]) -> Recording:
        """Record `work`, which reads and writes the same tensors at every call."""
        ...


class CudaRecorder:
    """Records CUDA graphs that share one pool of memory: only one of them runs at a time."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream()

    def record(self, work: Callable[[], Outputs]) -> Recording:
        """Run twice, so that libraries have set themselves up, then record."""
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            work()
            work()
        torch.cuda.current_stream().wait_stream(self._stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
            outputs = work()
        return Recording(graph.replay, outputs)


def batch_buckets(max_batch: int) -> list[int]:
    """Batch sizes worth a graph, up to the largest; none is more than twice the one before."""
    sizes = [1, 2, 4, 8]
    while sizes[-1] < max_batch:
        last = sizes[-1]
        sizes.append(last + (4 if last < 16 else 8 if last < 64 else 16))
    return [*(size for size in sizes if size < max_batch), max_batch]


class StepGraphs:
    """A `FrameStep` by recordings; called like one. `record` it when the weights are loaded."""

    def __init__(self, step: FrameStep, buckets: Sequence[int], recorder: Recorder) -> None:
        self.slow, self.fast, self.table = step.slow, step.fast, step.table
        self._step, self._recorder = step, recorder
        self._buckets = sorted(buckets)
        head, largest = step.slow.head, self._buckets[-1]
        device = step.table.codes.device
        self._logits = torch.zeros(largest, head.shape[0], dtype=torch.float32, device=device)
        self._hidden = torch.zeros(largest, head.shape[1], dtype=head.dtype, device=device)
        self._slots = torch.full((largest,), step.table.spare, dtype=torch.int64, device=device)
        self._recordings: dict[int, Recording] = {}

    @torch.no_grad()
    def record(self) -> None:
        """Record every bucket, largest first, so that the others fit into its memory."""
        for bucket in reversed(self._buckets):
            self._recordings[bucket] = self._recorder.record(partial(self._run, bucket))

    def _run(self, size: int) -> Outputs:
        return self._step(
            self._logits[:size], self._hidden[:size], self._slots[:size], DrawMode.ANY
        )

    @torch.no_grad()
    def __call__(self, logits: Tensor, hidden: Tensor, slots: Tensor, mode: DrawMode) -> Outputs:
        """As `FrameStep`, whatever the mode; the results hold until the next call.

        Raises ValueError on a batch larger than the largest bucket.
        """
        batch = logits.shape[0]
        index = bisect_left(self._buckets, batch)
        if index == len(self._buckets):
            raise ValueError(f"expected a batch of at most {self._buckets[-1]}, got {batch}")
        bucket = self._buckets[index]
        self._logits[:batch].copy_(logits)
        self._hidden[:batch].copy_(hidden)
        self._slots[:batch].copy_(slots)
        self._slots[batch:bucket].fill_(self.table.spare)
        recording = self._recordings[bucket]
        recording.replay()
        ids, codes = recording.outputs
        return ids[:batch], codes[:batch]
