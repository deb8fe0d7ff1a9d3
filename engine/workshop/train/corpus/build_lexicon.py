"""Build data/lexicon.txt.xz from misaki's American English dictionaries (Apache-2.0).

    python -m engine.workshop.train.corpus.build_lexicon FOLDER

FOLDER holds us_gold.json and us_silver.json of misaki 0.9.4.

One line a word, "word phonemes", in the alphabet of engine.text.frontend.phones. Where a verb or a
noun is read otherwise (to live, a record), "word|verb phonemes" or "word|noun phonemes" follows.
Capitalised forms go where the lower-case form says the same.
"""

from __future__ import annotations

import json
import lzma
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from engine.text.frontend.phones import parse


def reading(entry: Any) -> str | None:
    """The default reading of a dictionary entry."""
    value = entry.get("DEFAULT") if isinstance(entry, dict) else entry
    return value if isinstance(value, str) else None


def variants(entry: Any) -> dict[str, str]:
    """Readings as a verb and as a noun, where they differ from the default one."""
    if not isinstance(entry, dict):
        return {}
    found = {"verb": entry.get("VERB") or entry.get("VB"), "noun": entry.get("NOUN")}
    return {name: value for name, value in found.items() if value and value != entry.get("DEFAULT")}


def build(folder: Path) -> dict[str, str]:
    """Both dictionaries merged; gold wins."""
    words: dict[str, str] = {}
    for name in ("us_silver.json", "us_gold.json"):
        for word, entry in json.loads((folder / name).read_text("utf-8")).items():
            phonemes = reading(entry)
            if phonemes and word.replace("'", "").isalpha():
                words[word] = "".join(parse(phonemes)[0])
                for name, other in variants(entry).items():
                    words[f"{word}|{name}"] = "".join(parse(other)[0])
    return {
        word: phonemes
        for word, phonemes in words.items()
        if word == word.lower() or words.get(word.lower()) != phonemes
    }


def main() -> None:
    """Write the data file."""
    words = build(Path(sys.argv[1]))
    text = "".join(f"{word} {phonemes}\n" for word, phonemes in sorted(words.items()))
    target = Path(str(files("engine.text.frontend"))) / "data" / "lexicon.txt.xz"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(lzma.compress(text.encode(), preset=9))
    print(f"{len(words)} words, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
