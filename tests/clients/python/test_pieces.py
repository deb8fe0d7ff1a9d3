"""Text from any kind of source: in order, as it comes, and the source is closed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.python.pieces import _AHEAD, Pieces, pieces_of
from tests.gateway.shell import DEADLINE_S, until

Texts = list[str | None]


async def later(texts: Texts) -> AsyncIterator[str | None]:
    for text in texts:
        await asyncio.sleep(0)
        yield text


class Asynchronous:
    """An async iterator that is no generator."""

    def __init__(self, texts: Texts) -> None:
        self._texts = iter(texts)

    def __aiter__(self) -> Asynchronous:
        return self

    async def __anext__(self) -> str | None:
        try:
            return next(self._texts)
        except StopIteration:
            raise StopAsyncIteration from None


KINDS: list[Callable[[Texts], Pieces]] = [
    lambda texts: "".join(text or "" for text in texts),
    list,
    tuple,
    iter,
    lambda texts: (text for text in texts),
    later,
    Asynchronous,
]


@given(st.lists(st.none() | st.text(max_size=5), max_size=2 * _AHEAD), st.sampled_from(KINDS))
def test_every_source_gives_the_same_text(texts: Texts, kind: Callable[[Texts], Pieces]) -> None:
    async def scenario() -> list[str]:
        return [piece async for piece in pieces_of(kind(texts))]

    pieces = asyncio.run(scenario())
    assert "".join(pieces) == "".join(text or "" for text in texts)
    assert all(pieces)


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_what_a_source_raises_comes_after_what_it_gave(kind: str) -> None:
    def plain() -> Iterator[str]:
        yield "a"
        raise OSError("the LLM has gone")

    async def asynchronous() -> AsyncIterator[str]:
        for piece in plain():
            yield piece

    pieces = []
    with pytest.raises(OSError, match="has gone"):
        async for piece in pieces_of(plain() if kind == "plain" else asynchronous()):
            pieces.append(piece)
    assert pieces == ["a"]


async def test_a_plain_iterator_that_waits_does_not_hold_up_the_loop() -> None:
    go_on = threading.Event()

    def slow() -> Iterator[str]:
        yield "a"
        assert go_on.wait(DEADLINE_S)
        yield "b"

    taken = []
    async for piece in pieces_of(slow()):
        taken.append(piece)
        await asyncio.sleep(0)  # the loop still turns
        go_on.set()
    assert taken == ["a", "b"]


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_who_stops_early_closes_the_source(kind: str) -> None:
    closed = threading.Event()
    given_out = 0

    def plain() -> Iterator[str]:
        nonlocal given_out
        try:
            while True:
                given_out += 1
                yield "x"
        finally:
            closed.set()

    async def asynchronous() -> AsyncIterator[str]:
        with contextlib.closing(plain()) as pieces:  # type: ignore[type-var]
            for piece in pieces:
                yield piece

    source = pieces_of(plain() if kind == "plain" else asynchronous())
    async with contextlib.aclosing(source):
        async for _ in source:
            break
    await until(closed.is_set)
    assert given_out <= _AHEAD + 2  # it was not read far ahead
