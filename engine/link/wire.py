"""The messages between a worker and its clients: msgpack structs, one per ZeroMQ frame."""

from __future__ import annotations

import msgspec

from engine.api import (
    AbortResult,
    EngineInfo,
    EngineStats,
    Finished,
    Frames,
    SpeechRequest,
    TextTokens,
    VoiceSample,
)


class Call(msgspec.Struct, tag_field="t", frozen=True):
    """Base of what a client asks. `call` pairs a question with its answer."""

    call: int


class GetInfo(Call, tag="info", frozen=True):
    """Answered by Info."""


class GetStats(Call, tag="stats", frozen=True):
    """Answered by Stats."""


class Speak(Call, tag="speak", frozen=True):
    """Answered by at most one Tokens, any number of Sound, and then Ended or Failed."""

    request: SpeechRequest


class AbortSpeech(Call, tag="abort", frozen=True):
    """Answered by Aborted."""

    request_id: str


class Warm(Call, tag="warm", frozen=True):
    """Answered by Ok."""

    voice: str


class AddVoice(Call, tag="add_voice", frozen=True):
    """Answered by Ok."""

    sample: VoiceSample


class RemoveVoice(Call, tag="remove_voice", frozen=True):
    """Answered by Ok."""

    name: str


ClientMessage = GetInfo | GetStats | Speak | AbortSpeech | Warm | AddVoice | RemoveVoice


class Answer(msgspec.Struct, tag_field="t", frozen=True):
    """Base of what a worker sends; `call` is that of the question."""

    call: int


class Info(Answer, tag="info", frozen=True):
    """What the worker is."""

    info: EngineInfo


class Stats(Answer, tag="stats", frozen=True):
    """What it does."""

    stats: EngineStats


class Tokens(Answer, tag="tokens", frozen=True):
    """What the text tokens of a Speak mean."""

    tokens: TextTokens


class Sound(Answer, tag="sound", frozen=True):
    """Frames of a Speak."""

    frames: Frames


class Ended(Answer, tag="ended", frozen=True):
    """The end of a Speak."""

    finished: Finished


class Aborted(Answer, tag="aborted", frozen=True):
    """The result of an AbortSpeech."""

    result: AbortResult


class Ok(Answer, tag="ok", frozen=True):
    """Done; nothing to say."""


class Failed(Answer, tag="failed", frozen=True):
    """An `EngineError` of this class name in engine.api; unknown names are internal errors."""

    kind: str
    message: str


WorkerMessage = Info | Stats | Tokens | Sound | Ended | Aborted | Ok | Failed

_encoder = msgspec.msgpack.Encoder()
_from_client = msgspec.msgpack.Decoder(ClientMessage)
_from_worker = msgspec.msgpack.Decoder(WorkerMessage)


def encode(message: ClientMessage | WorkerMessage) -> bytes:
    """One message as bytes."""
    return _encoder.encode(message)


def decode_call(data: bytes) -> ClientMessage:
    """Raises msgspec.ValidationError or DecodeError on anything else than a client's message."""
    return _from_client.decode(data)


def decode_answer(data: bytes) -> WorkerMessage:
    """Raises msgspec.ValidationError or DecodeError on anything else than a worker's message."""
    return _from_worker.decode(data)
