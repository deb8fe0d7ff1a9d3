"""The newest message says what was heard, whatever words of it were written before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.heard.messages import with_heard

SENT = "Hello there, my friend. How are you today? "
ASKED = {"role": "user", "content": "Hello?"}
LATER = {"role": "user", "content": "Stop."}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize("later", [[], [LATER]])
@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 3))
def test_what_was_written_becomes_what_was_heard(
    later: list[Any], written: int, heard: int, slack: int
) -> None:
    words = SENT.split()
    before = [ASKED, said(" ".join(words[:written])), *later]
    heard_text = " ".join(words[:heard])
    found = with_heard(before, SENT, heard_text, written + slack, may_append=False)
    assert found == [ASKED, *([said(heard_text)] if heard else []), *later]


def test_what_the_message_said_before_stays() -> None:
    before = [ASKED, said("As I said:\nHello there,")]
    found = with_heard(before, SENT, "Hello there, my ", 2, may_append=False)
    assert found == [ASKED, said("As I said: Hello there, my")]
    assert before[1] == said("As I said:\nHello there,")


def test_what_was_not_written_is_added() -> None:
    assert with_heard([ASKED], SENT, "Hello ", 0, may_append=True) == [ASKED, said("Hello")]
    assert with_heard([], SENT, "Hello ", 0, may_append=True) == [said("Hello")]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [ASKED],
        [ASKED, said("Something else")],
        [ASKED, {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}],
        [ASKED, {"role": "tool", "content": "Hello"}],
        [object()],
    ],
)
def test_what_is_not_understood_is_left_alone(messages: list[Any]) -> None:
    assert with_heard(messages, SENT, "Hello ", 3, may_append=False) == messages


def test_nothing_heard_adds_nothing() -> None:
    assert with_heard([ASKED], SENT, "", 0, may_append=True) == [ASKED]


def test_an_older_turn_is_not_taken_for_this_one() -> None:
    before = [ASKED, said("I say Hello")]
    assert with_heard(before, SENT, "", 0, may_append=True) == before
