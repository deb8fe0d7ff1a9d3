"""How much work one turn of the event loop does: others wait behind it."""

from __future__ import annotations

import pytest

from benchmarks.segment import LONG_TEXTS, MESSAGE_CHARS
from gateway.text.segment import segmenter_for
from gateway.types import Configure, End, Flush, SettingsPatch, Text
from gateway.types.settings import MAX_PRONUNCIATIONS
from tests.gateway.fakes import Harness
from tests.gateway.text.test_segment import count_calls

# Ten milliseconds are some 40,000 calls. To read such a message at once makes 200,000 and more.
MOST_CALLS = 15_000


@pytest.mark.parametrize("kind", LONG_TEXTS)
def test_one_long_message_is_never_much_work_at_once(kind: str) -> None:
    h = Harness(segmenter_factory=segmenter_for)
    h.do(Configure("c1", SettingsPatch(normalize=True)))
    h.do(Text("c1", "2 "))  # imports what it needs
    text = (LONG_TEXTS[kind] * MESSAGE_CHARS)[:MESSAGE_CHARS]
    calls = [
        count_calls(lambda command=command: h.session.receive((command,), h.now_ms))  # type: ignore[misc]
        for command in (Text("c1", text), Flush("c1"), End("c1"))
    ]
    while h.session.next_deadline_ms() == 0.0:
        calls.append(count_calls(lambda: h.session.tick(h.now_ms)))
    assert max(calls) < MOST_CALLS
    context = h.session._roster.queue[0].context
    assert context.text_complete and context.segments_cut > 0
    assert context.taken_chars + sum(len(s.text) for s in context.pending) == MESSAGE_CHARS + 2


def test_others_are_served_between_the_turns() -> None:
    """The first segment of a long message goes to the engine before the rest was cut."""
    h = Harness(segmenter_factory=segmenter_for)
    h.do(Text("c1", "Here is the first sentence of many. " * 400))
    assert h.engine.submitted and h.session.next_deadline_ms() == 0.0


@pytest.mark.parametrize("word", ["word{}", "a" + "{}" * 60, "x y {}"])
def test_a_full_table_of_pronunciations_is_not_much_work_either(word: str) -> None:
    table = {word.replace("{}", str(i)): "y" for i in range(MAX_PRONUNCIATIONS)}
    h = Harness(segmenter_factory=segmenter_for)
    h.do(Text("c0", "Hi. "))
    configure = Configure("c1", SettingsPatch(pronunciations=table))
    speak = Text("c1", "".join(f"{name}, " for name in table)[:MESSAGE_CHARS])
    calls = [
        count_calls(lambda command=command: h.session.receive((command,), h.now_ms))  # type: ignore[misc]
        for command in (configure, speak)
    ]
    assert max(calls) < MOST_CALLS  # a pattern of all the words would take 100,000 to compile
