"""The codec's thread: what arrives together is decoded together, errors go to their stream."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest
import pytest_asyncio

from engine.api import EngineUnavailableError
from engine.codec.slots import SlotError, SlotPool
from engine.host.codec_loop import MOST_FRAMES_A_ROUND, CodecLoop, Codes, Pcm


class CountingDecoder:
    """One sample a frame: the stream's running sum of its codes. Notes every call."""

    def __init__(self, size: int = 8) -> None:
        self.pool = SlotPool(size)
        self.calls: list[tuple[list[int], int]] = []
        self.sums: dict[int, float] = {}
        self.device_error: Exception | None = None  # as a GPU's: every call raises it
        self.cut: int | None = None  # how many rows too few a call gives
        self.entered, self.gate = threading.Event(), threading.Event()
        self.gate.set()

    def allocate(self) -> int:
        slot = self.pool.allocate()
        self.sums[slot] = 0.0
        return slot

    def free(self, slot: int) -> None:
        self.pool.free(slot)
        del self.sums[slot]

    def check(self) -> None:
        if self.device_error is not None:
            raise self.device_error

    def decode(self, slots: list[int], codes: Codes) -> Pcm:
        self.check()
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
        return out[: self.cut]


@pytest_asyncio.fixture
async def loop() -> AsyncIterator[tuple[CodecLoop, CountingDecoder]]:
    decoder = CountingDecoder()
    codec = CodecLoop(decoder)
    codec.start()
    yield codec, decoder
    await codec.stop()


async def until(condition: Callable[[], bool]) -> None:
    """Turns of the event loop, as the thread tells it; not for long."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def frames(*values: int) -> Codes:
    return np.array([[value, 0] for value in values], np.uint16)


Loop = tuple[CodecLoop, CountingDecoder]


async def test_frames_of_many_streams_share_a_call(loop: Loop) -> None:
    codec, decoder = loop
    slots = [await codec.open() for _ in range(4)]
    results = await asyncio.gather(*(codec.decode(slot, frames(slot + 1)) for slot in slots))
    assert [float(pcm[0]) for pcm in results] == [1, 2, 3, 4]
    assert decoder.calls == [(slots, 1)]


async def test_streams_with_other_lengths_keep_their_order(loop: Loop) -> None:
    codec, decoder = loop
    one, two = await codec.open(), await codec.open()
    first, second = await asyncio.gather(
        codec.decode(one, frames(1)), codec.decode(two, frames(1, 2, 3))
    )
    assert first.tolist() == [1]
    assert second.tolist() == [1, 3, 6]
    assert (await codec.decode(one, frames(5))).tolist() == [6]
    assert decoder.calls == [([one, two], 1), ([two], 2), ([one], 1)]


async def test_what_comes_while_the_codec_is_behind_joins_the_next_round(loop: Loop) -> None:
    codec, decoder = loop
    behind, new = await codec.open(), await codec.open()
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
    slot = await codec.open()
    with pytest.raises(ValueError, match="below 1000"):
        await codec.decode(slot, frames(1000))
    assert (await codec.decode(slot, frames(2))).tolist() == [2]


async def test_a_cancelled_caller_does_not_stop_the_decode(loop: Loop) -> None:
    codec, decoder = loop
    slot = await codec.open()
    task = asyncio.create_task(codec.decode(slot, frames(1)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await codec.decode(slot, frames(1))).tolist() == [2]
    assert len(decoder.calls) == 2


async def test_a_slot_is_not_freed_under_a_running_decode(loop: Loop) -> None:
    codec, decoder = loop
    slot = await codec.open()
    decoder.gate.clear()
    task = asyncio.create_task(codec.decode(slot, frames(1)))
    await asyncio.to_thread(decoder.entered.wait, 5)
    task.cancel()
    codec.release(slot)
    await asyncio.sleep(0)
    assert slot in decoder.sums
    decoder.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: slot not in decoder.sums)
    assert (codec.open_slots, decoder.pool.free_count) == (0, 8)


@pytest.mark.parametrize("abandoned", [1, 2, 3])
async def test_a_slot_waits_for_every_decode_of_its_stream(loop: Loop, abandoned: int) -> None:
    """Jobs that their callers left behind are through one after the other, not all at once."""
    codec, decoder = loop
    slot = await codec.open()
    decoder.gate.clear()
    tasks = []
    for _ in range(abandoned):
        tasks.append(task := asyncio.create_task(codec.decode(slot, frames(1))))
        await asyncio.to_thread(decoder.entered.wait, 5)
        await asyncio.sleep(0)
        task.cancel()
    last = asyncio.create_task(codec.decode(slot, frames(5)))
    await asyncio.sleep(0)
    codec.release(slot)
    decoder.gate.set()
    assert (await last).tolist() == [abandoned + 5]  # its state was still its own
    await until(lambda: slot not in decoder.sums)
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_stream_that_opens_waits_for_an_abandoned_decode(loop: Loop) -> None:
    codec, decoder = loop
    slots = [await codec.open() for _ in range(8)]
    with pytest.raises(SlotError):
        await codec.open()  # nobody is about to leave
    decoder.gate.clear()
    task = asyncio.create_task(codec.decode(slots[3], frames(1)))
    await asyncio.to_thread(decoder.entered.wait, 5)
    task.cancel()
    codec.release(slots[3])
    opening = asyncio.create_task(codec.open())
    await asyncio.sleep(0)
    assert not opening.done()
    decoder.gate.set()
    assert await asyncio.wait_for(opening, 5) == slots[3]
    assert (await codec.decode(slots[3], frames(2))).tolist() == [2]  # a fresh stream
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("cut", [0, 1])
async def test_a_decoder_that_gives_too_little_fails_its_round_and_the_thread_lives(
    loop: Loop, cut: int
) -> None:
    codec, decoder = loop
    one, two = await codec.open(), await codec.open()
    decoder.cut = cut
    results = await asyncio.wait_for(
        asyncio.gather(
            codec.decode(one, frames(1)), codec.decode(two, frames(1)), return_exceptions=True
        ),
        5,
    )
    assert [type(result) for result in results] == [ValueError, ValueError]
    decoder.cut = None
    assert len(await codec.decode(one, frames(2))) == 1


async def test_codes_of_another_width_fail_their_round_and_the_thread_lives(loop: Loop) -> None:
    codec, _ = loop
    one, two = await codec.open(), await codec.open()
    wide = np.zeros((1, 3), np.uint16)
    results = await asyncio.wait_for(
        asyncio.gather(
            codec.decode(one, frames(1)), codec.decode(two, wide), return_exceptions=True
        ),
        5,
    )
    assert [type(result) for result in results] == [ValueError, ValueError]
    assert (await codec.decode(one, frames(2))).tolist() == [2]


async def test_a_device_error_for_good_ends_the_thread_and_is_told() -> None:
    decoder = CountingDecoder()
    codec = CodecLoop(decoder)
    codec.start()
    one, two = await codec.open(), await codec.open()
    decoder.device_error = RuntimeError("CUDA error: an illegal memory access")
    with pytest.raises(RuntimeError, match="illegal memory access"):
        await asyncio.wait_for(codec.decode(one, frames(1)), 5)
    assert await asyncio.wait_for(codec.broken(), 5) is decoder.device_error
    with pytest.raises(EngineUnavailableError, match="illegal memory access"):
        await asyncio.wait_for(codec.decode(two, frames(1)), 5)
    codec.release(one)
    codec.release(two)
    assert decoder.pool.free_count == 8
    await asyncio.wait_for(codec.stop(), 5)


async def test_whatever_ends_the_thread_fails_every_decode_that_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder = CountingDecoder()
    codec = CodecLoop(decoder)

    def defect(jobs: list[object]) -> list[object]:
        decoder.entered.set()
        decoder.gate.wait(5)
        raise KeyError("a defect of ours")

    monkeypatch.setattr(codec, "_round", defect)
    codec.start()
    slots = [await codec.open() for _ in range(3)]
    decoder.gate.clear()
    waiting = [asyncio.create_task(codec.decode(slot, frames(1))) for slot in slots[:2]]
    await asyncio.to_thread(decoder.entered.wait, 5)
    waiting.append(asyncio.create_task(codec.decode(slots[2], frames(1))))  # the thread is busy
    await asyncio.sleep(0)
    decoder.gate.set()
    results = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
    assert [type(result) for result in results] == [EngineUnavailableError] * 3
    assert isinstance(await codec.broken(), KeyError)
    await asyncio.wait_for(codec.stop(), 5)
