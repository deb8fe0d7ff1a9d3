"""What tests of conversations say, and how they read what came of it."""

from __future__ import annotations

import struct

from gateway.types import (
    End,
    Event,
    Interrupted,
    Text,
)
from tests.gateway.fake_parts import FakeChain
from tests.gateway.fakes import FakeEngine, Harness, settings

TEXT = "Hello there. How are you today. All is well here. "


def speak(harness: Harness, text: str = TEXT, context: str = "c1") -> None:
    harness.do(Text(context, text))
    harness.do(End(context))


def samples(harness: Harness, context: str = "c1") -> list[float]:
    """Everything a listener gets: `FakeChain` packets hold float samples."""
    joined = b"".join(packet.payload for _, packet in harness.audio(context))
    return list(struct.unpack(f"<{len(joined) // 4}f", joined))


def expected_samples(engine: FakeEngine, *texts: str) -> list[float]:
    pcm = b"".join(engine.samples_of(t, i) for t in texts for i in range(engine.frames_of(t)))
    return list(struct.unpack(f"<{len(pcm) // 4}f", pcm))


LONG = "Hello there. How are you today. All is well here. "


def running(hold: int = 0, **engine: object) -> Harness:
    """A conversation 100 ms after its first packet: 300 ms sent, 100 ms heard."""
    h = Harness(
        FakeEngine(**engine),  # type: ignore[arg-type]
        chain=lambda f, s: FakeChain(f, s, hold=hold),
        defaults=settings(lead_ms=200),
    )
    speak(h, LONG)
    h.run(110.0)
    assert h.audio("c1")
    return h


def only(events: list[Event], kind: type) -> Event:
    (found,) = [e for e in events if isinstance(e, kind)]
    return found


def interrupted(h: Harness, context: str = "c1") -> Interrupted:
    event = only(h.events(Interrupted, context), Interrupted)
    assert isinstance(event, Interrupted)
    return event
