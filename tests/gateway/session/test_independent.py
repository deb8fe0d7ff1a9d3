"""A session of independent contexts: none waits for another, and none starves another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.types import Audio, Done, End, Flush, Interrupt, Text
from tests.gateway.fakes import FakeEngine, Harness, settings


def harness(**engine: float) -> Harness:
    return Harness(FakeEngine(**engine), defaults=settings(lead_ms=0), independent_contexts=True)


def test_one_that_is_not_ended_holds_up_nobody() -> None:
    h = harness()
    h.do(Text("a", "Hello there. "))
    h.do(Text("b", "How are you. "))
    h.do(End("b"))
    h.run(5000)
    assert h.audio("a") and h.audio("b")
    assert [done.context for done in h.events(Done)] == ["b"]


def test_in_an_ordinary_session_it_does() -> None:
    h = Harness(FakeEngine(), defaults=settings(lead_ms=0))
    h.do(Text("a", "Hello there. "))
    h.do(Text("b", "How are you. "))
    h.do(End("b"))
    h.run(5000)
    assert h.audio("a") and not h.audio("b")


def test_a_new_one_is_heard_while_a_long_one_is_made() -> None:
    h = harness(frame_delay_ms=20.0)
    h.do(Text("long", "All is well here and there. " * 20))
    h.do(End("long"))
    h.run(500)
    asked_ms = h.now_ms
    h.do(Text("next", "Hello. "))
    h.do(End("next"))
    h.run(60_000)
    first_ms = h.audio("next")[0][0]
    assert first_ms - asked_ms < 100
    assert h.audio("long")[-1][0] > first_ms + 1000


def test_an_interrupt_of_one_leaves_the_others() -> None:
    h = harness(frame_delay_ms=20.0)
    for name in ("a", "b"):
        h.do(Text(name, "All is well here and there. "))
        h.do(End(name))
    h.run(100)
    h.do(Interrupt("a"))
    h.run(60_000)
    assert [done.context for done in h.events(Done)] == ["b"]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.booleans())
def test_each_gets_what_it_would_get_alone(order: list[str], flushing: bool) -> None:
    h = harness()
    for name in order:
        h.do(Text(name, f"This is {name}. "))
        if flushing:
            h.do(Flush(name))
    for name in set(order):
        h.do(End(name))
    h.run(60_000)
    for name in set(order):
        alone = harness()
        for _ in range(order.count(name)):
            alone.do(Text(name, f"This is {name}. "))
            if flushing:
                alone.do(Flush(name))
        alone.do(End(name))
        alone.run(60_000)
        assert sound(h, name) == sound(alone, name)


def sound(h: Harness, name: str) -> list[bytes]:
    return [event.payload for event in h.events(Audio, name)]  # type: ignore[attr-defined]
