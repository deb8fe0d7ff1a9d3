"""LiveKit's own ElevenLabs plugin: `python elevenlabs_livekit.py HTTP KEY FOLDER`.

Prints what it saw as one JSON object; sound (PCM, decoded by LiveKit) goes into files of FOLDER.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import aiohttp
from livekit.agents import tts as livekit_tts
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT
from livekit.plugins import elevenlabs

TEXT = "Please open the window in the kitchen. We had soup and bread for lunch."
LONG = "It was a long and quiet day by the sea. " * 12


def tokens(text: str) -> list[str]:
    return [text[i : i + 3] for i in range(0, len(text), 3)]


async def hear(stream: object, most_s: float = 1e9) -> tuple[bytes, list[list[object]], int]:
    """(PCM, timed words, rate) of a stream, or of its beginning."""
    sound, words, seconds, rate_hz = b"", [], 0.0, 0
    async for event in stream:
        sound += bytes(event.frame.data)
        rate_hz = event.frame.sample_rate
        seconds += event.frame.duration
        for word in event.frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, []):
            words.append([str(word), word.start_time, word.end_time])
        if seconds > most_s:
            break
    return sound, words, rate_hz


async def speak(tts: livekit_tts.TTS, text: str, most_s: float = 1e9) -> tuple[bytes, list, int]:
    async with tts.stream() as stream:
        for token in tokens(text):
            stream.push_text(token)
        if most_s > 1e8:
            stream.end_input()
        else:
            stream.flush()
        return await hear(stream, most_s)


async def main() -> None:
    base, key, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    seen: dict[str, object] = {"rates": {}, "words": {}}

    def keep(name: str, found: tuple[bytes, list, int]) -> None:
        (folder / f"{name}.pcm").write_bytes(found[0])
        seen["words"][name] = found[1]
        seen["rates"][name] = found[2]

    async with aiohttp.ClientSession() as session:
        for encoding in ("mp3_22050_32", "pcm_24000", "opus_48000_64"):
            tts = elevenlabs.TTS(
                base_url=f"{base}/v1", api_key=key, encoding=encoding, http_session=session
            )
            keep(f"stream_{encoding}", await speak(tts, TEXT))
            keep(f"whole_{encoding}", await _whole(tts))
            await tts.aclose()
        tts = elevenlabs.TTS(
            base_url=f"{base}/v1",
            api_key=key,
            encoding="pcm_24000",
            http_session=session,
            chunk_length_schedule=[80, 120],  # turns auto_mode off
            voice_settings=elevenlabs.VoiceSettings(stability=0.5, similarity_boost=0.7, speed=1.1),
        )
        seen["voices"] = [voice.id for voice in await tts.list_voices()]
        keep("schedule", await speak(tts, TEXT))
        for _ in range(8):  # on one connection: each is given up in the middle
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
        await tts.aclose()
    print(json.dumps(seen))


async def _whole(tts: livekit_tts.TTS) -> tuple[bytes, list, int]:
    async with tts.synthesize(TEXT) as stream:
        return await hear(stream)


if __name__ == "__main__":
    asyncio.run(main())
