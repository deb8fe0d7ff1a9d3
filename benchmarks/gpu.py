"""Everything that needs a GPU, in one run: `uv run --extra cuda python -m benchmarks.gpu`.

Without --checkpoint it writes one of S2-Pro's size with random weights (11 GB), which is as fast as
S2-Pro and says nothing about its sound. Measured, in bf16:

- golden: the tiny checkpoint's golden requests in fp32 on the device, frame by frame;
- engine: step time, real-time factor, frames a second and first audio at 1 to 64 streams, with
  FlashAttention 3 and CUDA graphs, then without the one and without the other;
- frame step: sampler and fast AR, kernel by kernel and as a graph;
- codec: one frame of each stream in one call.

Beside each stands `floor_ms`, the roofline: the bytes that a step must read over the device's
bandwidth, or its multiplications over its peak, whichever is longer. --plan shows what would be
measured, and the floors, on any machine; --rehearse runs all of it on a CPU with the tiny
checkpoint, to see that it runs.

Published for S2-Pro on one H200: real-time factor 0.195, first audio 100 ms, 3000 acoustic tokens
(300 frames) a second with a real-time factor under 0.5.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from benchmarks.parts.checkpoints import TINY
from benchmarks.parts.full_size import full_size, published_sizes
from benchmarks.parts.gpu_measures import Variant, codec_step, floor_of, frame_step, golden, measure
from benchmarks.parts.report import finish, say
from engine.checkpoint.config_json import LanguageModelConfig
from engine.checkpoint.folder import Checkpoint
from engine.codec.sizes import CodecConfig
from engine.workshop.dryrun.gpus import GPUS, Gpu, find_gpu
from engine.workshop.dryrun.published import s2_pro

STREAMS = (1, 2, 4, 8, 16, 32, 64)
FEW_STREAMS = (1, 16)


def variants(streams: tuple[int, ...]) -> list[Variant]:
    """The engines to start; all in all, a minute each."""
    few = tuple(n for n in FEW_STREAMS if n <= max(streams)) or streams[:1]
    return [
        Variant("fa3, graphs", "fa3", True, streams),
        Variant("fa3, no graphs", "fa3", False, few),
        Variant("triton, graphs", "triton", True, few),
        Variant("flashinfer, graphs", "flashinfer", True, few),
    ]


def device_gpu(name: str | None) -> Gpu:
    """The data sheet of this device, or of the one that was named. Raises ValueError."""
    if name is not None:
        return find_gpu(name)
    here = torch.cuda.get_device_name().lower().replace(" ", "-")
    found = [gpu for key, gpu in GPUS.items() if key in here]
    if not found:
        raise ValueError(f"--gpu: expected one of {', '.join(GPUS)}, as {here} is not known")
    return max(found, key=lambda gpu: len(gpu.name))


def plan(
    config: LanguageModelConfig, codec: CodecConfig, gpu: Gpu, streams: tuple[int, ...]
) -> None:
    """Print what would be measured, and the floors."""
    floors = {str(n): floor_of(config, codec, gpu, n) for n in streams}
    for n, floor in floors.items():
        say(f"{gpu.name}, {n} streams: {floor}")
    finish(
        benchmark="gpu",
        plan={variant.name: list(variant.streams) for variant in variants(streams)},
        gpu=gpu.name,
        floors=floors,
    )


async def run(
    path: Path, device: str, gpu: Gpu, chosen: list[Variant], streams: tuple[int, ...]
) -> None:
    """Measure and report. A variant that does not start is reported, and the others go on."""
    config, codec = Checkpoint.open(path).config, CodecConfig.from_checkpoint(path)
    options: dict[str, Any] = {"checkpoint": path, "device": device}
    results: dict[str, Any] = {}
    say("golden requests")
    exact = await golden(device, TINY, say)
    for n in streams:
        results[f"frame step, {n}"] = frame_step(config, device, gpu, n)
        results[f"codec, {n}"] = codec_step(path, device, gpu, n)
        say(f"{n}: {results[f'frame step, {n}']}, {results[f'codec, {n}']}")
    for variant in chosen:
        try:
            figures = await measure(variant, options, say)
        except Exception as error:  # an attention backend may be missing here
            results[variant.name] = {"failed": repr(error)}
            say(f"{variant.name}: {error!r}")
            continue
        for n in variant.streams:
            figures[str(n)] |= floor_of(config, codec, gpu, n)
        results[variant.name] = figures
    finish(
        benchmark="gpu",
        device=torch.cuda.get_device_name() if device == "cuda" else "cpu, a rehearsal",
        torch=torch.__version__,
        gpu=gpu.name,
        checkpoint=path.name,
        **exact,
        **results,
    )


def main(argv: list[str] | None = None) -> int:
    """The command. Exit status 2 without a GPU."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--checkpoint", type=Path, help="default: random weights of S2-Pro's size")
    parser.add_argument("--folder", type=Path, help="where to write and keep those weights")
    parser.add_argument("--gpu", help="its data sheet: " + ", ".join(GPUS))
    parser.add_argument("--streams", default=",".join(map(str, STREAMS)))
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--rehearse", action="store_true")
    asked = parser.parse_args(argv)
    streams = tuple(int(n) for n in asked.streams.split(","))
    if asked.plan:
        config = s2_pro() if asked.checkpoint is None else Checkpoint.open(asked.checkpoint).config
        codec = CodecConfig()
        if asked.checkpoint is not None:
            codec = CodecConfig.from_checkpoint(asked.checkpoint)
        plan(config, codec, find_gpu(asked.gpu or "h200"), streams)
        return 0
    if asked.rehearse:
        path = asked.checkpoint or TINY
        only = [Variant("rehearsal", None, False, streams)]
        asyncio.run(run(path, "cpu", find_gpu(asked.gpu or "h200"), only, streams))
        return 0
    if not torch.cuda.is_available():
        print(
            "expected a CUDA device, found none; --plan shows what would be measured, --rehearse "
            "runs it on a CPU",
            file=sys.stderr,
        )
        return 2
    gpu = device_gpu(asked.gpu)
    with tempfile.TemporaryDirectory() as folder:
        path = asked.checkpoint
        if path is None:
            say("writing random weights of S2-Pro's size")
            place = asked.folder or Path(folder)
            path, _ = full_size(place, published_sizes(), CodecConfig())
        asyncio.run(run(path, "cuda", gpu, variants(streams), streams))
    return 0


if __name__ == "__main__":
    sys.exit(main())
