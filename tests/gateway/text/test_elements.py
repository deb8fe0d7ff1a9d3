"""HTML, SSML and other things in angle brackets."""

from __future__ import annotations

import pytest

from gateway.text.speakable import SegmentWriter


def say(raw: str, **options: bool) -> str:
    return SegmentWriter(**options).speak(raw, at_line_start=True).text


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("first<br>second", "first, second"),
        ("<p>One.</p><p>Two.</p>", "One. Two."),
        ("a <b>bold</b> <i class='x'>word</i>", "a bold word"),
        ("<speak>Hi <prosody rate='slow'>there</prosody></speak>", "Hi there"),
        ("Press <Enter>.", "Press Enter."),
        ("a List<String> here", "a List String here"),
        ("Hello <name>, hi", "Hello name, hi"),
        ("the <title> tag", "the title tag"),
        ("<title>Home</title>", "Home"),
        ('<input type="text"> ok', "ok"),
        ("x <!-- no --> y", "x y"),
        ('<say-as interpret-as="characters">abc1</say-as>', "A B C 1"),
        ('<say-as interpret-as="cardinal">1984</say-as>', "1,984"),
        ('<say-as interpret-as="ordinal">12</say-as>', "12th"),
        ('<say-as interpret-as="date">1/2/2024</say-as>', "1/2/2024"),
        ("<spell>a1-b</spell>", "A 1 - B"),
        ('<sub alias="World Wide Web">WWW</sub> is', "World Wide Web is"),
        ('<emphasis level="strong">now</emphasis>', "[emphasis] now"),
        ('<emphasis level="reduced">now</emphasis>', "now"),
        ("5 < 10 and b>a", "5 < 10 and b>a"),
        ("a [pause:1s] b [pause 300ms] c", "a b c"),
    ],
)
def test_known_ones_are_silent_and_others_spoken(raw: str, said: str) -> None:
    assert say(raw) == said


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("$$E = mc^2$$", "E = mc^2"),
        ("so $x_1 + y$ is", "so x 1 + y is"),
        ("pay $5 and $10", "pay $5 and $10"),
        ("\\(x + 1\\)", "x + 1"),
        ("hello👍world", "hello world"),
        ("won`t", "won't"),
        ("word² and proof.³", "word and proof."),
        ("x² stays", "x² stays"),
        ("- 5 degrees", "- 5 degrees"),
        ("- 5 eggs", "5 eggs"),
        ("a\x96b \x93q\x94", "a–b “q”"),
    ],
)
def test_signs(raw: str, said: str) -> None:
    assert say(raw) == said


def test_stage_directions_are_an_option() -> None:
    raw = "*waves* Hi (laughs) there, **you** 2*3*4 [x](y)."
    assert say(raw, speak_directions=False) == "Hi there, you 2*3*4 x."
    assert say(raw) == "waves Hi (laughs) there, you 2*3*4 x."
