"""The `cartesia` package against a gateway: `python cartesia_python.py HTTP KEY FOLDER`.

Prints what it saw as one JSON object; sound goes into files of FOLDER, named `NAME.ENCODING_RATE`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cartesia
from cartesia import AsyncCartesia, Cartesia

TEXT = "Please open the window in the kitchen. We had soup and bread for lunch."
FIRST, SECOND = "Please open the window in the kitchen.", "We had soup and bread for lunch."
LONG = "It was a long and quiet day by the sea. " * 12
MODEL, VOICE = "sonic-3", {"mode": "id", "id": "6ccbfb76-1fc6-48f7-b71d-91ac6298247b"}
RAW = {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24_000}
RAW_FORMATS = (("pcm_s16le", 44_100), ("pcm_s16le", 22_050), ("pcm_f32le", 48_000),
               ("pcm_mulaw", 8_000), ("pcm_alaw", 16_000))  # fmt: skip
FILES = {
    "wav": {"container": "wav", "encoding": "pcm_s16le", "sample_rate": 24_000},
    "float.wav": {"container": "wav", "encoding": "pcm_f32le", "sample_rate": 44_100},
    "mp3": {"container": "mp3", "sample_rate": 44_100, "bit_rate": 128_000},
    "small.mp3": {"container": "mp3", "sample_rate": 22_050, "bit_rate": 48_000},
}


def tokens(text: str) -> list[str]:
    """As an LLM gives them: three characters at a time."""
    return [text[i : i + 3] for i in range(0, len(text), 3)]


class Heard:
    """What came for one context."""

    def __init__(self) -> None:
        self.sound = b""
        self.chunks = 0
        self.words: list[list[Any]] = []
        self.flushes: list[int] = []
        self.flush_ids: set[int | None] = set()
        self.last = ""

    def take(self, event: Any) -> None:
        self.last = event.type
        if event.type == "chunk":
            self.sound += event.audio
            self.chunks += 1
            self.flush_ids.add(getattr(event, "flush_id", None))
        elif event.type == "timestamps":
            told = event.word_timestamps
            self.words += map(list, zip(told.words, told.start, told.end, strict=True))
        elif event.type == "flush_done":
            self.flushes.append(event.flush_id)

    def all(self, events: Iterable[Any]) -> Heard:
        for event in events:
            self.take(event)
        return self


def over_http(client: Cartesia, folder: Path, seen: dict[str, Any]) -> None:
    for name, output in FILES.items():
        sound = client.tts.generate(
            model_id=MODEL, transcript=TEXT, voice=VOICE, output_format=output, language="en"
        )
        sound.write_to_file(folder / f"bytes.{name}")
    for encoding, rate_hz in RAW_FORMATS:
        output = {"container": "raw", "encoding": encoding, "sample_rate": rate_hz}
        with client.tts.with_streaming_response.generate(
            model_id=MODEL, transcript=TEXT, voice=VOICE["id"], output_format=output
        ) as response:
            pieces = [*response.iter_bytes(1024)]
        (folder / f"raw.{encoding}_{rate_hz}").write_bytes(b"".join(pieces))
    fast = client.tts.generate(
        model_id=MODEL,
        transcript=TEXT,
        voice=VOICE,
        output_format=RAW,
        generation_config={"speed": 1.25, "volume": 1.5, "emotion": "happy"},
        pronunciation_dict_id="pdict_1",
        save=False,
    )
    fast.write_to_file(folder / "fast.pcm_s16le_24000")
    events = client.tts.generate_sse(
        model_id=MODEL,
        transcript=TEXT,
        voice=VOICE,
        output_format=RAW,
        add_timestamps=True,
        context_id="mine",
    )
    heard = Heard().all(events)
    (folder / "sse.pcm_s16le_24000").write_bytes(heard.sound)
    seen["sse"] = {"words": heard.words, "last": heard.last, "chunks": heard.chunks}


def errors(base: str, client: Cartesia) -> dict[str, Any]:
    found: dict[str, Any] = {}
    ask = {"model_id": MODEL, "transcript": TEXT, "voice": VOICE, "output_format": RAW}
    for name, act in (
        ("key", lambda: Cartesia(base_url=base, api_key="wrong").tts.generate(**ask)),
        ("language", lambda: client.tts.generate(**{**ask, "language": "ja"})),
        ("text", lambda: client.tts.generate(**{**ask, "transcript": ""})),
        ("rate", lambda: client.tts.generate(**{**ask, "output_format": {
            "container": "raw", "encoding": "pcm_s16le", "sample_rate": 12_345}})),
        ("voice", lambda: client.voices.get("nobody")),
    ):  # fmt: skip
        try:
            act()
        except cartesia.APIStatusError as error:
            found[name] = [error.status_code, error.body["error_code"], error.body["message"]]
    return found


def sync_socket(client: Cartesia, folder: Path, seen: dict[str, Any]) -> None:
    given = {"model_id": MODEL, "voice": VOICE, "output_format": RAW, "language": "en"}
    with client.tts.websocket_connect() as connection:
        context = connection.context(**given, add_timestamps=True)
        for token in tokens(TEXT):
            context.push(token)
        context.no_more_inputs()
        heard = Heard().all(context.receive())
        (folder / "sync.pcm_s16le_24000").write_bytes(heard.sound)
        seen["sync"] = {"words": heard.words, "last": heard.last, "chunks": heard.chunks}

        flushed = connection.context(**given, add_timestamps=True)
        flushed.push(FIRST, flush=True)
        flushed.push(SECOND, flush=True)
        flushed.no_more_inputs()
        heard = Heard().all(flushed.receive())
        (folder / "flushed.pcm_s16le_24000").write_bytes(heard.sound)
        seen["flushed"] = {
            "words": heard.words, "flushes": heard.flushes, "ids": sorted(heard.flush_ids),
        }  # fmt: skip

        wrong = connection.context(**{**given, "language": "ja"})
        wrong.push("Hello. ")
        event = next(iter(wrong.receive()))
        seen["wrong"] = [event.type, event.status_code, getattr(event, "error_code", None)]


async def hear(context: Any) -> Heard:
    heard = Heard()
    async for event in context.receive():
        heard.take(event)
    return heard


async def cancelled(connection: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Stop a long speech in its middle, listening to everything that still comes."""
    request = {**given, "context_id": "long", "continue": True}
    await connection.send({**request, "transcript": LONG})
    heard, before = Heard(), 0
    async with asyncio.timeout(60):
        async for event in connection:
            heard.take(event)
            if not before and len(heard.sound) > 24_000:
                before = len(heard.sound)
                await connection.send({"cancel": True, "context_id": "long"})
            if event.type == "done":
                break
        await connection.send({**request, "transcript": "late"})
        late = await connection.recv()
    return {"before": before, "bytes": len(heard.sound), "late": [late.type, late.status_code]}


async def async_socket(base: str, key: str, folder: Path, seen: dict[str, Any]) -> None:
    client = AsyncCartesia(
        base_url=base, websocket_base_url=base.replace("http", "ws"), api_key=key
    )
    given = {"model_id": MODEL, "voice": VOICE, "output_format": RAW}

    async def speak(connection: Any, name: str, text: str, **more: Any) -> None:
        context = connection.context(**given, add_timestamps=True, **more)
        for token in tokens(text):
            await context.push(token)
            await asyncio.sleep(0.005)
        await context.no_more_inputs()
        heard = await hear(context)
        (folder / f"{name}.pcm_s16le_24000").write_bytes(heard.sound)
        seen[name] = {"words": heard.words, "last": heard.last}

    async with client.tts.websocket_connect() as connection:
        await asyncio.gather(*(speak(connection, f"beside{i}", TEXT) for i in range(4)))
        await speak(connection, "delayed", TEXT, max_buffer_delay_ms=200)
    async with client.tts.websocket_connect() as connection:
        seen["cancelled"] = await cancelled(connection, given)
    async with client.tts.websocket_connect() as connection:
        await speak(connection, "after", TEXT)
    await client.close()


def main() -> None:
    base, key, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    client = Cartesia(base_url=base, websocket_base_url=base.replace("http", "ws"), api_key=key)
    seen: dict[str, Any] = {
        "voices": [voice.id for voice in client.voices.list(limit=2)],
        "errors": errors(base, client),
    }
    seen["voice"] = client.voices.get(seen["voices"][0]).name
    over_http(client, folder, seen)
    sync_socket(client, folder, seen)
    asyncio.run(async_socket(base, key, folder, seen))
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
