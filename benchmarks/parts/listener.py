"""A client that listens: what it got of one text, decoded."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clients.python import connect
from clients.python.wire import OPUS_RATE_HZ, AudioPacket, Word, Words
from gateway.audio import OpusDecoder


@dataclass(frozen=True, slots=True)
class Heard:
    """`samples` at `OPUS_RATE_HZ`, as a browser decodes them: floats.

    Rounded to 16 bits, the fading ends of words become steps, which DNSMOS takes for noise (0.05
    points).

    `took_s`: from the text to the last packet.
    """

    text: str
    samples: NDArray[np.float32]
    took_s: float
    truncated: bool
    words: list[Word] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)  # of the words' times

    @property
    def seconds(self) -> float:
        """Length of the sound."""
        return len(self.samples) / OPUS_RATE_HZ


async def hear(url: str, text: str, **settings: Any) -> Heard:
    """Have one text spoken as fast as the gateway gives it. `settings`: the context's."""
    decoder = OpusDecoder()
    decoded: list[NDArray[np.float32]] = []
    words: list[Word] = []
    sources: set[str] = set()
    start = time.perf_counter()
    async with connect(url) as client:
        context = client.context(lead_ms=0, **settings)
        await context.send(text)
        await context.end()
        async for event in context.events():
            if isinstance(event, Words):
                words += event.words
                sources.add(event.source)
            elif isinstance(event, AudioPacket):
                decoded.append(decoder.decode(event.payload))
        started, done = context.started, context.done
    assert done is not None
    took_s = time.perf_counter() - start
    skip = 0 if started is None else started.pre_skip_samples
    samples = np.concatenate([np.zeros(0, np.float32), *decoded])[skip:]
    return Heard(text, samples, took_s, done.truncated, words, sources)
