"""When is each word spoken? Three aligners on recordings whose word times are known.

    uv run --extra train python -m benchmarks.word_times [--checkpoint DIR]

The recordings are the teacher's, timed by its own durations, of sentences that were never in
training. `heads`: what the gateway ships; the checkpoint's alignment heads name the text token of
each frame while it is made (here the frames are the recording's codes). `acoustic`: PocketSphinx's
forced alignment; it needs the whole recording. `proportional`: the guess that a checkpoint without
known heads gets, which knows only where the segment ends. Expectation: heads within 80 ms of the
truth in the median, with no look-ahead, near the acoustic aligner and far better than the guess.
Keys: heads_error_ms_median, acoustic_error_ms_median, proportional_error_ms_median.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.parts.acoustic import AcousticAligner
from benchmarks.parts.extra import need
from benchmarks.parts.report import finish, say
from engine.checkpoint.folder import Checkpoint
from engine.codec.encoder import Encoder
from engine.text.prompt import PromptBuilder
from engine.text.registry import load_tokenizer
from engine.worker_config import DEFAULT_CHECKPOINT
from engine.workshop.align.heads import followed
from engine.workshop.train.corpus.recordings import make_recordings
from engine.workshop.train.corpus.timed_words import TimedWord, read_words
from engine.workshop.train.corpus.wav import read_wav
from engine.workshop.train.judging.evaluate import all_sentences
from engine.workshop.train.stages.finetune import load_model
from gateway.utterance.word_times import WordSpan, from_tokens, proportional


class Aligners:
    """All three, on one checkpoint; each gives the start of every word in ms, or None."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._tokenizer = load_tokenizer(checkpoint)
        self._prompts = PromptBuilder(self._tokenizer, checkpoint)
        self._encoder = Encoder.from_checkpoint(checkpoint.path)
        self._model = load_model(checkpoint).eval()
        self._heads = checkpoint.config.voice_gateway.alignment_heads
        self._acoustic = AcousticAligner()
        if not self._heads:
            raise SystemExit("expected a checkpoint with alignment heads, got one without")

    def heads(self, path: Path, text: str, words: list[WordSpan]) -> list[float] | None:
        """By the checkpoint's own attention."""
        codes = self._encoder.encode(*read_wav(path))
        tokens = followed(self._model, self._prompts.build(text), codes, self._heads)
        spans = self._tokenizer.encode_spans(text)[1]
        frame_ms = 1000.0 / self._encoder.config.frame_rate_hz
        return [frame_ms * w.start_samples for w in from_tokens(words, tokens, spans, 1)]

    def acoustic(self, path: Path, text: str, words: list[WordSpan]) -> list[float] | None:
        """By PocketSphinx."""
        found = self._acoustic.align(*read_wav(path), text)
        return None if found is None else [start for start, _ in found]

    def proportional(self, path: Path, text: str, words: list[WordSpan]) -> list[float] | None:
        """By the words' lengths alone."""
        samples, rate_hz = read_wav(path)
        timed = proportional(words, len(samples))
        return [1000.0 * word.start_samples / rate_hz for word in timed]


def spans_of(words: list[TimedWord], text: str) -> list[WordSpan]:
    """The gateway's words."""
    return [WordSpan(word.start, word.end, text[word.start : word.end]) for word in words]


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--checkpoint", type=Path, default=DEFAULT_CHECKPOINT)
    arguments = parser.parse_args()
    need("train", "pocketsphinx", "hibari", "onnx", "onnxruntime")
    checkpoint = Checkpoint.open(arguments.checkpoint)
    aligners = Aligners(checkpoint)
    ways = {
        "heads": aligners.heads,
        "acoustic": aligners.acoustic,
        "proportional": aligners.proportional,
    }
    errors: dict[str, list[float]] = defaultdict(list)
    signed: dict[str, list[float]] = defaultdict(list)
    took_s: dict[str, float] = defaultdict(float)
    recorded_s = 0.0
    with tempfile.TemporaryDirectory() as name:
        paths = make_recordings(Path(name), all_sentences(), 22_050)
        for path in paths:
            text = path.with_suffix(".txt").read_text("utf-8")
            truth = read_words(path.with_suffix(".json"))
            recorded_s += truth[-1].end_s
            words = spans_of(truth, text)
            for way, align in ways.items():
                start_s = time.process_time()
                starts = align(path, text, words)
                took_s[way] += time.process_time() - start_s
                if starts is not None:
                    off = [a - 1000.0 * word.start_s for a, word in zip(starts, truth, strict=True)]
                    signed[way] += off
                    errors[way] += [abs(x) for x in off]
        say(f"{len(paths)} recordings, {recorded_s:.0f} s")
    figures: dict[str, float] = {}
    for way in ways:
        figures |= {
            f"{way}_error_ms_median": round(statistics.median(errors[way]), 1),
            f"{way}_error_ms_p95": round(float(np.percentile(errors[way], 95)), 1),
            f"{way}_bias_ms": round(statistics.median(signed[way]), 1),
            f"{way}_within_80_ms": round(sum(e <= 80.0 for e in errors[way]) / len(errors[way]), 3),
            f"{way}_words": len(errors[way]),
            f"{way}_cpu_share": round(took_s[way] / recorded_s, 4),
        }
    finish(benchmark="word_times", recordings=len(paths), **figures)


if __name__ == "__main__":
    main()
