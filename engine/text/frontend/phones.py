"""The phone inventory of the built-in voice, and how a phoneme string becomes tokens.

The alphabet is misaki's for American English (one character a phone; capital letters are
diphthongs: A as in day, I as in my, O as in no, W as in now, Y as in boy; T is the flap of
"better"; ᵊ the vowel before a syllabic l or n, ᵻ the reduced vowel of "roses"). A stress mark
stands before its vowel and is folded into it, so a token is a sound: "həlˈO" -> h ə l ˈO.
"""

from __future__ import annotations

CONSONANTS = tuple("bdfhjklmnpstvwzðŋɡɹʃʒʤʧθT")
VOWELS = tuple("AIOWYiuæɑɔəɛɜɪʊʌᵊᵻ")
PRIMARY, SECONDARY = "ˈ", "ˌ"
STRESSES = (PRIMARY, SECONDARY)
PUNCTUATION = tuple(",.!?;:—…")
SPACE = "_"  # a word boundary; the character itself cannot be told apart in a list of tokens
PAUSE = "[pause]"
STYLES = ("[fast]", "[slow]", "[loud]", "[whisper]")
# Spellings of the same sound in the lexicon that the voice does not tell apart.
_SAME = {"ɐ": "ə", "ɾ": "T", "ʔ": "t", "g": "ɡ", "r": "ɹ"}

PHONE_TOKENS: tuple[str, ...] = (
    *CONSONANTS,
    *(stress + vowel for vowel in VOWELS for stress in ("", *STRESSES)),
    SPACE,
    *PUNCTUATION,
)
TAG_TOKENS: tuple[str, ...] = (PAUSE, *STYLES)
# What one semantic code may stand for: a phone without its stress, a boundary, or silence.
ANCHORS: tuple[str, ...] = (*CONSONANTS, *VOWELS, SPACE, "silence")
_ANCHOR_OF = {
    **{phone: index for index, phone in enumerate(ANCHORS)},
    **{mark: len(ANCHORS) - 1 for mark in PUNCTUATION},
    PAUSE: len(ANCHORS) - 1,
}


def anchor(token: str) -> int:
    """Index into ANCHORS of the sound that a phone token makes."""
    return _ANCHOR_OF[token.lstrip("ˈˌ")]


def parse(phonemes: str) -> tuple[list[str], list[int]]:
    """Phoneme string -> phone tokens, and for each character the index of its token (-1: dropped).

    A stress mark joins the next vowel. Characters outside the inventory are dropped.
    """
    tokens: list[str] = []
    owner: list[int] = []
    stress = ""
    for character in phonemes:
        symbol = _SAME.get(character, character)
        if symbol in STRESSES:
            stress = symbol
            owner.append(len(tokens))
            continue
        if symbol in VOWELS:
            symbol, stress = stress + symbol, ""
        elif symbol.isspace():
            symbol = SPACE
        elif symbol not in CONSONANTS and symbol not in PUNCTUATION:
            owner.append(-1)
            continue
        owner.append(len(tokens))
        tokens.append(symbol)
    return tokens, [index if index < len(tokens) else -1 for index in owner]
