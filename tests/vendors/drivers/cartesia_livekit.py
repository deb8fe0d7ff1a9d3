"""LiveKit's own Cartesia plugin: `python cartesia_livekit.py HTTP KEY FOLDER`.

Prints what it saw as one JSON object; sound (PCM) goes into files of FOLDER.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import aiohttp
from livekit.agents import APIConnectOptions, APIError, APIStatusError
from livekit.agents import tts as livekit_tts
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT
from livekit.plugins import cartesia

TEXT = "Please open the window in the kitchen. We had soup and bread for lunch."
LONG = "It was a long and quiet day by the sea. " * 12
ONCE = APIConnectOptions(max_retry=0)


def tokens(text: str) -> list[str]:
    return [text[i : i + 3] for i in range(0, len(text), 3)]


async def hear(stream: object, most_s: float = 1e9) -> tuple[bytes, list[list[object]]]:
    """(PCM, timed words) of a stream, or of its beginning."""
    sound, words, seconds = b"", [], 0.0
    async for event in stream:
        sound += bytes(event.frame.data)
        seconds += event.frame.duration
        for word in event.frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, []):
            words.append([str(word), word.start_time, word.end_time])
        if seconds > most_s:
            break
    return sound, words


async def speak(tts: livekit_tts.TTS, text: str, most_s: float = 1e9) -> tuple[bytes, list]:
    async with tts.stream(conn_options=ONCE) as stream:
        for token in tokens(text):
            stream.push_text(token)
        stream.end_input()
        return await hear(stream, most_s)


async def error_of(tts: livekit_tts.TTS) -> list[object]:
    try:
        await speak(tts, TEXT)
    except APIStatusError as error:
        return [type(error).__name__, error.status_code]
    except APIError as error:
        return [type(error).__name__, str(error)]
    return []


async def main() -> None:
    base, key, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    seen: dict[str, object] = {"words": {}}

    def keep(name: str, found: tuple[bytes, list], rate_hz: int = 24_000) -> None:
        (folder / f"{name}.pcm_s16le_{rate_hz}").write_bytes(found[0])
        seen["words"][name] = found[1]

    async with aiohttp.ClientSession() as session:

        def tts_of(**options: object) -> cartesia.TTS:
            given = {"base_url": base, "api_key": key, "http_session": session, **options}
            return cartesia.TTS(**given)

        tts = tts_of()
        keep("stream", await speak(tts, TEXT))
        async with tts.synthesize(TEXT) as stream:
            keep("whole", await hear(stream))
        for _ in range(8):  # each is given up in the middle
            keep("interrupted", await speak(tts, LONG, most_s=0.2))
        started = time.monotonic()
        async with tts.stream() as stream:
            stream.push_text("Next. ")
            stream.end_input()
            await anext(aiter(stream))
            seen["first_audio_s"] = time.monotonic() - started
        keep("after", await speak(tts, TEXT))
        both = await asyncio.gather(speak(tts, TEXT), speak(tts, TEXT))
        keep("one", both[0])
        keep("two", both[1])
        tts.update_options(speed=1.2, emotion="happy")
        keep("faster", await speak(tts, TEXT))
        await tts.aclose()
        narrow = tts_of(
            sample_rate=16_000, api_version="2024-11-13", model="sonic-english", speed="fast"
        )
        keep("old_version", await speak(narrow, TEXT), 16_000)
        await narrow.aclose()
        seen["wrong_key"] = await error_of(tts_of(api_key="wrong"))
        seen["language"] = await error_of(tts_of(language="ja", word_timestamps=False))
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main())
