"""The whole gate, from two directories to a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from engine.checkpoint.folder import Checkpoint
from engine.errors import CheckpointError
from engine.models.plain import PlainLoop
from engine.workshop.fidelity.capture import FRAMES_AT_ONCE, Capture, capture_all
from engine.workshop.fidelity.golden import golden_measures
from engine.workshop.fidelity.marks import MARKS, MIN_FRAMES, MIN_STRINGS, Mark, Profile
from engine.workshop.fidelity.measure import Comparison, Measure, compare
from engine.workshop.fidelity.sequences import Sequence, golden_sequences, speak_sequences
from engine.workshop.fidelity.sound import stream_snr_db
from engine.workshop.fidelity.tokens import compare_tokenizers

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What to compare. `against` None: the candidate itself, in fp32. `golden`: vectors of the
    reference implementation, made from the candidate or, where it is quantised, from `against`.
    `dtype`: what the candidate will be served in. `frames`: of each saying. `strings`: fuzzed.
    """

    candidate: Path
    against: Path | None = None
    golden: Path | None = None
    dtype: str = "bfloat16"
    device: str = "cpu"
    frames: int = 128
    strings: int = MIN_STRINGS

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype: expected one of {', '.join(DTYPES)}, got {self.dtype!r}")
        if self.frames < 1:
            raise ValueError(f"frames: expected at least 1, got {self.frames}")
        if self.strings < MIN_STRINGS:
            raise ValueError(f"strings: expected at least {MIN_STRINGS}, got {self.strings}")


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict and what it rests on. `remarks`: what was found, or could not be judged."""

    candidate: str
    reference: str
    profile: Profile
    measures: tuple[Measure, ...]
    comparison: Comparison
    remarks: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every measure meets its mark."""
        return all(measure.passed for measure in self.measures)

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a file or a model card."""
        rows = [
            {"key": m.key, "value": m.value, "mark": str(m.mark), "passed": m.passed}
            for m in self.measures
        ]
        return {
            "candidate": self.candidate,
            "reference": self.reference,
            "profile": self.profile,
            "passed": self.passed,
            "measures": rows,
            "comparison": asdict(self.comparison),
            "remarks": list(self.remarks),
        }


def run_gate(options: GateOptions, progress: Progress = lambda _: None) -> Report:
    """Judge a checkpoint. Raises CheckpointError when one of the two cannot be used, or when they
    are not variants of one model.

    One model is in memory at a time, so the peak is the reference's in fp32.
    """
    candidate = Checkpoint.open(options.candidate)
    reference = candidate if options.against is None else Checkpoint.open(options.against)
    _check_variants(reference, candidate)
    profile = _profile(reference, candidate, options)
    marks = MARKS[profile]
    sequences, ours = _reference_run(reference, options, progress)
    golden = [] if options.golden is None else golden_sequences(options.golden)
    theirs = _candidate_run(candidate, sequences + golden, options, progress)
    comparison = compare(ours, theirs[: len(sequences)])
    measures = comparison.measures(marks)
    progress("codec")
    sayings = [s.frames[1:].T for s in sequences]
    snr = stream_snr_db(candidate.path, reference.path, sayings, options.device)
    measures.append(
        Measure("stream_snr_db", "codec in a stream, SNR in dB", snr, marks["stream_snr_db"])
    )
    progress("tokenizer")
    judged, remarks = _tokenizer(candidate, options, marks)
    measures += judged
    if comparison.frames < MIN_FRAMES:
        remarks.append(
            f"{comparison.frames} frames are few: the marks on choices allow for 400 or so"
        )
    if options.golden is not None:
        progress("golden vectors")
        found = theirs[len(sequences) :]
        measures += golden_measures(candidate, options.golden, golden, found, marks, options.device)
    return Report(
        candidate.path.name,
        f"{reference.path.name} in float32",
        profile,
        tuple(measures),
        comparison,
        tuple(remarks),
    )


def _reference_run(
    reference: Checkpoint, options: GateOptions, progress: Progress
) -> tuple[list[Sequence], list[Capture]]:
    progress("loading the reference")
    loop = PlainLoop(reference.path, torch.float32, options.device, FRAMES_AT_ONCE)
    progress("letting the reference speak")
    sequences = speak_sequences(loop, reference, options.frames)
    return sequences, capture_all(
        loop, sequences, "whole", lambda name: progress(f"reference: {name}")
    )


def _candidate_run(
    candidate: Checkpoint, sequences: list[Sequence], options: GateOptions, progress: Progress
) -> list[Capture]:
    progress("loading the candidate")
    loop = PlainLoop(candidate.path, DTYPES[options.dtype], options.device, FRAMES_AT_ONCE)
    return capture_all(loop, sequences, "stepwise", lambda name: progress(f"candidate: {name}"))


def _check_variants(reference: Checkpoint, candidate: Checkpoint) -> None:
    """The sizes and ids that decide what a sequence means must agree."""
    mine, theirs = candidate.config, reference.config
    for what, got, expected in (
        ("layers", mine.text_config.n_layer, theirs.text_config.n_layer),
        ("dim", mine.text_config.dim, theirs.text_config.dim),
        ("vocab_size", mine.text_config.vocab_size, theirs.text_config.vocab_size),
        ("num_codebooks", mine.num_codebooks, theirs.num_codebooks),
        ("codebook_size", mine.codebook_size, theirs.codebook_size),
        ("semantic_start_token_id", mine.semantic_start_token_id, theirs.semantic_start_token_id),
        ("semantic_end_token_id", mine.semantic_end_token_id, theirs.semantic_end_token_id),
        ("eos_token_id", mine.eos_token_id, theirs.eos_token_id),
    ):
        if got != expected:
            raise CheckpointError(
                f"expected variants of one model: {reference.path} has {what} {expected}, "
                f"{candidate.path} has {got}"
            )


def _profile(reference: Checkpoint, candidate: Checkpoint, options: GateOptions) -> Profile:
    if candidate.config.quantization != reference.config.quantization:
        return "quantised"
    return "float32" if options.dtype == "float32" else "bfloat16"


def _tokenizer(
    candidate: Checkpoint, options: GateOptions, marks: Mapping[str, Mark]
) -> tuple[list[Measure], list[str]]:
    frontend = candidate.config.voice_gateway.text_frontend
    if frontend != "bpe":
        return [], [f"the text frontend {frontend!r} has no counterpart in transformers"]
    report = compare_tokenizers(candidate, options.strings)
    title = f"tokenizer against transformers, of {report.strings} strings"
    mark = marks["tokenizer_mismatches"]
    measure = Measure("tokenizer_mismatches", title, float(len(report.mismatches)), mark)
    return [measure], [f"tokenizer: {line}" for line in report.mismatches[:10]]
