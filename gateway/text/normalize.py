"""Figures and short forms to words, for models that want words: a reader's work, put into a text.

What the reader says as it stands keeps its characters, marks and spaces; only what is said
otherwise is replaced.
"""

from __future__ import annotations

from itertools import groupby

from gateway.text.rewriting import Hold, TracedText
from gateway.types import Read


def normalize(spoken: TracedText, read: Read, language: str) -> None:
    """Rewrite in place. A language that the reader does not know is left as it is."""
    text = spoken.text
    try:
        words = read(text, language, spoken.said_spans())
    except LookupError:
        return
    done, changed = 0, False  # up to where the text is settled, and whether by a replacement
    edits: list[tuple[int, int, str]] = []
    for (start, end), group in groupby(words, key=lambda word: (word.start, word.end)):
        said = " ".join(word.text for word in group)
        differs = said != text[start:end].replace("’", "'")
        gap = text[done:start]
        if (differs or changed) and done and not any(char.isspace() for char in gap):
            if differs and changed or not gap:
                edits.append((done, start, " "))  # signs inside a figure: 555-0199
        if differs:
            edits.append((start, end, said))
        done, changed = end, differs
    spoken.replace(edits, Hold.SAID)
