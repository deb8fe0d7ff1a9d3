"""The codec's thread: what arrives together is decoded together, errors go to their stream."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator

import numpy as np
import pytest
import pytest_asyncio

from engine.host.codec_loop import MOST_FRAMES_A_ROUND, CodecLoop, Codes, Pcm


class CountingDecoder:
    """One sample a frame: the stream's running sum of its codes. Notes every call."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[int], int]] = []
        self.sums: dict[int, float] = {}
        self.entered, self.gate = threading.Event(), threading.Event()
        self.gate.set()

    def allocate(self) -> int:
        slot = len(self.sums)
        self.sums[slot] = 0.0
        return slot

    def free(self, slot: int) -> None:
        del self.sums[slot]

    def decode(self, slots: list[int], codes: Codes) -> Pcm:
        if codes.max() >= 1000:
            raise ValueError("expected codes below 1000")
        self.entered.set()
        self.gate.wait(5)
        self.calls.append((slots, codes.shape[1]))
        out = np.zeros(codes.shape[:2], np.float32)
        for row, slot in enumerate(slots):
            for frame in range(codes.shape[1]):
                self.sums[slot] += float(codes[row, frame].sum())
                out[row, frame] = self.sums[slot]
        return out


@pytest_asyncio.fixture
async def loop() -> AsyncIterator[tuple[CodecLoop, CountingDecoder]]:
    decoder = CountingDecoder()
    codec = CodecLoop(decoder)
    codec.start()
    yield codec, decoder
    await codec.stop()


def frames(*values: int) -> Codes:
    return np.array([[value, 0] for value in values], np.uint16)


Loop = tuple[CodecLoop, CountingDecoder]


async def test_frames_of_many_streams_share_a_call(loop: Loop) -> None:
    codec, decoder = loop
    slots = [codec.open() for _ in range(4)]
    results = await asyncio.gather(*(codec.decode(slot, frames(slot + 1)) for slot in slots))
    assert [float(pcm[0]) for pcm in results] == [1, 2, 3, 4]
    assert decoder.calls == [(slots, 1)]


async def test_streams_with_other_lengths_keep_their_order(loop: Loop) -> None:
    codec, decoder = loop
    one, two = codec.open(), codec.open()
    first, second = await asyncio.gather(
        codec.decode(one, frames(1)), codec.decode(two, frames(1, 2, 3))
    )
    assert first.tolist() == [1]
    assert second.tolist() == [1, 3, 6]
    assert (await codec.decode(one, frames(5))).tolist() == [6]
    assert decoder.calls == [([one, two], 1), ([two], 2), ([one], 1)]


async def test_what_comes_while_the_codec_is_behind_joins_the_next_round(loop: Loop) -> None:
    codec, decoder = loop
    behind, new = codec.open(), codec.open()
    decoder.gate.clear()
    long = asyncio.create_task(codec.decode(behind, frames(*range(1, 11))))
    await asyncio.to_thread(decoder.entered.wait, 5)
    short = asyncio.create_task(codec.decode(new, frames(7)))
    await asyncio.sleep(0.01)
    decoder.gate.set()
    assert (await short).tolist() == [7]
    assert (await long).tolist() == list(itertools.accumulate(range(1, 11)))
    most = MOST_FRAMES_A_ROUND
    assert decoder.calls == [
        ([behind], most),
        ([behind, new], 1),
        ([behind], most),
        ([behind], 10 - 1 - 2 * most),
    ]


async def test_an_error_reaches_the_caller_and_the_thread_lives(loop: Loop) -> None:
    codec, _ = loop
    slot = codec.open()
    with pytest.raises(ValueError, match="below 1000"):
        await codec.decode(slot, frames(1000))
    assert (await codec.decode(slot, frames(2))).tolist() == [2]


async def test_a_cancelled_caller_does_not_stop_the_decode(loop: Loop) -> None:
    codec, decoder = loop
    slot = codec.open()
    task = asyncio.create_task(codec.decode(slot, frames(1)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await codec.decode(slot, frames(1))).tolist() == [2]
    assert len(decoder.calls) == 2


async def test_a_slot_is_not_freed_under_a_running_decode(loop: Loop) -> None:
    codec, decoder = loop
    slot = codec.open()
    decoder.gate.clear()
    task = asyncio.create_task(codec.decode(slot, frames(1)))
    await asyncio.to_thread(decoder.entered.wait, 5)
    task.cancel()
    releasing = asyncio.create_task(codec.release(slot))
    await asyncio.sleep(0)
    assert slot in decoder.sums
    decoder.gate.set()
    await releasing
    assert slot not in decoder.sums
    with pytest.raises(asyncio.CancelledError):
        await task
