"""From the engine's PCM to what goes over the wire. No asyncio, no clock: called, it returns."""

from gateway.audio.chain import Chain, make_chain
from gateway.audio.files.ogg import OggOpusWriter
from gateway.audio.files.wav import wav_header, wav_padding
from gateway.audio.opus import OpusDecoder, OpusEncoder, opus_backend

__all__ = [
    "Chain",
    "OggOpusWriter",
    "OpusDecoder",
    "OpusEncoder",
    "make_chain",
    "opus_backend",
    "wav_header",
    "wav_padding",
]
