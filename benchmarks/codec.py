"""The streaming decoder beside the peers' overlapping windows, on one checkpoint, in one run.

    uv run python -m benchmarks.codec [--checkpoint DIR | --s2-pro] [--streams 16] [--rounds 7]

Both sides speak the same utterance of 175 frames on one thread: ours for all streams together, a
frame of each in every call; the peers' (`parts/codec_peer.py`) one stream by itself, 40 frames
first, then 45 new ones behind 20 repeated ones. Rounds alternate between the two. `--s2-pro` makes
random weights in S2-Pro's full size (2 GB of memory, minutes).

Keys of the report: cost_ratio, processor time per second of sound, theirs over ours;
first_chunk_ratio, time to decode the first chunk (40 frames against 1), not counting the wait for
its codes; first_sound_ratio, the same with the wait, codes coming every --frame-ms; max_abs_diff,
streamed against decoded in one piece; independent_abs_diff, against the peers' plain modules in one
piece; window_snr_db, what is left of the sound with windows.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.parts.checkpoints import TINY
from benchmarks.parts.codec_peer import FIRST_FRAMES, NEXT_FRAMES, WindowDecoder, WindowStream
from benchmarks.parts.report import Spread, finish, say
from engine.codec.decoder import StreamingDecoder
from engine.codec.sizes import CodecConfig
from engine.codec.weights import CodecWeights, expected_tensors, load_codec

FRAMES = FIRST_FRAMES + 3 * NEXT_FRAMES
FIRST_CHUNK_REPEATS = 20

Samples = NDArray[np.float32]


@dataclass
class Times:
    """Seconds, one entry a round (costs) or a repeat (first chunks)."""

    cost: list[float] = field(default_factory=list)  # processor time of a second of sound
    first: list[float] = field(default_factory=list)  # elapsed time of the first chunk


class Run:
    """Both decoders on the same weights and codes."""

    def __init__(self, weights: CodecWeights, streams: int) -> None:
        self.config, self.streams = weights.config, streams
        self.ours = StreamingDecoder(weights, max_slots=streams)
        self.theirs = WindowDecoder(weights)
        rng = np.random.default_rng(0)
        books = [rng.integers(0, size, (streams, FRAMES)) for size in self.config.codebook_sizes]
        self.codes = np.stack(books, axis=-1)  # [streams, FRAMES, n_codebooks]
        self.seconds = FRAMES * self.config.frame_samples / self.config.sample_rate_hz

    def stream(self) -> Samples:
        """Ours: every stream's frames as they come, [streams, samples]."""
        slots = [self.ours.allocate() for _ in range(self.streams)]
        frames = [self.ours.decode(slots, self.codes[:, t : t + 1]) for t in range(FRAMES)]
        for slot in slots:
            self.ours.free(slot)
        return np.concatenate(frames, axis=1)

    def windows(self) -> Samples:
        """Theirs: the first stream, window by window."""
        codes = torch.from_numpy(self.codes[0])
        stream = WindowStream(self.theirs)
        ends = range(FIRST_FRAMES, FRAMES + 1, NEXT_FRAMES)
        pieces = [stream.next(codes[:end]) for end in ends]
        assert stream.tail is not None
        whole: Samples = torch.cat((*pieces, stream.tail)).numpy()
        return whole

    def first_frame(self) -> None:
        """Ours: a slot, and its first frame."""
        slot = self.ours.allocate()
        self.ours.decode([slot], self.codes[:1, :1])
        self.ours.free(slot)

    def first_window(self) -> None:
        """Theirs: the first window."""
        self.theirs.decode(torch.from_numpy(self.codes[0, :FIRST_FRAMES]))


def cost_per_second(run: Callable[[], object], seconds: float) -> float:
    """Processor time, of all threads, for each second of sound."""
    start = time.process_time()
    run()
    return (time.process_time() - start) / seconds


def elapsed(run: Callable[[], object]) -> float:
    """Seconds by the clock."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(run: Run, rounds: int) -> tuple[Times, Times]:
    """(ours, theirs), in alternation."""
    ours, theirs = Times(), Times()
    run.stream(), run.windows()  # first calls pay for buffers and primitives
    for number in range(rounds):
        ours.cost.append(cost_per_second(run.stream, run.seconds * run.streams))
        theirs.cost.append(cost_per_second(run.windows, run.seconds))
        ours.first += [elapsed(run.first_frame) for _ in range(FIRST_CHUNK_REPEATS)]
        theirs.first += [
            elapsed(run.first_window) for _ in range(max(1, FIRST_CHUNK_REPEATS // 10))
        ]
        say(f"round {number + 1} of {rounds}: {ours.cost[-1]:.4f} and {theirs.cost[-1]:.4f} s/s")
    return ours, theirs


def report(run: Run, ours: Times, theirs: Times, frame_ms: float, sizes: str) -> None:
    """The figures as one JSON line."""
    streamed = run.stream()
    whole = [run.ours.decode_whole(codes) for codes in run.codes[: min(4, run.streams)]]
    plain = run.theirs.decode(torch.from_numpy(run.codes[0])).numpy()
    noise = run.windows() - plain
    first = [statistics.median(side.first) * 1000 for side in (ours, theirs)]
    waits = frame_ms, FIRST_FRAMES * frame_ms
    finish(
        cost_ratio=round(statistics.median(theirs.cost) / statistics.median(ours.cost), 2),
        first_chunk_ratio=round(first[1] / first[0], 1),
        first_sound_ratio=round((first[1] + waits[1]) / (first[0] + waits[0]), 1),
        max_abs_diff=float(max(np.abs(a - b).max() for a, b in zip(streamed, whole, strict=False))),
        independent_abs_diff=float(np.abs(streamed[0] - plain).max()),
        window_snr_db=round(
            float(10 * np.log10(np.square(plain).sum() / np.square(noise).sum())), 1
        ),
        ours_seconds_per_second=Spread.of(ours.cost, 5),
        windows_seconds_per_second=Spread.of(theirs.cost, 5),
        ours_first_chunk_ms=Spread.of([1000 * t for t in ours.first]),
        windows_first_chunk_ms=Spread.of([1000 * t for t in theirs.first]),
        frame_ms=frame_ms,
        streams=run.streams,
        state_bytes_per_stream=run.ours.state_bytes_per_slot,
        sizes=sizes,
    )


def random_s2_pro() -> CodecWeights:
    """S2-Pro's decoder with random weights."""
    config = replace(CodecConfig(), encoder_dim=0)
    tensors = {}
    for name, shape in expected_tensors(config):
        scale = 0.5 / max(1, torch.Size(shape[1:]).numel()) ** 0.5
        fixed = name.endswith((".alpha", "norm.weight"))
        tensors[name] = torch.ones(shape) if fixed else torch.randn(shape) * scale
    return CodecWeights(config, tensors)


def main() -> None:
    """Parse, measure, report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--checkpoint", type=Path, default=TINY)
    parser.add_argument("--s2-pro", action="store_true")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--frame-ms", type=float, default=10.0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    weights = random_s2_pro() if arguments.s2_pro else load_codec(arguments.checkpoint)
    sizes = "S2-Pro, random weights" if arguments.s2_pro else arguments.checkpoint.name
    run = Run(weights, arguments.streams)
    report(run, *measure(run, arguments.rounds), arguments.frame_ms, sizes)


if __name__ == "__main__":
    main()
