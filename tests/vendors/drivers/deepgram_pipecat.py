"""Drives Pipecat's own Deepgram services: `deepgram_pipecat.py HTTP_URL WS_URL KEY FOLDER PLAN`.

See deepgram_python.py for PLAN. Sound (24 kHz PCM) goes to files in FOLDER, a turn each.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import aiohttp
from pipecat.frames.frames import TTSUpdateSettingsFrame
from pipecat.services.deepgram.flux.tts import DeepgramFluxTTSService
from pipecat.services.deepgram.tts import DeepgramHttpTTSService, DeepgramTTSService
from pipecat_turns import RATE_HZ, Talk, converse

HTTP, WS, KEY, FOLDER, PLAN = *sys.argv[1:4], Path(sys.argv[4]), json.loads(sys.argv[5])
SENTENCES, LONG = PLAN["sentences"], PLAN["long"]


def conversation(settings: object):
    """A turn; one that is broken off; the next; after a change of speed."""

    async def act(talk: Talk) -> None:
        await talk.say(" ".join(SENTENCES))
        await talk.interrupt(LONG, RATE_HZ)
        await talk.say(SENTENCES[0])
        await talk.worker.queue_frame(TTSUpdateSettingsFrame(delta=settings))
        await talk.say(SENTENCES[1])

    return act


async def one(talk: Talk) -> None:
    await talk.say(SENTENCES[0])


async def main() -> None:
    found: dict[str, object] = {}

    async def run(name: str, service: object, act: object) -> None:
        listener = await converse(service, act)
        for turn, sound in listener.audio.items():
            (FOLDER / f"{name}-{turn}").write_bytes(sound)
        found[name] = {"stopped": sorted(listener.stopped), "errors": listener.errors}

    speak = DeepgramTTSService(api_key=KEY, base_url=WS, sample_rate=RATE_HZ)
    await run("v1", speak, conversation(DeepgramTTSService.Settings(speed=1.2)))
    flux = DeepgramFluxTTSService(api_key=KEY, url=f"{WS}/v2/speak", sample_rate=RATE_HZ)
    await run("flux", flux, conversation(DeepgramFluxTTSService.Settings(speed=1.2)))
    async with aiohttp.ClientSession() as session:
        rest = DeepgramHttpTTSService(
            api_key=KEY, base_url=HTTP, aiohttp_session=session, sample_rate=RATE_HZ
        )
        await run("http", rest, one)
    refused = DeepgramTTSService(api_key="wrong", base_url=WS, sample_rate=RATE_HZ)
    failures: list[str] = []

    @refused.event_handler("on_connection_error")
    async def on_error(service: object, error: str) -> None:
        failures.append(error)

    async def nothing(talk: Talk) -> None:
        await talk.until(lambda: bool(failures))

    await run("refused", refused, nothing)
    found["failures"] = failures
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
