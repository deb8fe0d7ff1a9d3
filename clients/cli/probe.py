"""Whether a running gateway does what it should, step by step, as a client meets it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from clients.python import GatewayClosedError, SpeechError, connect, stream_url
from clients.python.wire import Hello

TEXT = "Hello there."


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried."""

    what: str
    ok: bool
    detail: str


async def probe(url: str, api_key: str | None = None) -> AsyncIterator[Step]:
    """Connect, then speak a sentence. Ends with the first step that fails."""
    try:
        address = stream_url(url)
        async with connect(url, api_key=api_key) as client:
            yield Step("gateway", True, f"{address} {_facts(client.hello)}")
            yield Step("voices", bool(client.voices), ", ".join(client.voices) or "none")
            began_s, first_ms, packets = time.perf_counter(), 0.0, 0
            speech = client.speak(TEXT, lead_ms=0)
            async for _ in speech:
                packets += 1
                if packets == 1:
                    first_ms = 1000.0 * (time.perf_counter() - began_s)
            assert speech.done is not None
            detail = f"{speech.done.audio_ms / 1000:.2f} s, first packet after {first_ms:.0f} ms"
            yield Step("speech", packets > 0, detail if packets else f"no sound for {TEXT!r}")
    except (SpeechError, GatewayClosedError, ValueError) as error:
        yield Step("gateway", False, str(error))
    except OSError as error:
        yield Step("gateway", False, f"{url}: expected a gateway, got {error}")


def _facts(hello: Hello) -> str:
    engine = hello.engine
    return f"({hello.protocol}, {engine.checkpoint}, {engine.max_streams} streams)"
