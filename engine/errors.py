"""What can go wrong in the engine's own data: checkpoints, texts, recordings. Imports no torch.

Each class names whose fault it is: `CheckpointError` the operator's, `TextError`, `PromptError` and
`AudioError` the caller's. The worker maps the latter to `engine.api.InvalidRequestError`. All are
`ValueError`s, and every message says what was expected and what came.
"""

from __future__ import annotations


class CheckpointError(ValueError):
    """A checkpoint cannot be used: a file, key, tensor, shape or type is missing or wrong."""


class TextError(ValueError):
    """A text cannot be encoded: it holds what no UTF-8 text can hold, or what may not be read."""


class UnspeakableError(TextError):
    """A text holds nothing that this checkpoint can say: a lone tag, marks, an emoji."""


class PromptError(ValueError):
    """Text, references or history cannot be made into a prompt of this checkpoint."""


class AudioError(ValueError):
    """A recording cannot be used as a voice: unreadable, too short or too long."""


class EngineStartError(RuntimeError):
    """SGLang did not come up."""
