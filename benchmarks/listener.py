"""A client that listens: what it got of one text, decoded."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clients.audio import OpusDecoder
from clients.python import connect
from clients.wire import OPUS_RATE_HZ, AudioPacket, Word, Words


@dataclass(frozen=True, slots=True)
class Heard:
    """`samples` at `OPUS_RATE_HZ`. `took_s`: from the text to the last packet."""

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
    decoder: OpusDecoder | None = None
    pcm: list[bytes] = []
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
                if decoder is None:
                    assert context.started is not None
                    decoder = OpusDecoder(context.started.pre_skip_samples)
                pcm.append(decoder.decode(event.payload))
        done = context.done
    assert done is not None
    took_s = time.perf_counter() - start
    samples = np.frombuffer(b"".join(pcm), "<i2").astype(np.float32) / 32768.0
    return Heard(text, samples, took_s, done.truncated, words, sources)
