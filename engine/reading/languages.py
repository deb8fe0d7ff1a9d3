"""The languages that can be read, each loaded when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from engine.reading.scan import scan
from engine.reading.types import Language, Reading

LANGUAGES = {
    "en": "engine.reading.english",
    "de": "engine.reading.german",
    "fr": "engine.reading.french",
    "es": "engine.reading.spanish",
}
"""ISO 639-1 code -> the module that holds its `LANGUAGE`. Of others only numbers are read."""


def read(text: str, language: str = "en", kept: Sequence[tuple[int, int]] = ()) -> Reading:
    """What is said of a text.

    `language`: ISO 639-1, of which a region is ignored ("en-GB"). `kept`: stretches [start, end)
    of `text`, in order and apart, that come back unread (tags, respellings). Raises LookupError
    for a language of which not even the numbers are known.
    """
    return scan(text, load(language.replace("_", "-").partition("-")[0].lower()), kept)


@cache
def load(code: str) -> Language:
    """The rules of a language. Raises LookupError."""
    if code not in LANGUAGES:
        from engine.reading import others  # brings number words of forty languages along

        return others.language(code)
    found = import_module(LANGUAGES[code]).LANGUAGE
    assert isinstance(found, Language)
    return found
