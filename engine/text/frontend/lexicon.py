"""Words -> phonemes: dictionary, inflections, compounds, letter names, rules; in this order."""

from __future__ import annotations

import lzma
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from engine.text.frontend.phones import PRIMARY, SECONDARY, VOWELS
from engine.text.frontend.rules import pronounce

_VOICELESS, _SIBILANTS = "ptkfθ", "szʃʒʧʤ"
# Readings that the dictionary lacks or that fit running speech better than a citation.
_OWN = {
    "a": "ə",
    "an": "ən",
    "am": "əm",
    "i": "ˌI",
    "the": "ðə",
    "to": "tə",
    "miz": "mˈɪz",
    "oh": "ˈO",
    "used": "jˈuzd",
    "o'clock": "əklˈɑk",
    "okay": "ˌOkˈA",
    "ok": "ˌOkˈA",
    "wifi": "wˈIfˌI",
    "iphone": "ˈIfˌOn",
    "cetera": "sˈɛTəɹə",
    "etc": "ɛtsˈɛTəɹə",
}
_LETTER_NAMES = (
    "ˈA bˈi sˈi dˈi ˈi ˈɛf ʤˈi ˈAʧ ˈI ʤˈA kˈA ˈɛl ˈɛm ˈɛn ˈO pˈi kjˈu ˈɑɹ ˈɛs tˈi jˈu vˈi dˈʌbᵊlju "
    "ˈɛks wˈI zˈi"
).split()
_LETTERS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _LETTER_NAMES, strict=True))


def spell(letters: str) -> str:
    """Letter names, the last one stressed: USA -> jˌuˌɛsˈA."""
    names = [
        _LETTERS[letter]
        for letter in letters.upper()
        if letter in _LETTERS or letter.upper() in _LETTERS
    ]
    return "".join([name.replace(PRIMARY, SECONDARY) for name in names[:-1]] + names[-1:])


def plural(stem: str) -> str:
    """Phonemes of a stem with -s."""
    if stem[-1] in _SIBILANTS:
        return stem + "ᵻz"
    return stem + ("s" if stem[-1] in _VOICELESS else "z")


def past(stem: str) -> str:
    """Phonemes of a stem with -ed."""
    if stem[-1] in "td":
        flap = stem[-1] == "t" and len(stem) > 1 and stem[-2] in VOWELS
        return (stem[:-1] + "T" if flap else stem) + "ᵻd"
    return stem + ("t" if stem[-1] in _VOICELESS + "sʃʧ" else "d")


def continuing(stem: str) -> str:
    """Phonemes of a stem with -ing."""
    flap = stem[-1] == "t" and len(stem) > 1 and stem[-2] in VOWELS
    return (stem[:-1] + "T" if flap else stem) + "ɪŋ"


# (ending, what it replaced, how it sounds)
_ENDINGS: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("ies", "y", plural),
    ("es", "", plural),
    ("s", "", plural),
    ("ied", "y", past),
    ("ed", "", past),
    ("ed", "e", past),
    ("ing", "", continuing),
    ("ing", "e", continuing),
)


class Lexicon:
    """Phonemes for any word in Latin letters. Loading takes some tenths of a second."""

    def __init__(self, text: str) -> None:
        """`text`: one "word phonemes" a line."""
        self._words = dict(line.split(" ", 1) for line in text.splitlines())

    def get(self, word: str) -> str | None:
        """The dictionary's reading of a word as it stands, in lower case, or capitalised."""
        own = _OWN.get(word.lower())
        return (
            own
            or self._words.get(word)
            or self._words.get(word.lower())
            or self._words.get(word.capitalize())
        )

    def as_part(self, word: str, part: str) -> str | None:
        """The reading of a word as a "verb" or a "noun", where it differs from the usual one."""
        return self._words.get(f"{word.lower()}|{part}")

    def __call__(self, word: str) -> str:
        """Phonemes of a word; "" where there is no Latin letter in it."""
        word = plain_letters(word)
        letters = "".join(
            character for character in word if character.isascii() and character.isalpha()
        )
        if not letters:
            return ""
        if len(letters) == 1:
            return self._single(letters)
        found = self.get(word)
        if (
            word.isupper()
            and len(word) > 1
            and (found is None or word not in self._words and self._is_code(word))
        ):
            return spell(letters)
        return (
            found
            or self._inflected(word)
            or self._inflected(letters)
            or self._compound(letters)
            or self._unknown(letters)
        )

    @staticmethod
    def _single(letter: str) -> str:
        if letter in ("a", "I"):
            return _OWN[letter.lower()]
        return _LETTERS[letter.upper()]

    @staticmethod
    def _is_code(word: str) -> bool:
        return len(word) < 6 and not any(letter in "AEIOUY" for letter in word)

    def _inflected(self, word: str) -> str | None:
        word = word.lower()
        if word.endswith(("'s", "s'")):
            stem = self.get(word[:-2]) or (self(word[:-2]) if len(word) > 3 else None)
            return plural(stem) if stem else None
        for ending, restored, build in _ENDINGS:
            stem_letters = word.removesuffix(ending)
            if stem_letters == word or len(stem_letters) < 2:
                continue
            stem = self.get(stem_letters + restored)
            if stem is None and ending in ("ed", "ing") and stem_letters[-1] == stem_letters[-2:-1]:
                stem = self.get(stem_letters[:-1])  # stopped, running
            if stem is not None:
                return build(stem)
        return None

    def _compound(self, word: str) -> str | None:
        word = word.lower()
        for cut in range(len(word) - 3, 2, -1):
            first, second = (
                self._words.get(word[:cut]),
                self._words.get(word[cut:]) or self._inflected(word[cut:]),
            )
            if first and second:
                return first + second.replace(PRIMARY, SECONDARY)
        return None

    @staticmethod
    def _unknown(letters: str) -> str:
        if len(letters) < 5 and not any(letter in "aeiouy" for letter in letters.lower()):
            return spell(letters)
        return pronounce(letters.lower())


def plain_letters(word: str) -> str:
    """A word in the 26 letters where accents can be taken off: café -> cafe."""
    folded = (
        word.replace("ß", "ss")
        .replace("æ", "ae")
        .replace("ø", "o")
        .replace("œ", "oe")
        .replace("ł", "l")
    )
    return "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))


@cache
def load_lexicon() -> Lexicon:
    """The lexicon in the package (from misaki's, Apache-2.0; see build_lexicon)."""
    data = files("engine.text.frontend").joinpath("data", "lexicon.txt.xz").read_bytes()
    return Lexicon(lzma.decompress(data).decode())
