"""Text -> token ids, in two separate ways: trusted scaffold and untrusted text.

The scaffold pieces of a prompt (`<|im_start|>user` and the like) are the engine's own, and there
the special tokens are parsed. A user's text never is: it goes through a second tokenizer that
shares the model (vocabulary and merges, one copy in memory) and knows no added token at all, so
`<|im_end|>` or `<|semantic:5|>` in a text become the ordinary byte-level tokens of their
characters. Nothing has to be escaped, and no spelling can slip through. `<|speaker:0|>` is
ordinary text in this model anyway.

Another way to read text (phones, say) is another implementation of `TextTokenizer`, entered in
`engine.text.registry`. Imports neither torch nor SGLang.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Protocol

from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from engine.checkpoint.config_json import LanguageModelConfig
from engine.checkpoint.folder import Checkpoint
from engine.errors import CheckpointError, TextError

IM_START, IM_END, VOICE = "<|im_start|>", "<|im_end|>", "<|voice|>"
PAD, AUDIO_PAD = "<|pad|>", "<|audio_pad|>"
# Holds a composed and a decomposed letter, two scripts, an astral character and both line ends.
_PROBE = "Hi, d\u00e9ja\u0300 vu \u4f60\u597d \U0001f600\r\n\t 42"

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids that steer the model. `semantic_start + code` stands for a code of codebook 0."""

    im_start: int
    im_end: int
    voice: int
    pad: int
    audio_pad: int
    semantic_start: int
    semantic_end: int


class TextTokenizer(Protocol):
    """What the prompt builder needs of a text frontend."""

    @property
    def special(self) -> SpecialTokens:
        """The ids of the control tokens."""
        ...

    @property
    def num_tokens(self) -> int:
        """Legal ids are 0..num_tokens-1; later rows of the embedding are padding."""
        ...

    @property
    def speaks_tags(self) -> bool:
        """A text that is only a free-form tag can be said."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes of the languages it reads; none: any."""
        ...

    def encode(self, text: str) -> list[int]:
        """Untrusted text -> ids, never a control token. Raises TextError."""
        ...

    def encode_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """As `encode`, and for each id the characters [start, end) of `text` it stands for.

        Raises UnspeakableError, which is a TextError, where nothing of the text can be said.
        """
        ...

    def encode_scaffold(self, piece: str) -> tuple[int, ...]:
        """A piece of the engine's own scaffold -> ids; special tokens are parsed. Cached."""
        ...


class BpeTokenizer:
    """The byte-level BPE of `tokenizer.json` (NFC, Qwen's split expression, no BOS or EOS).

    Lone surrogates raise TextError, since no UTF-8 text can hold them. NUL, which no one can
    pronounce and some clients use as padding, is read as a space.
    """

    def __init__(self, full: Tokenizer, config: LanguageModelConfig) -> None:
        """`full`: the tokenizer with its added tokens. Raises CheckpointError where they disagree.

        `config` gives the ids that the checkpoint's weights were trained with.
        """
        full.no_truncation()
        full.no_padding()
        self._full = full
        self._text = Tokenizer(full.model)
        if full.normalizer is not None:
            self._text.normalizer = full.normalizer
        if full.pre_tokenizer is not None:
            self._text.pre_tokenizer = full.pre_tokenizer
        if full.decoder is not None:
            self._text.decoder = full.decoder
        self._special = check_special(full, config)
        added = full.get_added_tokens_decoder()
        self._control = frozenset(added) | frozenset(
            range(config.semantic_start_token_id, config.semantic_end_token_id + 1)
        )
        self._num_tokens = 1 + max(full.get_vocab(with_added_tokens=True).values())
        if self._num_tokens > config.text_config.vocab_size:
            raise CheckpointError(
                f"tokenizer: expected ids below {config.text_config.vocab_size} "
                f"(text_config.vocab_size), got {self._num_tokens - 1}"
            )
        self._check_lossless()
        self._scaffold: dict[str, tuple[int, ...]] = {}

    @property
    def special(self) -> SpecialTokens:
        """The ids of the control tokens."""
        return self._special

    @property
    def num_tokens(self) -> int:
        """Greatest id plus one (155774 in S2-Pro, whose embedding has 155776 rows)."""
        return self._num_tokens

    @property
    def speaks_tags(self) -> bool:
        """Its model makes what a tag says."""
        return True

    @property
    def languages(self) -> tuple[str, ...]:
        """Nobody has listed what its model reads."""
        return ()

    def encode(self, text: str) -> list[int]:
        """Untrusted text -> ids, never a control token. Raises TextError on lone surrogates."""
        return self.encode_spans(text)[0]

    def encode_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """As `encode`, and for each id the characters [start, end) of `text` it stands for.

        The ids of a character that takes several tokens carry the same span.
        """
        encoding = self._text.encode(_readable(text), add_special_tokens=False)
        ids: list[int] = encoding.ids
        if not self._control.isdisjoint(ids):
            # Only a vocabulary that spells control tokens out as words can come here.
            found = sorted(self._control.intersection(ids))
            raise TextError(f"expected text without control tokens, got ids {found[:8]}")
        return ids, encoding.offsets

    def encode_scaffold(self, piece: str) -> tuple[int, ...]:
        """A piece of the engine's own scaffold -> ids; special tokens are parsed. Cached."""
        ids = self._scaffold.get(piece)
        if ids is None:
            ids = tuple(self._full.encode(piece, add_special_tokens=False).ids)
            self._scaffold[piece] = ids
        return ids

    def _check_lossless(self) -> None:
        """A vocabulary without some byte, or another kind of model, would lose text in silence."""
        missing = [c for c in ByteLevel.alphabet() if self._text.token_to_id(c) is None]
        if missing:
            raise CheckpointError(
                f"tokenizer: expected a token for each of the 256 bytes, got none for "
                f"{len(missing)} of the byte-level alphabet: {''.join(sorted(missing)[:16])}"
            )
        expected = unicodedata.normalize("NFC", _PROBE)
        got = self._text.decode(self.encode(_PROBE), skip_special_tokens=False)
        if got != expected:
            raise CheckpointError(
                f"tokenizer: expected a byte-level BPE that keeps {expected!r}, got {got!r}"
            )


def _readable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextError(
            f"expected Unicode text, got a lone surrogate U+{ord(text[error.start]):04X} "
            f"at character {error.start}"
        ) from error
    return text.replace("\0", " ")


def check_special(full: Tokenizer, config: LanguageModelConfig) -> SpecialTokens:
    """The control tokens' ids, which must be those of the configuration. Raises CheckpointError."""
    start, end = config.semantic_start_token_id, config.semantic_end_token_id
    expected: dict[str, int | None] = {
        IM_START: None,
        VOICE: None,
        IM_END: config.eos_token_id,
        PAD: config.pad_token_id,
        AUDIO_PAD: config.audio_pad_token_id,
    }
    expected |= {f"<|semantic:{code}|>": start + code for code in range(config.num_semantic)}
    ids = {}
    for token, token_id in expected.items():
        got = full.token_to_id(token)
        if got is None or (token_id is not None and got != token_id):
            wanted = "in the vocabulary" if token_id is None else f"as id {token_id} (config.json)"
            raise CheckpointError(f"tokenizer: expected {token} {wanted}, got {got}")
        ids[token] = got
    return SpecialTokens(
        ids[IM_START], ids[IM_END], ids[VOICE], ids[PAD], ids[AUDIO_PAD], start, end
    )


def read_definition(checkpoint: Checkpoint) -> Tokenizer:
    """Read `tokenizer.json`. Raises CheckpointError."""
    path = checkpoint.tokenizer_path
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise CheckpointError(f"{path}: expected a tokenizer definition, got: {error}") from error


def load_bpe(checkpoint: Checkpoint) -> BpeTokenizer:
    """The BPE of a checkpoint's `tokenizer.json`. Raises CheckpointError."""
    return BpeTokenizer(read_definition(checkpoint), checkpoint.config)
