"""From the engine's PCM to what goes over the wire. No asyncio, no clock: called, it returns."""

from gateway.audio.chain import Chain, make_chain
from gateway.audio.opus import OpusDecoder, OpusEncoder, opus_backend

__all__ = ["Chain", "OpusDecoder", "OpusEncoder", "make_chain", "opus_backend"]
