"""Which front end reads a checkpoint's texts: the one that it names.

A new front end adds its factory to `FRONTENDS`, under the name that checkpoints give in
`voice_gateway.text_frontend`, and imports what is heavy inside the factory.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.checkpoint.folder import Checkpoint
from engine.errors import CheckpointError
from engine.text.tokenizer import TextTokenizer, load_bpe
from engine.worker_config import ForeignText

Frontend = Callable[[Checkpoint, ForeignText], TextTokenizer]


def _load_phones(checkpoint: Checkpoint, foreign_text: ForeignText) -> TextTokenizer:
    from engine.text.frontend.tokenizer import load_phones  # brings a lexicon along

    return load_phones(checkpoint, foreign_text)


FRONTENDS: dict[str, Frontend] = {
    "bpe": lambda checkpoint, _: load_bpe(checkpoint),  # its model reads all languages
    "phones": _load_phones,
}


def load_tokenizer(
    checkpoint: Checkpoint, foreign_text: ForeignText = "transliterate"
) -> TextTokenizer:
    """The front end that the checkpoint names (default "bpe").

    `foreign_text`: what a front end of one language does with other scripts. Raises
    CheckpointError for an unknown name or bad tokenizer files.
    """
    name = checkpoint.config.voice_gateway.text_frontend
    frontend = FRONTENDS.get(name)
    if frontend is None:
        raise CheckpointError(
            f"{checkpoint.path}: expected voice_gateway.text_frontend among "
            f"{', '.join(sorted(FRONTENDS))}, got {name!r}"
        )
    return frontend(checkpoint, foreign_text)
