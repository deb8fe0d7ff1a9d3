"""The Python client of voice-gateway's own protocol: text in as it comes, packets out.

async with connect("ws://127.0.0.1:8080") as client:
    speech = client.context(voice="default")
    await speech.send("Hello ")
    await speech.send("there.")
    await speech.end()
    async for packet in speech:      # AudioPacket: raw Opus unless another format was asked for
        play(packet.payload)
"""

from __future__ import annotations

from clients.python.client import Client, connect, stream_url
from clients.python.context import Context
from clients.python.errors import GatewayClosedError, SpeechError

__all__ = ["Client", "Context", "GatewayClosedError", "SpeechError", "connect", "stream_url"]
