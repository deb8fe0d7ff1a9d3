"""Where the model wants words it gets words, unless the client decides otherwise."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from gateway.server.app import build_reader
from gateway.text.segment import segmenter_for
from gateway.types import Configure, SettingsPatch
from tests.gateway.fake_parts import FACTS, PCM
from tests.gateway.fakes import FakeEngine, Harness
from tests.gateway.talk import speak


def harness(wants_words: bool) -> Harness:
    h = Harness(
        FakeEngine(facts=replace(FACTS, wants_words=wants_words)),
        segmenter_factory=partial(segmenter_for, read=build_reader()),
    )
    h.do(Configure(None, SettingsPatch(format=PCM)))
    return h


@pytest.mark.parametrize(
    ("wants_words", "said"), [(True, "It is five dollars."), (False, "It is $5.")]
)
def test_the_model_decides(wants_words: bool, said: str) -> None:
    h = harness(wants_words)
    speak(h, "It is $5.")
    h.run()
    assert [submit.text for submit in h.engine.submitted] == [said]


@pytest.mark.parametrize("normalize", [True, False])
def test_the_client_may_decide_otherwise(normalize: bool) -> None:
    h = harness(not normalize)
    h.do(Configure(None, SettingsPatch(normalize=normalize)))
    speak(h, "It is $5.")
    h.run()
    assert h.engine.submitted[0].text == ("It is five dollars." if normalize else "It is $5.")
