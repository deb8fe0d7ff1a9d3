"""Registered voices: a name, a transcript, and the reference's codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.api import DEFAULT_VOICE, InvalidRequestError, UnknownVoiceError
from engine.text.prompt import Reference

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CODES_SUFFIX = ".npy"
_AUDIO_SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3")

# bytes of an audio file -> codes [frames, num_codebooks]
Encode = Callable[[bytes], NDArray[np.uint16]]


class VoiceStore:
    """The voices of one worker. The default voice is the model's own: no reference."""

    def __init__(self, encode: Encode, num_codebooks: int) -> None:
        self._encode, self._num_codebooks = encode, num_codebooks
        self._voices: dict[str, tuple[Reference, ...]] = {DEFAULT_VOICE: ()}

    @property
    def names(self) -> tuple[str, ...]:
        """The default voice first, then the others by name."""
        return (DEFAULT_VOICE, *sorted(self._voices.keys() - {DEFAULT_VOICE}))

    def references(self, name: str) -> tuple[Reference, ...]:
        """The references of a voice. Raises UnknownVoiceError."""
        try:
            return self._voices[name]
        except KeyError:
            raise UnknownVoiceError(
                f"voice: expected one of {', '.join(self.names)}, got {name!r}"
            ) from None

    def add(self, name: str, audio: bytes, transcript: str) -> None:
        """Encode and keep a voice; a name in use is replaced. Raises InvalidRequestError."""
        if not _NAME.fullmatch(name) or name == DEFAULT_VOICE:
            raise InvalidRequestError(
                "voice name: expected 1 to 64 letters, digits, '.', '_' or '-', not "
                f"{DEFAULT_VOICE!r}, got {name!r}"
            )
        if not transcript.strip():
            raise InvalidRequestError(
                f"transcript: expected what the recording says, got {transcript!r}"
            )
        try:
            codes = self._encode(audio)
        except ValueError as error:
            raise InvalidRequestError(f"voice {name}: {error}") from error
        self.put(name, Reference(transcript.strip(), codes))

    def put(self, name: str, reference: Reference) -> None:
        """Keep a voice that is encoded already; its name is not checked."""
        self._voices[name] = (reference,)

    def remove(self, name: str) -> None:
        """Forget a voice. Raises UnknownVoiceError; the default voice stays."""
        if name == DEFAULT_VOICE:
            raise InvalidRequestError(f"voice: {DEFAULT_VOICE!r} cannot be removed")
        self.references(name)
        del self._voices[name]

    def load_folder(self, folder: Path) -> None:
        """Add every `name.npy` (codes) or `name.wav` (flac, ogg, opus, mp3) with its `name.txt`.

        Codes, uint16 [frames, num_codebooks], are a recording that was encoded before; they are
        preferred. Raises InvalidRequestError on a voice without transcript or with bad codes.
        """
        sources = {
            path.stem: path
            for path in sorted(folder.iterdir(), key=lambda path: path.suffix == _CODES_SUFFIX)
            if path.suffix.lower() in (*_AUDIO_SUFFIXES, _CODES_SUFFIX)
        }
        for name, path in sorted(sources.items()):
            text = path.with_suffix(".txt")
            if not text.exists():
                raise InvalidRequestError(f"expected a transcript {text} beside {path.name}")
            transcript = text.read_text(encoding="utf-8")
            if path.suffix == _CODES_SUFFIX:
                self.put(name, Reference(transcript.strip(), self._read_codes(path)))
            else:
                self.add(name, path.read_bytes(), transcript)

    def _read_codes(self, path: Path) -> NDArray[np.uint16]:
        try:
            codes = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InvalidRequestError(f"{path}: expected a numpy array, got: {error}") from error
        expected = f"{path}: expected uint16 [frames, {self._num_codebooks}]"
        if codes.dtype != np.uint16 or codes.ndim != 2 or codes.shape[1] != self._num_codebooks:
            raise InvalidRequestError(f"{expected}, got {codes.dtype} {list(codes.shape)}")
        return codes.astype(np.uint16, copy=False)
