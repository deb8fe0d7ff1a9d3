"""Drives Pipecat's own Fish Audio service: `fish_pipecat.py HTTP_URL WS_URL KEY FOLDER PLAN`.

See fish_python.py for PLAN. Sound (24 kHz PCM) goes to files in FOLDER, a turn each. The service
has no parameter for its address, so the attribute that holds it is set.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from pipecat.frames.frames import TTSUpdateSettingsFrame
from pipecat.services.fish.tts import FishAudioTTSService
from pipecat_turns import RATE_HZ, Talk, converse

HTTP, WS, KEY, FOLDER, PLAN = *sys.argv[1:4], Path(sys.argv[4]), json.loads(sys.argv[5])
SENTENCES, LONG = PLAN["sentences"], PLAN["long"]


async def turns(talk: Talk) -> None:
    """A turn; one that is broken off; the next; after a change of speed."""
    await talk.say(" ".join(SENTENCES))
    await talk.interrupt(LONG, RATE_HZ)
    await talk.say(SENTENCES[0])
    delta = FishAudioTTSService.Settings(prosody_speed=1.2)
    await talk.worker.queue_frame(TTSUpdateSettingsFrame(delta=delta))
    await talk.say(SENTENCES[1])


async def main() -> None:
    service = FishAudioTTSService(api_key=KEY, sample_rate=RATE_HZ)
    service._base_url = f"{WS}/v1/tts/live"
    listener = await converse(service, turns)
    for turn, sound in listener.audio.items():
        (FOLDER / f"turn-{turn}").write_bytes(sound)
    print(json.dumps({"stopped": sorted(listener.stopped), "errors": listener.errors}))


if __name__ == "__main__":
    asyncio.run(main())
