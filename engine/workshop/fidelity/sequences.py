"""What both runs are made to say: prompts and the frames that follow them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.checkpoint.folder import Checkpoint
from engine.errors import CheckpointError
from engine.models.plain import PlainLoop
from engine.models.request_table import RowSettings
from engine.text.prompt import PromptBuilder, Reference
from engine.text.registry import load_tokenizer

# The defaults of the authors' API: what the frames of a real request are drawn with.
_TEMPERATURE, _TOP_P, _TOP_K, _SEED = 0.8, 0.8, 30, 20260401

# Plain first, since its frames are the voice that the others clone. Letters and marks that every
# frontend reads; digits and another script where it can.
TEXTS = (
    "The harbour lay quiet under a thin fog, and nobody had seen the boat leave.",
    "Yes, of course: seven of them came back, and the eighth wrote a letter.",
    "Why would anyone wait for an answer that was never going to arrive?",
)


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """A prompt and its frames as the model reads them.

    matrix: int64 [1 + N, L]; row 0 token ids, the rows below codes. The frames are the columns from
    `first_frame` on; column j predicts column j + 1, so frame 0 is predicted by the prompt's last.
    """

    name: str
    matrix: NDArray[np.int64]
    first_frame: int

    @property
    def frames(self) -> NDArray[np.int64]:
        """Token id and codes of every frame, [1 + N, frames]."""
        return self.matrix[:, self.first_frame :]


def speak_sequences(loop: PlainLoop, checkpoint: Checkpoint, frames: int) -> list[Sequence]:
    """Let the reference say TEXTS, at most `frames` frames each: the first in its own voice, the
    others in the voice of what it said first. Raises CheckpointError when it says nothing.
    """
    builder = PromptBuilder(load_tokenizer(checkpoint), checkpoint)
    settings = _settings(checkpoint)
    references: tuple[Reference, ...] = ()
    sequences = []
    for index, text in enumerate(TEXTS):
        prompt = builder.build(text, references).matrix()
        generated = [
            np.concatenate(([token], codes))
            for token, codes in loop.generate(prompt, settings, frames)
        ]
        if not generated:
            raise CheckpointError(f"expected the reference to say {text!r}, got no frame")
        said = np.stack(generated, axis=1)
        name = "own voice" if not references else f"cloned {index}"
        sequences.append(Sequence(name, np.concatenate((prompt, said), axis=1), prompt.shape[1]))
        if not references:
            references = (Reference(text, said[1:].T.astype(np.uint16)),)
    return sequences


def _settings(checkpoint: Checkpoint) -> RowSettings:
    """The checkpoint's own defaults, then the authors'."""
    asked = checkpoint.config.voice_gateway.sampling
    temperature = _TEMPERATURE if asked.temperature is None else asked.temperature
    residual = asked.residual_temperature
    return RowSettings(
        temperature=temperature,
        residual_temperature=temperature if residual is None else residual,
        top_p=asked.top_p or _TOP_P,
        top_k=asked.top_k or _TOP_K,
        seed=_SEED,
        min_frames=2,  # the end is not a frame
    )


def golden_sequences(folder: Path) -> list[Sequence]:
    """Every greedy generation of a folder of golden vectors (`generation.safetensors`)."""
    return [
        Sequence(name, np.concatenate((prompt, generated), axis=1), prompt.shape[1])
        for name, prompt, generated in _generations(folder)
    ]


def _generations(folder: Path) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
    from safetensors.numpy import load_file

    path = folder / "generation.safetensors"
    if not path.is_file():
        raise CheckpointError(f"expected golden vectors in {path}, found no such file")
    tensors = load_file(path)
    for key in sorted(tensors):
        name, _, kind = key.rpartition(".")
        if kind == "prompt":
            generated = tensors[f"{name}.generated"]
            yield name, tensors[key].astype(np.int64), generated.astype(np.int64)
