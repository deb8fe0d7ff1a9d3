"""Engine reports: engine link -> session. What became of a `Submit` or an `Abort`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextTokens:
    """Which characters of `Submit.text` each index in `Frames.text_tokens` stands for.

    Comes once, before or with the first frames; without it word times are proportional.
    """

    request_id: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Frames:
    """Sound of a request, in order: mirrors `engine.api.Frames`.

    `pcm`: float32 LE mono at the engine's rate; `codes`: uint16 LE, `num_codebooks` a frame;
    `text_tokens`: the text token that each frame speaks, or none at all.
    """

    request_id: str
    first_frame: int
    pcm: bytes
    codes: bytes
    text_tokens: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{len(self.pcm)} bytes of {self.request_id} from frame {self.first_frame} on"


@dataclass(frozen=True, slots=True)
class Finished:
    """The request is complete. `reason`: "stop", "length" or "aborted".

    `skipped_words`, `retries`: mirror `engine.api.Finished`.
    """

    request_id: str
    reason: str
    frames: int
    prompt_tokens: int
    cached_tokens: int
    skipped_words: int = 0
    retries: int = 0


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """The request will make no more sound.

    `code`: a wire code. `message` goes to the peer only when the code is one of the peer's errors.
    """

    request_id: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Aborted:
    """The answer to `Abort`. `frames_after`: how many were made after it was asked for."""

    request_id: str
    confirmed: bool
    frames_after: int


EngineReport = TextTokens | Frames | Finished | RequestFailed | Aborted
