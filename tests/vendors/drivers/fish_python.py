"""Drives Fish Audio's Python SDK: `fish_python.py HTTP_URL WS_URL KEY FOLDER PLAN`.

PLAN is JSON: `sentences` and `long`, a text to give up. Sound goes to files in FOLDER; the last
line printed is JSON with what was seen.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import fish_audio_sdk as legacy
from fishaudio import AsyncFishAudio, FishAudio
from fishaudio.types import FlushEvent, Prosody, TTSConfig

HTTP, WS, KEY, FOLDER, PLAN = *sys.argv[1:4], Path(sys.argv[4]), json.loads(sys.argv[5])
SENTENCES, LONG = PLAN["sentences"], PLAN["long"]
BOTH = " ".join(SENTENCES)
VOICE = "802e3bc2b27e49c2995d23ef70e6ac89"
FOUND: dict[str, object] = {}


def pieces(text: str) -> list[str]:
    return [text[i : i + 4] for i in range(0, len(text), 4)]


def save(name: str, chunks) -> None:
    parts = list(chunks)
    FOUND[name] = len(parts)
    (FOLDER / name).write_bytes(b"".join(parts))


def flushed():
    """A sentence at a time, as it comes from an LLM."""
    for sentence in SENTENCES:
        yield from pieces(sentence)
        yield FlushEvent()


def older_face() -> None:
    with legacy.WebSocketSession(KEY, base_url=HTTP) as session:
        for name in ("mp3", "wav", "pcm"):
            request = legacy.TTSRequest(text="", format=name, reference_id=VOICE)
            save(f"older-live.{name}", session.tts(request, pieces(BOTH)))
    session = legacy.Session(KEY, base_url=HTTP)
    request = legacy.TTSRequest(text=SENTENCES[0], format="mp3", mp3_bitrate=64)
    save("older.mp3", session.tts(request))
    try:
        list(legacy.Session("wrong", base_url=HTTP).tts(legacy.TTSRequest(text="Hello.")))
    except legacy.HttpCodeErr as error:
        FOUND["older-refused"] = [error.status, error.message]


def newer_face() -> None:
    client = FishAudio(api_key=KEY, base_url=HTTP)
    for name, more in {
        "mp3": {},
        "wav": {},
        "opus": {"opus_bitrate": 48},
        "pcm": {"sample_rate": 16000},
    }.items():
        config = TTSConfig(format=name, **more)
        save(f"convert.{name}", [client.tts.convert(text=SENTENCES[0], config=config)])
        save(f"live.{name}", client.tts.stream_websocket(flushed(), config=config))
    config = TTSConfig(format="pcm", sample_rate=24000, prosody=Prosody(speed=1.25))
    save("stream-fast.pcm", client.tts.stream(text=SENTENCES[1], config=config))
    given_up = client.tts.stream_websocket(iter([LONG]), format="pcm")
    next(given_up)
    started = time.monotonic()
    given_up.close()
    save("after.pcm", client.tts.stream_websocket(iter(pieces(SENTENCES[0])), format="pcm"))
    FOUND["after_s"] = time.monotonic() - started
    for name, call in {
        "refused": lambda: FishAudio(api_key="wrong", base_url=HTTP).tts.convert(text="Hello."),
        "empty": lambda: client.tts.convert(text=""),
        "live-refused": lambda: list(
            FishAudio(api_key="wrong", base_url=HTTP).tts.stream_websocket(iter(["Hello."]))
        ),
    }.items():
        try:
            call()
        except Exception as error:
            FOUND[name] = [type(error).__name__, getattr(error, "status", None), str(error)]


async def asynchronous() -> None:
    client = AsyncFishAudio(api_key=KEY, base_url=HTTP)

    async def text():
        for piece in pieces(BOTH):
            yield piece

    async def one(name: str) -> None:
        live = client.tts.stream_websocket(text(), format="pcm")
        save(name, [chunk async for chunk in live])

    await asyncio.gather(one("async1.pcm"), one("async2.pcm"))


older_face()
newer_face()
asyncio.run(asynchronous())
print(json.dumps(FOUND))
