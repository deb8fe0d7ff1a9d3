"""Opus, mono at 48 kHz: one encoder or decoder per stream, with state."""

from __future__ import annotations

import ctypes
import weakref
from typing import cast

import numpy as np

from gateway.audio import libopus
from gateway.audio.constants import Samples
from gateway.types import OPUS_RATE_HZ, AudioFormat

FRAME_MS = (10, 20, 40, 60)
_MAX_FRAME_SAMPLES = 120 * OPUS_RATE_HZ // 1000  # a decoder may meet packets of 120 ms
_MAX_PACKET_BYTES = 3 * 1276  # a 60 ms packet holds three frames of the largest size

# opus_defines.h
_APPLICATION_VOIP = 2048
_APPLICATION_AUDIO = 2049
_GET_LOOKAHEAD = 4027

_CELT_BPS = 32_000
_SILK_COMPLEXITY = 5  # at least
_EXPECTED_LOSS_PERCENT = 10  # how much the in-band FEC prepares for


def opus_backend() -> str:
    """Which libopus is in use, for people: "libopus 1.3.1 (system)"."""
    return f"{libopus.version()} ({libopus.load().source})"


def packet_samples(packet: bytes) -> int:
    """Duration of one packet at 48 kHz.

    Raises:
        ValueError: it is not an Opus packet.
    """
    count = libopus.load().library.opus_packet_get_nb_samples(packet, len(packet), OPUS_RATE_HZ)
    if count <= 0:
        raise ValueError(f"packet: expected Opus, got {len(packet)} bytes (error {count})")
    return int(count)


class OpusEncoder:
    """Frames of `frame_samples` in, one packet each out.

    From 32 kbit/s on, speech is coded by CELT alone: a third of the time of SILK and CELT together
    (37 against 107 us for 20 ms), at a cost in PESQ of 3.9 against 4.4 at 32 kbit/s and 4.2 against
    4.5 at 48 (three synthetic sentences). Below, SILK earns its time (3.5 against 4.2 at 24); FEC
    and DTX exist only there.

    Complexity of CELT at 32 kbit/s (libopus 1.3.1, us for 20 ms, PESQ wide band of 15 recordings of
    synthetic speech and of 6 espeak sentences): 0: 15, 3.3, 3.2; 5 and 6: 35, 3.8, 3.2. 1 to 4 cost
    19 to 24 and sound worse than 0 (1: 2.8 for espeak); from 7 on libopus turns to SILK (149 us,
    3.9). Bandwidth is cheaper than CPU: 0 at 48 kbit/s takes 17 us for 3.7 and 3.5, and is the
    default; 5 at 32 kbit/s is for narrow lines. SILK at 0 would sound like a bad line (2.5 against
    3.4 at 24 kbit/s), so it gets at least `_SILK_COMPLEXITY`. libopus 1.6, as bundled with PyAV,
    takes 18 us at 0 and as long at 5.

    Raises:
        ValueError: a setting is out of its range.
    """

    def __init__(self, audio_format: AudioFormat) -> None:
        _check(audio_format)
        self.frame_samples = audio_format.frame_samples
        api = libopus.load()
        silk = audio_format.fec or audio_format.dtx or audio_format.bitrate_bps < _CELT_BPS
        application = _APPLICATION_VOIP if silk else _APPLICATION_AUDIO
        self._state = api.encoder.create_state(OPUS_RATE_HZ, 1, application)
        weakref.finalize(self, api.encoder.destroy, self._state)
        settings = [
            (api.ctl.set_bitrate, audio_format.bitrate_bps),
            (api.ctl.set_complexity, max(audio_format.complexity, _SILK_COMPLEXITY * silk)),
            (api.ctl.set_inband_fec, int(audio_format.fec)),
            (api.ctl.set_packet_loss_perc, _EXPECTED_LOSS_PERCENT if audio_format.fec else 0),
            (api.ctl.set_dtx, int(audio_format.dtx)),
        ]
        for request, value in settings:
            api.encoder.encoder_ctl(self._state, request, value)
        self._encode = api.encoder.libopus_encode_float
        self._input = np.zeros(self.frame_samples, np.float32)
        self._pointer = self._input.ctypes.data_as(api.float_pointer)
        self._packet = (ctypes.c_char * _MAX_PACKET_BYTES)()

    @property
    def lookahead_samples(self) -> int:
        """Samples by which the decoded sound lags behind: the stream's pre-skip."""
        value = ctypes.c_int32()
        libopus.load().encoder.libopus_ctl(self._state, _GET_LOOKAHEAD, ctypes.byref(value))
        return value.value

    def encode(self, frame: Samples) -> bytes:
        """One packet from exactly `frame_samples` samples."""
        if len(frame) != self.frame_samples:
            raise ValueError(f"frame: expected {self.frame_samples} samples, got {len(frame)}")
        self._input[:] = frame
        size = self._encode(
            self._state, self._pointer, self.frame_samples, self._packet, _MAX_PACKET_BYTES
        )
        if size < 0:
            raise RuntimeError(f"opus_encode_float: expected a packet, got error {size}")
        return cast(bytes, self._packet[:size])  # a char array's slice is bytes


class OpusDecoder:
    """Packets in, float32 mono samples at 48 kHz out, pre-skip included."""

    def __init__(self) -> None:
        api = libopus.load()
        self._state = api.decoder.create_state(OPUS_RATE_HZ, 1)
        weakref.finalize(self, api.decoder.destroy, self._state)
        self._decode = api.decoder.libopus_decode_float
        self._output = np.zeros(_MAX_FRAME_SAMPLES, np.float32)
        self._pointer = self._output.ctypes.data_as(api.float_pointer)

    def decode(self, packet: bytes) -> Samples:
        """The samples of one packet.

        Raises:
            ValueError: it is not an Opus packet.
        """
        count = self._decode(self._state, packet, len(packet), self._pointer, _MAX_FRAME_SAMPLES, 0)
        if count < 0:
            raise ValueError(f"packet: expected Opus, got {len(packet)} bytes (error {count})")
        return self._output[:count].copy()


def _check(audio_format: AudioFormat) -> None:
    if audio_format.sample_rate_hz != OPUS_RATE_HZ:
        raise ValueError(
            f"sample_rate_hz: expected {OPUS_RATE_HZ} for Opus, got {audio_format.sample_rate_hz}"
        )
    if audio_format.frame_ms not in FRAME_MS:
        raise ValueError(f"frame_ms: expected one of {FRAME_MS}, got {audio_format.frame_ms}")
    if not 6_000 <= audio_format.bitrate_bps <= 256_000:
        raise ValueError(f"bitrate_bps: expected 6000 to 256000, got {audio_format.bitrate_bps}")
    if not 0 <= audio_format.complexity <= 10:
        raise ValueError(f"complexity: expected 0 to 10, got {audio_format.complexity}")
