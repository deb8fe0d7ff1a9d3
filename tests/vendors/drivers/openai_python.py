"""OpenAI's Python SDK: `python openai_python.py HTTP KEY FOLDER`.

Prints what it saw as one JSON object; sound goes into files of FOLDER.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import time
from pathlib import Path
from typing import Any

import openai

TEXT = "The ship sails in the morning. We had soup and bread for lunch."
LONG = "It was a long and quiet day by the sea. " * 24
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
COMMON: dict[str, Any] = {"model": "tts-1", "voice": "alloy"}


def whole(client: openai.OpenAI, folder: Path) -> dict[str, object]:
    """What the synchronous client does."""
    for name in FORMATS:
        speech = client.audio.speech.create(input=TEXT, response_format=name, **COMMON)
        speech.write_to_file(folder / f"whole.{name}")
    client.audio.speech.create(input="...", **COMMON).write_to_file(folder / "wordless.mp3")
    fast = client.audio.speech.create(input=TEXT, response_format="wav", speed=1.25, **COMMON)
    fast.write_to_file(folder / "fast.wav")
    hinted = client.audio.speech.with_raw_response.create(
        input=TEXT,
        instructions="Speak calmly.",
        response_format="wav",
        extra_body={"seed": 7, "temperature": 0.7, "language": "en", "lang_code": "a"},
        **COMMON,
    )
    (folder / "hinted.wav").write_bytes(hinted.content)
    return {
        "models": [model.id for model in client.models.list()],
        "model": client.models.retrieve("tts-1").id,
        "ignored": hinted.headers["x-voice-gateway-ignored"],
    }


def streamed(client: openai.OpenAI) -> dict[str, float]:
    """When the first byte of a long text came, and the last one."""
    started = time.monotonic()
    first, size = 0.0, 0
    with client.audio.speech.with_streaming_response.create(
        input=LONG, response_format="wav", **COMMON
    ) as response:
        for piece in response.iter_bytes():
            first = first or time.monotonic() - started
            size += len(piece)
    return {"first_s": first, "last_s": time.monotonic() - started, "bytes": size}


async def asynchronous(client: openai.AsyncOpenAI, folder: Path) -> dict[str, object]:
    """Streams, two at once, one that is given up, and server-sent events."""

    async def stream(name: str) -> None:
        async with client.audio.speech.with_streaming_response.create(
            input=TEXT, response_format="wav", **COMMON
        ) as response:
            await response.stream_to_file(folder / f"{name}.wav")

    async with client.audio.speech.with_streaming_response.create(
        input=LONG, response_format="pcm", **COMMON
    ) as response:
        async for _ in response.iter_bytes():
            break
    await asyncio.gather(stream("one"), stream("two"))
    async with client.audio.speech.with_streaming_response.create(
        input=TEXT, response_format="pcm", stream_format="sse", **COMMON
    ) as response:
        events = [json.loads(line[6:]) async for line in response.iter_lines() if line]
    sound = b"".join(base64.b64decode(event.get("audio", "")) for event in events)
    (folder / "events.pcm").write_bytes(sound)
    return {"usage": events[-1]["usage"], "events": len(events)}


def errors(client: openai.OpenAI, base: str) -> dict[str, object]:
    """What is raised for what."""
    seen: dict[str, object] = {}
    attempts: dict[str, dict[str, Any]] = {
        "voice": {"input": TEXT, "model": "tts-1", "voice": "nobody"},
        "empty": {"input": "", **COMMON},
        "speed": {"input": TEXT, "speed": 9, **COMMON},
    }
    for name, fields in attempts.items():
        try:
            client.audio.speech.create(**fields)
        except openai.APIStatusError as error:
            seen[name] = [type(error).__name__, error.code, error.param]
    try:
        openai.OpenAI(api_key="wrong", base_url=base, max_retries=0).models.list()
    except openai.APIStatusError as error:
        seen["key"] = [type(error).__name__, error.code, error.param]
    try:
        client.models.retrieve("nothing")
    except openai.APIStatusError as error:
        seen["model"] = [type(error).__name__, error.code, error.param]
    return seen


def message(text: str) -> Any:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def realtime(client: openai.OpenAI, folder: Path) -> dict[str, object]:
    """The synchronous Realtime client: text in small pieces, another format, times."""
    sound, kinds = b"", []
    with client.realtime.connect(model="gpt-realtime") as connection:
        for event in connection:
            kinds.append(event.type)
            if event.type == "session.created":
                output: Any = {"voice": "alloy", "format": {"type": "audio/pcmu"}}
                connection.session.update(session={"type": "realtime", "audio": {"output": output}})
                words = TEXT.split(" ")
                for start in range(0, len(words), 4):
                    piece = " ".join(words[start : start + 4])
                    connection.conversation.item.create(item=message(piece))
                connection.response.create()
            elif event.type == "response.output_audio.delta":
                sound += base64.b64decode(event.delta)
            elif event.type == "response.done":
                break
    (folder / "realtime.ulaw").write_bytes(sound)
    return {
        "kinds": sorted(set(kinds)),
        "transcript": event.response.output[0].content[0].transcript,
    }


async def barge_in(client: openai.AsyncOpenAI, folder: Path) -> dict[str, object]:
    """Cancel in the middle, say what was played, and speak again."""
    sound, seen = b"", {}
    async with client.realtime.connect(model="gpt-realtime") as connection:
        await connection.conversation.item.create(item=message(LONG))
        await connection.response.create()
        turn, received = 1, b""
        async for event in connection:
            if event.type == "response.output_audio.delta" and turn == 1:
                received += base64.b64decode(event.delta)
                if len(received) > 48 * 3000:  # 3 s
                    turn = 2
                    item_id = event.item_id
                    await connection.response.cancel()
                    await connection.conversation.item.truncate(
                        item_id=item_id, content_index=0, audio_end_ms=2000
                    )
            elif event.type == "response.done" and turn == 2:
                seen["status"] = event.response.status
                seen["after_cancel"] = 0
            elif event.type == "conversation.item.truncated":
                await connection.conversation.item.retrieve(item_id=item_id)
            elif event.type == "conversation.item.retrieved":
                seen["heard"] = event.item.content[0].transcript
                turn = 3
                await connection.conversation.item.create(item=message(TEXT))
                await connection.response.create()
            elif event.type == "response.output_audio.delta" and turn == 2 and "status" in seen:
                seen["after_cancel"] += 1
            elif event.type == "response.output_audio.delta" and turn == 3:
                sound += base64.b64decode(event.delta)
            elif event.type == "response.done":
                break
    (folder / "again.pcm").write_bytes(sound)
    return seen


async def main() -> None:
    base, key, folder = f"{sys.argv[1]}/v1", sys.argv[2], Path(sys.argv[3])
    urls = {"base_url": base, "websocket_base_url": base.replace("http", "ws", 1)}
    with openai.OpenAI(api_key=key, max_retries=0, **urls) as client:
        seen: dict[str, object] = {
            **whole(client, folder),
            "wav": streamed(client),
            "errors": errors(client, base),
            "realtime": realtime(client, folder),
        }
    async with openai.AsyncOpenAI(api_key=key, max_retries=0, **urls) as client:
        seen |= await asynchronous(client, folder)
        seen["barge_in"] = await barge_in(client, folder)
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main())
