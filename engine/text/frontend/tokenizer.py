"""The built-in voice's `TextTokenizer`: a text goes through the reader, scaffold through
tokenizer.json.
"""

from __future__ import annotations

from tokenizers import Tokenizer

from engine.checkpoint.config_json import LanguageModelConfig
from engine.checkpoint.folder import Checkpoint
from engine.errors import CheckpointError, TextError, UnspeakableError
from engine.text.frontend.phones import PHONE_TOKENS
from engine.text.frontend.reader import Reader
from engine.text.frontend.scripts import foreign_letters
from engine.text.tokenizer import Span, SpecialTokens, check_special, read_definition
from engine.worker_config import ForeignText

_SOUNDS = frozenset(token for token in PHONE_TOKENS if token.isalpha() or token[0] in "ˈˌ")


class PhoneTokenizer:
    """Reads English; other scripts as their Latin spelling, or, if told so, not at all.

    A text in which nothing is left to say raises UnspeakableError, so that silence is never sold
    as speech.
    """

    def __init__(
        self,
        full: Tokenizer,
        config: LanguageModelConfig,
        reader: Reader | None = None,
        foreign_text: ForeignText = "transliterate",
    ) -> None:
        """Raises CheckpointError where tokenizer, configuration and phone inventory disagree."""
        self._refuses_foreign = foreign_text == "refuse"
        full.no_truncation()
        full.no_padding()
        self._full = full
        self._special = check_special(full, config)
        self._ids: dict[str, int] = full.get_vocab(with_added_tokens=True)
        self._num_tokens = 1 + max(self._ids.values())
        missing = [token for token in PHONE_TOKENS if token not in self._ids]
        if missing:
            raise CheckpointError(
                f"tokenizer: expected every phone of the front end, {missing} are missing"
            )
        if self._num_tokens > config.text_config.vocab_size:
            raise CheckpointError(
                f"tokenizer: expected ids below {config.text_config.vocab_size} "
                f"(text_config.vocab_size), got {self._num_tokens - 1}"
            )
        self._reader = reader or Reader()
        self._scaffold: dict[str, tuple[int, ...]] = {}

    @property
    def special(self) -> SpecialTokens:
        """The ids of the control tokens."""
        return self._special

    @property
    def num_tokens(self) -> int:
        """Greatest id plus one."""
        return self._num_tokens

    @property
    def speaks_tags(self) -> bool:
        """A tag colours the words behind it, or is left out."""
        return False

    @property
    def languages(self) -> tuple[str, ...]:
        """Of the reader; whatever else comes is read as if it were that."""
        return ("en",)

    def encode(self, text: str) -> list[int]:
        """Untrusted text -> ids, never a control token. Raises TextError."""
        return self.encode_spans(text)[0]

    def encode_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """As `encode`, and for each id the characters [start, end) of `text` it stands for.

        Raises UnspeakableError where nothing can be said.
        """
        if self._refuses_foreign and (foreign := foreign_letters(text)):
            raise TextError(f"expected text in Latin letters, got {foreign!r}")
        tokens, spans = self._reader(text)
        if not any(token in _SOUNDS for token in tokens):
            raise UnspeakableError(f"expected English words to speak, found none in {text[:60]!r}")
        known = [
            (self._ids[token], span)
            for token, span in zip(tokens, spans, strict=True)
            if token in self._ids
        ]
        return [token_id for token_id, _ in known], [span for _, span in known]

    def encode_scaffold(self, piece: str) -> tuple[int, ...]:
        """A piece of the engine's own scaffold -> ids; special tokens are parsed. Cached."""
        ids = self._scaffold.get(piece)
        if ids is None:
            ids = tuple(self._full.encode(piece, add_special_tokens=False).ids)
            self._scaffold[piece] = ids
        return ids


def load_phones(checkpoint: Checkpoint, foreign_text: ForeignText) -> PhoneTokenizer:
    """Read `tokenizer.json` and the lexicon. Raises CheckpointError."""
    full = read_definition(checkpoint)
    return PhoneTokenizer(full, checkpoint.config, foreign_text=foreign_text)
