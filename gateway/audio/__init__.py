"""From the engine's PCM to what goes over the wire. No asyncio, no clock: called, it returns."""

from gateway.audio.chain import Chain, make_chain
from gateway.audio.loudness import voice_gain
from gateway.audio.ogg import OggOpusWriter
from gateway.audio.opus import OpusDecoder, OpusEncoder, opus_backend
from gateway.audio.wav import wav_header, wav_padding

__all__ = [
    "Chain",
    "OggOpusWriter",
    "OpusDecoder",
    "OpusEncoder",
    "make_chain",
    "opus_backend",
    "voice_gain",
    "wav_header",
    "wav_padding",
]
