"""A fake engine that makes something like speech, and what a listener hears of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

from gateway.audio import make_chain
from gateway.audio.constants import Samples
from gateway.text.segment import segmenter_for
from gateway.types import (
    AudioFormat,
    Codec,
    Done,
    End,
    Interrupted,
    Limits,
    Packet,
    Started,
    Text,
)
from tests.gateway.audio.signals import decoded, speech_like
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import FakeEngine, Harness


@dataclass
class SpeakingEngine(FakeEngine):
    """Says something like speech, another one for every text."""

    sounds: dict[str, Samples] = field(default_factory=dict)

    def samples_of(self, text: str, frame: int) -> bytes:
        if text not in self.sounds:
            seconds = self.frames_of(text) * FACTS.frame_samples / FACTS.sample_rate_hz
            self.sounds[text] = speech_like(FACTS.sample_rate_hz, seconds, seed=sum(map(ord, text)))
        size = FACTS.frame_samples
        return self.sounds[text][frame * size : (frame + 1) * size].tobytes()


def started(h: Harness, context: str) -> Started:
    (event,) = h.events(Started, context)
    return cast(Started, event)


def sound(h: Harness, context: str, audio_format: AudioFormat) -> Samples:
    """A context alone, decoded, as long as the gateway says that it is."""
    over = h.events(Done, context) or h.events(Interrupted, context)
    event = cast("Done | Interrupted", over[0])
    total_ms = event.audio_ms if isinstance(event, Done) else event.sent_ms
    size = audio_format.frame_samples
    packets = [Packet(p.payload, p.timestamp_samples, size) for _, p in h.audio(context)]
    if audio_format.codec is not Codec.OPUS:  # only Opus pads its last packet
        width = len(packets[0].payload) // packets[0].duration_samples
        packets = [replace(p, duration_samples=len(p.payload) // width) for p in packets]
    samples = decoded(audio_format, packets, started(h, context).pre_skip_samples)
    return samples[: round(total_ms * audio_format.sample_rate_hz / 1000)]


def harness(limits: Limits | None = None, **engine: object) -> Harness:
    """A session with the real segmenter and the real audio chain."""
    return Harness(
        FakeEngine(**engine),  # type: ignore[arg-type]
        limits,
        chain=lambda f, s: make_chain(f, FACTS.sample_rate_hz, s),  # type: ignore[arg-type, return-value]
        segmenter_factory=segmenter_for,
    )


def say(h: Harness, context: str, text: str, every_ms: float = 0.0) -> None:
    """Send a whole utterance, character by character."""
    for char in text:
        h.do(Text(context, char))
        if every_ms:
            h.run(every_ms)
    h.do(End(context))
