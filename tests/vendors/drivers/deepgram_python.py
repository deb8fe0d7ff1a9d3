"""Drives Deepgram's Python SDK: `deepgram_python.py HTTP_URL WS_URL KEY FOLDER PLAN`.

PLAN is JSON: `sentences` and `long`, a text to interrupt. Sound goes to files in FOLDER; the last
line printed is JSON with every message that came, by what was tried.
"""

import json
import sys
import time
from pathlib import Path

from deepgram import DeepgramClient
from deepgram.environment import DeepgramClientEnvironment
from deepgram.speak.v1.types import SpeakV1Text
from deepgram.speak.v2.types import SpeakV2Configure, SpeakV2Interrupt, SpeakV2Speak

HTTP, WS, KEY, FOLDER, PLAN = *sys.argv[1:4], Path(sys.argv[4]), json.loads(sys.argv[5])
SENTENCES, LONG = PLAN["sentences"], PLAN["long"]
FOUND: dict[str, object] = {}


def client(key: str = KEY) -> DeepgramClient:
    where = DeepgramClientEnvironment(base=HTTP, production=WS, agent=WS, agent_rest=HTTP)
    return DeepgramClient(api_key=key, environment=where)


def pieces(text: str) -> list[str]:
    return [text[i : i + 4] for i in range(0, len(text), 4)]


def plain(message: object) -> dict[str, object]:
    return dict(message) if isinstance(message, dict) else message.dict()


def until(socket, kind: str, sound: bytearray) -> list[dict[str, object]]:
    """Messages up to the first of a kind; sound is added to `sound`."""
    messages = []
    while True:
        message = socket.recv()
        if isinstance(message, bytes):
            sound += message
            continue
        messages.append(plain(message))
        if messages[-1]["type"] == kind:
            return messages


def rest_of(socket, sound: bytearray) -> list[dict[str, object]]:
    """Messages until the gateway hangs up."""
    messages = []
    for message in socket:
        if isinstance(message, bytes):
            sound += message
        else:
            messages.append(plain(message))
    return messages


def v1_turns(encoding: str, rate: int) -> None:
    sound = bytearray()
    with client().speak.v1.connect(
        model="aura-2-thalia-en", encoding=encoding, sample_rate=rate
    ) as socket:
        messages = []
        for sentence in SENTENCES:
            for piece in pieces(sentence):
                socket.send_text(SpeakV1Text(text=piece))
            socket.send_flush()
            messages += until(socket, "Flushed", sound)
        socket.send_close()
        messages += rest_of(socket, sound)
    (FOLDER / f"v1-{encoding}").write_bytes(sound)
    FOUND[f"v1-{encoding}"] = messages


def v1_clear() -> None:
    before, after = bytearray(), bytearray()
    with client().speak.v1.connect(model="aura-2-thalia-en", encoding="linear16") as socket:
        socket.send_text(SpeakV1Text(text=LONG))
        socket.send_flush()
        while len(before) < 4_800:
            message = socket.recv()
            before += message if isinstance(message, bytes) else b""
        started = time.monotonic()
        socket.send_clear()
        messages = until(socket, "Cleared", before)
        took_s = time.monotonic() - started
        socket.send_text(SpeakV1Text(text=SENTENCES[0]))
        socket.send_flush()
        messages += until(socket, "Flushed", after)
        socket.send_close()
        messages += rest_of(socket, after)
    (FOLDER / "v1-after-clear").write_bytes(after)
    FOUND["v1-clear"] = {"before": len(before), "took_s": took_s, "messages": messages}


def v2_turns() -> None:
    sound = bytearray()
    with client().speak.v2.connect(model="flux-alexis-en", encoding="linear16") as socket:
        messages = []
        for sentence in SENTENCES:
            for piece in pieces(sentence):
                socket.send_speak(SpeakV2Speak(text=piece))
            socket.send_flush()
            messages += until(socket, "SpeechMetadata", sound)
        socket.send_flush()
        socket.send_configure(SpeakV2Configure(speed=1.25))
        socket.send_configure(SpeakV2Configure(speed=9.0))
        socket.send_speak(SpeakV2Speak(text="..."))
        socket.send_flush()
        socket.send_close()
        messages += rest_of(socket, sound)
    (FOLDER / "v2").write_bytes(sound)
    FOUND["v2"] = messages


def v2_interrupt() -> None:
    before, after = bytearray(), bytearray()
    with client().speak.v2.connect(model="flux-alexis-en", encoding="linear16") as socket:
        socket.send_interrupt()
        messages = until(socket, "Warning", before)
        socket.send_speak(SpeakV2Speak(text=LONG))
        socket.send_flush()
        while len(before) < 2 * 24 * 1500:
            message = socket.recv()
            before += message if isinstance(message, bytes) else b""
        offset = {"type": "time_ms", "value": 1200}
        socket.send_interrupt(SpeakV2Interrupt(playback_offset=offset))
        messages += until(socket, "SpeechInterrupted", before)
        socket.send_interrupt(SpeakV2Interrupt(playback_offset=offset))
        messages += until(socket, "Warning", after)
        for piece in pieces(SENTENCES[0]):
            socket.send_speak(SpeakV2Speak(text=piece))
        socket.send_flush()
        messages += until(socket, "SpeechMetadata", after)
        socket.send_close()
        messages += rest_of(socket, after)
    (FOLDER / "v2-after-interrupt").write_bytes(after)
    FOUND["v2-interrupt"] = messages


def rest() -> None:
    asked = {
        "mp3": {},
        "wav": {"encoding": "linear16"},
        "linear16": {"encoding": "linear16", "container": "none", "sample_rate": 16000},
        "mulaw": {"encoding": "mulaw", "container": "none"},
        "alaw.wav": {"encoding": "alaw", "container": "wav"},
        "opus": {"encoding": "opus", "bit_rate": 32000},
        "flac": {"encoding": "flac", "sample_rate": 16000},
        "aac": {"encoding": "aac"},
    }
    for name, query in asked.items():
        parts = client().speak.v1.audio.generate(text=SENTENCES[0], **query)
        (FOLDER / f"rest.{name}").write_bytes(b"".join(parts))
    parts = client().speak.v2.audio.generate(
        text=SENTENCES[0], model="flux-alexis-en", encoding="linear16", container="wav"
    )
    (FOLDER / "rest-v2.wav").write_bytes(b"".join(parts))
    FOUND["rest"] = list(asked)


def refused(name: str, call) -> None:
    try:
        call()
    except Exception as error:
        FOUND[name] = [getattr(error, "status_code", None), str(getattr(error, "body", error))]


def refusals() -> None:
    def connect(key: str, **query: object) -> None:
        with client(key).speak.v1.connect(**query) as socket:
            socket.recv()

    refused("wrong-key", lambda: connect("wrong", model="aura-2-thalia-en"))
    refused("wrong-encoding", lambda: connect(KEY, encoding="mp3"))
    refused("rest-wrong-key", lambda: list(client("wrong").speak.v1.audio.generate(text="Hello.")))
    refused("rest-empty", lambda: list(client().speak.v1.audio.generate(text="")))


v1_turns("linear16", 24000)
v1_turns("mulaw", 8000)
v1_turns("alaw", 8000)
v1_clear()
v2_turns()
v2_interrupt()
rest()
refusals()
print(json.dumps(FOUND, default=str))
