"""What `benchmarks.gpu` measures, each beside the least time that the device allows."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine import api
from engine.checkpoint.config_json import LanguageModelConfig
from engine.checkpoint.folder import Checkpoint
from engine.codec.decoder import StreamingDecoder
from engine.codec.sizes import CodecConfig
from engine.link.client import WorkerEngine
from engine.models.frame_step import FrameStep
from engine.models.graphs import CudaRecorder, StepGraphs
from engine.models.plain import default_dtype
from engine.models.request_table import DrawMode, RequestTable, RowSettings
from engine.models.weights import build_dual_ar
from engine.worker_config import EngineConfig
from engine.workshop.dryrun.gpus import Gpu
from engine.workshop.dryrun.memory import Load, decode_floor, estimate
from tests.golden_data import description, vectors

FRAMES = 192
PROMPT_TOKENS = 64
FIRST_AUDIO_ROUNDS = 20
TEXT = "Thank you for listening to this short test of how fast it is."
_ids = itertools.count()


@dataclass(frozen=True, slots=True)
class Variant:
    """One engine to start. `streams`: how many are spoken at once, in turn."""

    name: str
    attention: str | None
    graphs: bool
    streams: tuple[int, ...]


def floor_of(
    config: LanguageModelConfig, codec: CodecConfig, gpu: Gpu, streams: int
) -> dict[str, float]:
    """The roofline of one decode step: what it must read, what it must multiply, and how long the
    device needs for the longer of the two."""
    load = Load(streams, PROMPT_TOKENS + FRAMES)
    floor = decode_floor(config, codec, gpu, estimate(config, codec, load), load)
    return {
        "read_gb": round(floor.read_bytes / 1e9, 3),
        "gflop": round(floor.flops / 1e9, 1),
        "floor_ms": round(floor.step_ms, 3),
    }


async def speak(
    engine: WorkerEngine, info: api.EngineInfo, frames: int, voice: str = api.DEFAULT_VOICE
) -> list[float]:
    """One utterance -> seconds from the request to each frame."""
    number = next(_ids)
    sampling = api.Sampling(seed=number, min_frames=frames, max_frames=frames)
    request = api.SpeechRequest(f"gpu-{number}", TEXT, voice, sampling=sampling)
    start, arrivals = time.perf_counter(), []
    async for event in engine.speak(request):
        if isinstance(event, api.Frames):
            made = len(event.codes) // (2 * info.num_codebooks)
            arrivals += [time.perf_counter() - start] * made
    return arrivals


async def throughput(engine: WorkerEngine, info: api.EngineInfo, streams: int) -> dict[str, float]:
    """All at once, from the moment when the last of them has begun."""
    spoken = await asyncio.gather(*(speak(engine, info, FRAMES) for _ in range(streams)))
    begun = max(arrivals[0] for arrivals in spoken)
    steps = [np.diff([at for at in arrivals if at >= begun]) for arrivals in spoken]
    step_ms = 1000 * float(np.mean(np.concatenate(steps)))
    return {
        "step_ms": round(step_ms, 3),
        "real_time_factor": round(step_ms / info.frame_ms, 4),
        "frames_per_s": round(1000 * streams / step_ms, 1),
        "first_audio_ms": round(1000 * statistics.median(a[0] for a in spoken), 1),
    }


async def first_audio(engine: WorkerEngine, info: api.EngineInfo) -> dict[str, float]:
    """From the request to the first frame of sound, nothing else running; medians."""
    plain = [1000 * (await speak(engine, info, 2))[0] for _ in range(FIRST_AUDIO_ROUNDS)]
    figures = {"first_audio_ms": statistics.median(plain)}
    if voices := info.voices[1:]:
        cold = [1000 * (await speak(engine, info, 2, voice))[0] for voice in voices]
        cached = [1000 * (await speak(engine, info, 2, voice))[0] for voice in voices]
        figures |= {
            "first_audio_ms_new_voice": statistics.median(cold),
            "first_audio_ms_cached_voice": statistics.median(cached),
        }
    return {name: round(value, 1) for name, value in figures.items()}


async def measure(
    variant: Variant, options: dict[str, Any], progress: Callable[[str], None]
) -> dict[str, Any]:
    """Start one engine and measure it."""
    config = EngineConfig(
        max_streams=max(variant.streams),
        attention=variant.attention,
        graphs=variant.graphs,
        paced=False,
        **options,
    )
    engine = WorkerEngine(config, progress)
    start = time.perf_counter()
    info = await engine.start()
    try:
        figures: dict[str, Any] = {"start_s": round(time.perf_counter() - start, 1)}
        figures |= await first_audio(engine, info)
        for streams in variant.streams:
            figures[str(streams)] = await throughput(engine, info, streams)
            progress(f"{variant.name}, {streams} streams: {figures[str(streams)]}")
    finally:
        await engine.close()
    return figures


async def golden(device: str, path: Path, progress: Callable[[str], None]) -> dict[str, int]:
    """Greedy golden requests in fp32: frames that agree with the reference, of how many."""
    attention = None if device == "cpu" else "triton"  # FlashAttention 3 knows no fp32
    config = EngineConfig(path, device, "float32", max_streams=8, attention=attention)
    engine = WorkerEngine(config, progress)
    await engine.start()
    equal = total = 0
    try:
        for name, request in description("prompts").items():
            if request["ref_frames"] or len(request["batches"]) > 1:
                continue  # those need registered voices and history
            expected = vectors("generation")[f"{name}.b0.generated"][1:].T
            sampling = api.Sampling(top_k=1, max_frames=len(expected))
            text = request["batches"][0]["batch_text"]
            asked = api.SpeechRequest(f"golden-{name}", text, sampling=sampling)
            codes = b"".join(
                [e.codes async for e in engine.speak(asked) if isinstance(e, api.Frames)]
            )
            made = np.frombuffer(codes, "<u2").reshape(-1, expected.shape[1])
            equal += int((made == expected[: len(made)]).all(axis=1).sum())
            total += len(expected)
    finally:
        await engine.close()
    return {"golden_frames_equal": equal, "golden_frames": total}


def codec_step(path: Path, device: str, gpu: Gpu, streams: int) -> dict[str, float]:
    """One new frame for each stream, beside reading the weights and each state twice."""
    decoder = StreamingDecoder.from_checkpoint(path, streams, device)
    slots = [decoder.allocate() for _ in range(streams)]
    codes = np.zeros((streams, 1, decoder.config.n_codebooks), np.int64)
    times = _timed(lambda: decoder.decode(slots, codes), rounds=20)
    config = Checkpoint.open(path).config
    load = Load(streams)
    needs = estimate(config, decoder.config, load)
    read = needs.fixed["codec's decoder, fp32"] + 2 * streams * decoder.state_bytes_per_slot
    return {
        "codec_ms": round(1000 * statistics.median(times), 3),
        "floor_ms": round(1000 * read / (gpu.bandwidth_gb_s * 1e9), 3),
    }


@torch.no_grad()
def frame_step(
    config: LanguageModelConfig, device: str, gpu: Gpu, streams: int
) -> dict[str, float]:
    """Sampler and fast AR alone: launched kernel by kernel, and as a graph."""
    slow_config = replace(config.text_config, n_layer=1)  # only its head is used
    config = replace(config, text_config=slow_config)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    with default_dtype(dtype), torch.device(device):
        slow, fast = build_dual_ar(config, streams)
        for parameter in itertools.chain(slow.parameters(), fast.parameters()):
            parameter.normal_(0, 0.02)
        logits = torch.randn(streams, config.num_semantic + 1, dtype=torch.float32)
        hidden = torch.randn(streams, slow_config.dim)
        slots = torch.arange(streams)
    table = RequestTable(streams, config.num_codebooks, device)
    for slot in range(streams):
        table.begin(slot, RowSettings(0.8, 0.8, 0.8, 30, slot, 0), ())
    step = FrameStep(slow, fast, table)
    eager = _timed(lambda: step(logits, hidden, slots, DrawMode.FISH), rounds=20)
    passes = config.num_codebooks - 1
    layers = sum(p.numel() * p.element_size() for p in fast.layers.parameters())
    output = fast.output.weight.numel() * fast.output.weight.element_size()
    read = passes * (layers + output)
    figures = {
        "eager_ms": round(1000 * statistics.median(eager), 3),
        "floor_ms": round(1000 * read / (gpu.bandwidth_gb_s * 1e9), 3),
    }
    if device == "cuda":
        graphs = StepGraphs(step, [streams], CudaRecorder())
        graphs.record()
        times = _timed(lambda: graphs(logits, hidden, slots, DrawMode.FISH), rounds=50)
        figures["graph_ms"] = round(1000 * statistics.median(times), 3)
    return figures


def _timed(work: Callable[[], object], rounds: int) -> list[float]:
    """Seconds of each call, the device's work included; the first three are not counted."""
    times = []
    for _ in range(rounds + 3):
        start = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return times[3:]
