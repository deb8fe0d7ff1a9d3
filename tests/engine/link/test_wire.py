"""Every message between worker and client survives the trip, and nothing else is taken for one."""

from __future__ import annotations

import msgspec
import pytest

from engine import api
from engine.link import wire

CALLS: list[wire.ClientMessage] = [
    wire.GetInfo(1),
    wire.GetStats(2),
    wire.Speak(
        3,
        api.SpeechRequest(
            "r", "Hi \u4f60", "ann", "d", (api.Turn("a", b"\x01\x00"),), api.Sampling(0.5), 3
        ),
    ),
    wire.AbortSpeech(4, "r"),
    wire.Warm(5, "ann"),
    wire.AddVoice(6, api.VoiceSample("ann", b"RIFF", "Hello.")),
    wire.RemoveVoice(7, "ann"),
]
ANSWERS: list[wire.WorkerMessage] = [
    wire.Info(1, api.EngineInfo("tiny", 44100, 2048, 10, 16, 1000, ("default",))),
    wire.Stats(2, api.EngineStats(1, 2, 3, 4, 5, 6)),
    wire.Sound(3, api.Frames(0, b"\0\0\0\0", b"\1\0", (4,))),
    wire.Ended(3, api.Finished(api.FinishReason.STOP, 1, 2, 3)),
    wire.Aborted(4, api.AbortResult(True, 1)),
    wire.Ok(5),
    wire.Failed(6, "InvalidRequestError", "expected x, got y"),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: type(call).__name__)
def test_calls_survive(call: wire.ClientMessage) -> None:
    assert wire.decode_call(wire.encode(call)) == call


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_answers_survive(answer: wire.WorkerMessage) -> None:
    assert wire.decode_answer(wire.encode(answer)) == answer


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x81\xa1t\xa4nope", wire.encode(wire.Ok(1)), b"\x93\x01\x02\x03"]
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        wire.decode_call(data)
