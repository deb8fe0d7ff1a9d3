"""Text from wherever it comes: a string, an LLM's stream of deltas, a plain iterator."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Collection,
    Iterable,
    Iterator,
)
from typing import TypeAlias

# A delta may be None: an LLM's first and last ones often hold no text.
Pieces: TypeAlias = "str | AsyncIterable[str | None] | Iterable[str | None]"

_AHEAD = 64  # pieces that a plain iterator may be ahead of who takes them


async def pieces_of(source: Pieces) -> AsyncGenerator[str]:
    """The pieces of `source` that hold text, in order, as they come.

    A plain iterator is read in a thread, because its `next` may wait for a network. Whoever stops
    early closes this generator, and with it the source, so that an LLM stops producing.
    """
    if isinstance(source, str):
        found = _listed([source])
    elif isinstance(source, AsyncIterable):
        found = _awaited(source)
    elif isinstance(source, Collection):
        found = _listed(source)
    else:
        found = _threaded(source)
    async with contextlib.aclosing(found):
        async for piece in found:
            if piece:
                yield piece


async def _listed(source: Iterable[str | None]) -> AsyncGenerator[str | None]:
    for piece in source:
        yield piece


async def _awaited(source: AsyncIterable[str | None]) -> AsyncGenerator[str | None]:
    iterator = aiter(source)
    try:
        async for piece in iterator:
            yield piece
    finally:
        if isinstance(iterator, AsyncGenerator):
            await iterator.aclose()


async def _threaded(source: Iterable[str | None]) -> AsyncGenerator[str | None]:
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[str | BaseException | None] = asyncio.Queue()
    room = threading.Semaphore(_AHEAD)
    stopped = threading.Event()

    def put(item: str | BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(queue.put_nowait, item)

    # A daemon, because nobody can cancel a read that waits for a person.
    reader = threading.Thread(target=_read, args=(source, put, room, stopped), daemon=True)
    reader.start()
    try:
        while (item := await queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            room.release()
            yield item
    finally:
        stopped.set()
        room.release()


def _read(
    source: Iterable[str | None],
    put: Callable[[str | BaseException | None], None],
    room: threading.Semaphore,
    stopped: threading.Event,
) -> None:
    """Hand over every piece, then None or what was raised. Runs in a thread."""
    iterator: Iterator[str | None] = iter(())
    try:
        iterator = iter(source)
        for piece in iterator:
            if piece:
                room.acquire()
                put(piece)
            if stopped.is_set():
                break
    except BaseException as error:  # it belongs to whoever takes the pieces
        put(error)
    else:
        put(None)
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
