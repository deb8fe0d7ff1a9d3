"""What one would say of an LLM's raw text."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.text.rewriting import Hold, TracedText
from gateway.text.speakable import SegmentWriter
from gateway.text.tags import KEPT_TAGS


def say(raw: str, *, at_line_start: bool = True, **options: bool) -> str:
    return SegmentWriter(**options).speak(raw, at_line_start=at_line_start).text


MARKDOWN = {
    "# Title #": "Title",
    "## **Bold** C#": "Bold C#",
    "- item": "item",
    "* [ ] todo": "todo",
    "+ [x] done": "done",
    "• bullet": "bullet",
    "1. first": "1. first",
    "8) eighth": "8) eighth",
    "> > quoted": "quoted",
    "| a | b |": "a, b",
    "|---|:--:|": "",
    "***": "",
    "====": "",
    "**bold**, *it*, ***both***, __u__, _i_": "bold, it, both, u, i",
    "half **bold and": "half bold and",
    "2 * 3 is 6": "2 * 3 is 6",
    "a*b": "a*b",
    "snake_case_name": "snake case name",
    "~~gone~~ ==marked==": "gone marked",
    "use `x.y()` now": "use x.y() now",
    "```python": "",
    "Here: ```js": "Here:",
    '[text](https://x.com/a_b "t") yes': "text yes",
    "![alt](a.png) yes": "alt yes",
    "see [docs][1] now": "see docs now",
    "[1]: https://x.com": "",
    "fact.[1] and[^2] more[^note]": "fact. and more",
    "\\*not bold\\*": "not bold",
    'He said *"hi"*.': 'He said "hi".',
    "<b>bold</b><br/> text": "bold, text",
    "AT&amp;T &lt; 5": "AT&T < 5",
    "a < b and c > d": "a < b and c > d",
}

ADDRESSES = {
    "http://www.example.com.": "example.com.",
    "see https://example.com/docs/intro?x=1#a, ok": "see example.com/docs/intro, ok",
    "(see https://example.com/a_b(c))": "(see example.com)",
    "https://user:pw@example.com:8080/x": "example.com/x",
    "www.foo.org/some/very/long/path.html": "foo.org",
    "<https://example.com>": "example.com",
    "**https://example.com**": "example.com",
    "bob@example.com is me": "bob@example.com is me",
    "请看https://example.com/x。谢谢": "请看example.com/x。谢谢",
    "https://...": "",
}

EMOJI = {
    "Hi 👋 there 👩‍👩‍👧‍👦!": "Hi there!",
    "flag 🇩🇪 and 1️⃣ key": "flag and 1 key",
    "❤️ love ✅ done": "love done",
    "© 2024 Foo™": "© 2024 Foo™",
    "Hi :) ok ;-) <3 xD": "Hi ok",
    "at 10:30 :/": "at 10:30",
    "a -> b → c": "a, b, c",
    "\u0000nul\u200b": "nul",
    "می\u200cخواهم": "می\u200cخواهم",
}

TAGS = {
    "[laughing] ha [whispers softly] ok": "[laughing] ha [whispers softly] ok",
    "**[laughing]** ha": "[laughing] ha",
    "[very_odd *tag* :)] ha": "[very_odd *tag* :)] ha",
    "<|speaker:0|> hi **x**": "<|speaker:0|> hi x",
    "a <break time='1s'/> b": "a b",
}

WORDLESS = ["", "  ", "---", "...", "🎉", "?!", "\n\n", "“”", "<|speaker:1|>", "**", ":-)", "+"]


@pytest.mark.parametrize(("raw", "spoken"), [*MARKDOWN.items()])
def test_markdown(raw: str, spoken: str) -> None:
    assert say(raw) == spoken


@pytest.mark.parametrize(("raw", "spoken"), [*ADDRESSES.items(), *EMOJI.items(), *TAGS.items()])
def test_addresses_emoji_and_tags(raw: str, spoken: str) -> None:
    assert say(raw, at_line_start=False) == spoken


@pytest.mark.parametrize("raw", WORDLESS)
def test_a_wordless_text_is_silent(raw: str) -> None:
    assert say(raw) == ""


def test_without_the_option_only_breaks_go() -> None:
    raw = "**a** 🎉 https://x.com <break/> [b]"
    assert say(raw, speakable=False) == "**a** 🎉 https://x.com   [b]"
    assert say(" ... ", speakable=False) == ""


def test_line_marks_count_only_at_a_line_start() -> None:
    assert say("- not a bullet", at_line_start=False) == "- not a bullet"
    assert say("one\n- two", at_line_start=False) == "one two"


def test_a_speaker_is_remembered_through_silence() -> None:
    speaker = SegmentWriter()
    said = [
        speaker.speak(raw, at_line_start=False).text
        for raw in ("none yet", "<|speaker:2|> ", "hello", "[sighs] so", "<|speaker:0|>bye")
    ]
    assert said == [
        "none yet",
        "",
        "<|speaker:2|>hello",
        "<|speaker:2|>[sighs] so",
        "<|speaker:0|>bye",
    ]


def test_a_style_stands_in_every_segment_behind_the_speaker() -> None:
    writer = SegmentWriter(style="whispering")
    said = [
        writer.speak(raw, at_line_start=False).text
        for raw in ("Hello.", " ... ", "[sighs] So", "<|speaker:2|>yes", "**No** 1")
    ]
    assert said == [
        "[whispering] Hello.",
        "",
        "[whispering] [sighs] So",
        "<|speaker:2|>[whispering] yes",
        "<|speaker:2|>[whispering] No 1",
    ]


def test_a_style_moves_no_position() -> None:
    plain = SegmentWriter().speak("One *two* three.", at_line_start=False)
    styled = SegmentWriter(style="sad").speak("One *two* three.", at_line_start=False)
    assert styled.text == f"[sad] {plain.text}"
    assert styled.origins[6:] == plain.origins and set(styled.origins[:6]) == {0}


PIECES = [*"ab *_~`#|[]()<>!.:/-=\\&;\n\"'1 😀é\u0301", "http://", "www.a.b", "[x](y)", "[tag]"]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_text_is_handled_and_tags_survive(raw: str, at_line_start: bool) -> None:
    spoken = SegmentWriter().speak(raw, at_line_start=at_line_start)
    assert len(spoken.origins) == len(spoken.text)
    assert spoken.origins == sorted(spoken.origins)
    if spoken.text:
        assert all(tag in spoken.text for tag in KEPT_TAGS.findall(raw))


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_plain_words_keep_their_place(raw: str) -> None:
    spoken = SegmentWriter().speak(raw, at_line_start=False)
    for index, char in enumerate(spoken.text):
        if char.isalpha():
            assert spoken.origins[index] < len(raw)


def test_replacing_keeps_track_of_origins() -> None:
    spoken = TracedText("one 22 three")
    spoken.sub(regex.compile("22"), "twenty-two")
    assert spoken.text == "one twenty-two three"
    assert spoken.breakpoints() == ((0, 0), (14, 6))
    spoken.sub(regex.compile("e t(?P<keep>w)e"), "w")
    assert (spoken.text, spoken.origins[2:4]) == ("onwnty-two three", [4, 4])
    spoken.sub(regex.compile("three"), "3", hold=Hold.SAID)
    spoken.sub(regex.compile("3"), "4")
    assert spoken.text.endswith("3")
