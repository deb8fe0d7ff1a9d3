"""Drives LiveKit's own Deepgram plugin: `deepgram_livekit.py HTTP_URL WS_URL KEY FOLDER PLAN`.

See deepgram_python.py for PLAN. Sound (24 kHz PCM, decoded by LiveKit) goes to files in FOLDER.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import aiohttp
from livekit.agents import tts as livekit_tts
from livekit.plugins import deepgram

HTTP, WS, KEY, FOLDER, PLAN = *sys.argv[1:4], Path(sys.argv[4]), json.loads(sys.argv[5])
SENTENCES, LONG = PLAN["sentences"], PLAN["long"]


async def hear(stream: object, most_s: float = 1e9) -> bytes:
    """The sound of a stream, or of its beginning."""
    sound, seconds = b"", 0.0
    async for event in stream:
        sound += bytes(event.frame.data)
        seconds += event.frame.duration
        if seconds > most_s:
            break
    return sound


async def speak(tts: livekit_tts.TTS, text: str, most_s: float = 1e9) -> bytes:
    async with tts.stream() as stream:
        for i in range(0, len(text), 3):
            stream.push_text(text[i : i + 3])
        stream.flush()
        if most_s > 1e8:
            stream.end_input()
        return await hear(stream, most_s)


async def whole(tts: livekit_tts.TTS, text: str) -> bytes:
    async with tts.synthesize(text) as stream:
        return await hear(stream)


async def main() -> None:
    found: dict[str, object] = {}
    async with aiohttp.ClientSession() as session:
        kinds = {
            "v1": lambda key: deepgram.TTS(
                base_url=f"{HTTP}/v1/speak", api_key=key, http_session=session
            ),
            "v2": lambda key: deepgram.TTSv2(
                base_url=f"{HTTP}/v2/speak", api_key=key, http_session=session
            ),
        }
        for name, make in kinds.items():
            tts = make(KEY)

            def keep(what: str, sound: bytes, name: str = name) -> None:
                (FOLDER / f"{name}-{what}").write_bytes(sound)

            keep("stream", await speak(tts, " ".join(SENTENCES)))
            keep("whole", await whole(tts, SENTENCES[0]))
            for _ in range(4):
                await speak(tts, LONG, most_s=0.2)
            started = time.monotonic()
            keep("after", await speak(tts, SENTENCES[0]))
            found[f"{name}-after_s"] = time.monotonic() - started
            both = await asyncio.gather(speak(tts, SENTENCES[0]), speak(tts, SENTENCES[1]))
            keep("both0", both[0])
            keep("both1", both[1])
            await tts.aclose()
            refused = make("wrong")
            try:
                await whole(refused, SENTENCES[0])
            except Exception as error:
                found[f"{name}-refused"] = getattr(error, "status_code", None)
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
