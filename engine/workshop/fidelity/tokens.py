"""The tokenizer's part of the gate: equality with transformers, string by string."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.checkpoint.folder import Checkpoint
from engine.text.prompt import ASSISTANT, CLONE, END, SPEAK, SPEECH, SYSTEM, USER
from engine.text.registry import load_tokenizer
from engine.workshop.fidelity.strings import fuzzed_strings

Ids = list[int]


@dataclass(frozen=True, slots=True)
class TokenizerReport:
    """`mismatches`: each as a short line, for a log."""

    strings: int
    mismatches: tuple[str, ...]


def compare_tokenizers(checkpoint: Checkpoint, count: int) -> TokenizerReport:
    """`count` fuzzed strings as users' text, and the scaffold's pieces.

    Users' text must get the ids of transformers' fast tokenizer *without added tokens*, however
    control tokens are spelt in it, and where none is, those of the whole tokenizer too; scaffold
    pieces those of the whole one. Only for the frontend "bpe".
    """
    from transformers import PreTrainedTokenizerFast

    ours = load_tokenizer(checkpoint)
    whole: Any = PreTrainedTokenizerFast.from_pretrained(checkpoint.path)
    added = [str(token) for token in whole.get_added_vocab()]
    mismatches = []
    for piece in (SYSTEM, SPEAK, END, USER, ASSISTANT, CLONE, SPEECH):
        mismatches += _differ(piece, list(ours.encode_scaffold(piece)), _encoder(whole)(piece))
    bare = _encoder(_without_added_tokens(checkpoint.tokenizer_path))
    strings = fuzzed_strings(count, added)
    # a few hundred control tokens in a text would otherwise be searched for 4,000 times a string
    steering = tuple(token for token in added if not token.startswith("<|semantic:")) + (
        "<|semantic:",
    )
    for text in strings:
        # the one character that the engine reads otherwise (engine.text.tokenizer)
        readable = text.replace("\0", " ")
        ids = ours.encode(text)
        mismatches += _differ(text, ids, bare(readable))
        if not any(token in readable for token in steering):
            mismatches += _differ(text, ids, _encoder(whole)(readable))
    return TokenizerReport(len(strings), tuple(mismatches))


def compare_with_vectors(checkpoint: Checkpoint, folder: Path) -> TokenizerReport:
    """The golden folder's `tokenizer_vectors.json`, whose key "tiny" holds this checkpoint's ids.

    There special tokens are parsed, so each text is compared as a scaffold piece.
    """
    ours = load_tokenizer(checkpoint)
    vectors = json.loads((folder / "tokenizer_vectors.json").read_text("utf-8"))["vectors"]
    mismatches = []
    for vector in vectors:
        ids = list(ours.encode_scaffold(vector["text"]))
        mismatches += _differ(vector["text"], ids, vector["tiny"])
    return TokenizerReport(len(vectors), tuple(mismatches))


def _encoder(tokenizer: Any) -> Callable[[str], Ids]:
    def encode(text: str) -> Ids:
        ids: Ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    return encode


def _without_added_tokens(path: Path) -> Any:
    """The same model, normaliser and splitting, read by transformers, knowing no added token."""
    from transformers import PreTrainedTokenizerFast

    definition = json.loads(path.read_text("utf-8"))
    definition["added_tokens"] = []
    definition["post_processor"] = None  # it may name tokens that are gone
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / path.name
        bare.write_text(json.dumps(definition), "utf-8")
        return PreTrainedTokenizerFast(tokenizer_file=str(bare))


def _differ(text: str, ours: Ids, theirs: Ids) -> list[str]:
    return [] if ours == theirs else [f"{text!r:.120}: expected {theirs[:12]}, got {ours[:12]}"]
