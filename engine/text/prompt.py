"""Text, voice and history -> the model's input: token ids, and codes where the ids mean sound.

The layout is that of the model's authors (fish-speech):

    system: instruction [transcripts, codes]   user: text   assistant: codes   user: text   ...

Every piece is tokenized on its own and the ids are concatenated, so that merges never cross a
border. Transcripts, with their tags, are one piece: there a tag's last character may merge with
what follows. Frame codes enter as ids `semantic_start + code of codebook 0`; the other
codebooks travel beside the ids. Imports neither torch nor SGLang.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.checkpoint.folder import Checkpoint
from engine.errors import PromptError, UnspeakableError
from engine.text.tokenizer import Span, TextTokenizer

Codes = NDArray[np.uint16]

SYSTEM = "<|im_start|>system\n"
USER = "<|im_start|>user\n"
ASSISTANT = "<|im_start|>assistant\n<|voice|>"
END = "<|im_end|>\n"
SPEAK = "convert the provided text to speech"
CLONE = "convert the provided text to speech reference to the following:\n\nText:\n"
SPEECH = "\n\nSpeech:\n"

RESERVED_FRAMES = 2048  # what fish-speech keeps free of the context for the answer

_SPEAKER = re.compile(r"<\|speaker:\d+\|>")


@dataclass(frozen=True, slots=True)
class Reference:
    """A recording to clone. `codes`: uint16 [frames, num_codebooks]; `text`: what it says."""

    text: str
    codes: Codes


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier text of the dialogue and its sound. `codes`: uint16 [frames, num_codebooks]."""

    text: str
    codes: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """The model's input.

    `input_ids`: length L. `code_spans`: [start, end) of each run of frames in `input_ids`.
    `codes`: uint16 [total, num_codebooks], the frames of all spans in order.
    `text_span`: [start, end) of the text to be spoken now. `token_spans`: for each of its ids, the
    characters [start, end) of the text that it stands for. `answered`: so many of the last frames
    are the beginning of the answer itself.
    """

    input_ids: list[int]
    code_spans: tuple[Span, ...]
    codes: Codes
    text_span: Span
    token_spans: tuple[Span, ...] = ()
    answered: int = 0

    def code_positions(self) -> NDArray[np.int64]:
        """Index into `input_ids` of each row of `codes`; int64 [total]."""
        runs = [np.arange(start, end) for start, end in self.code_spans]
        return np.concatenate(runs) if runs else np.empty(0, np.int64)

    def matrix(self) -> NDArray[np.int64]:
        """Ids in row 0, codes in the rows below, 0 where there are none; [1 + num_codebooks, L]."""
        matrix = np.zeros((1 + self.codes.shape[1], len(self.input_ids)), np.int64)
        matrix[0] = self.input_ids
        matrix[1:, self.code_positions()] = self.codes.T
        return matrix


def codes_from_bytes(data: bytes, num_codebooks: int) -> Codes:
    """Little-endian uint16 [frames, num_codebooks], as codes travel in `engine.api`.

    Raises PromptError when the bytes are no whole number of frames.
    """
    frame_bytes = 2 * num_codebooks
    if len(data) % frame_bytes:
        raise PromptError(
            f"expected codes in frames of {frame_bytes} bytes ({num_codebooks} codebooks), "
            f"got {len(data)} bytes"
        )
    return np.frombuffer(data, "<u2").astype(np.uint16).reshape(-1, num_codebooks)


@dataclass(slots=True)
class _Assembly:
    """A prompt in the making."""

    tokenizer: TextTokenizer
    ids: list[int] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    codes: list[Codes] = field(default_factory=list)

    def scaffold(self, *pieces: str) -> None:
        for piece in pieces:
            self.ids += self.tokenizer.encode_scaffold(piece)

    token_spans: list[Span] = field(default_factory=list)  # of the text added last

    def text(self, text: str) -> Span:
        start = len(self.ids)
        ids, self.token_spans = self.tokenizer.encode_spans(text)
        self.ids += ids
        return start, len(self.ids)

    def frames(self, codes: Codes) -> None:
        start = len(self.ids)
        self.ids += (codes[:, 0].astype(np.int64) + self.tokenizer.special.semantic_start).tolist()
        self.spans.append((start, len(self.ids)))
        self.codes.append(codes)


class PromptBuilder:
    """Builds prompts for one checkpoint. Holds no state between calls; safe to share by threads."""

    def __init__(
        self,
        tokenizer: TextTokenizer,
        checkpoint: Checkpoint,
        max_prompt_tokens: int | None = None,
    ) -> None:
        """`max_prompt_tokens`: None keeps 2048 positions, at most half the context, free."""
        self._tokenizer = tokenizer
        self._config = checkpoint.config
        context = checkpoint.config.text_config.max_seq_len
        default = context - min(RESERVED_FRAMES, context // 2)
        self.max_prompt_tokens = default if max_prompt_tokens is None else max_prompt_tokens

    def build(
        self,
        text: str,
        references: Sequence[Reference] = (),
        history: Sequence[Turn] = (),
    ) -> Prompt:
        """One request: speak `text` with the voice of `references`, after `history`.

        Several references are several speakers; their transcripts are tagged by index unless they
        carry a tag, and `text` names the speakers by `<|speaker:i|>`. Raises PromptError and
        TextError, UnspeakableError for `text` alone.
        """
        if not text.strip():
            raise PromptError(f"expected text to speak, got {text!r}")
        assembly = _Assembly(self._tokenizer)
        try:
            self._add_system(assembly, references)
            for index, turn in enumerate(history):
                self._add_user(assembly, turn.text)
                assembly.scaffold(ASSISTANT)
                assembly.frames(self._check_codes(turn.codes, f"history[{index}]"))
                assembly.scaffold(END)
        except UnspeakableError as error:  # what has codes has been said
            raise PromptError(f"references and history: {error}") from error
        text_span = self._add_user(assembly, text)
        assembly.scaffold(ASSISTANT)
        return self._finish(assembly, text_span)

    def continued(self, prompt: Prompt, codes: Codes) -> Prompt:
        """A prompt whose answer has begun with these frames, uint16 [frames, num_codebooks]."""
        start = len(prompt.input_ids)
        ids = (codes[:, 0].astype(np.int64) + self._tokenizer.special.semantic_start).tolist()
        return replace(
            prompt,
            input_ids=prompt.input_ids + ids,
            code_spans=(*prompt.code_spans, (start, start + len(ids))),
            codes=np.concatenate([prompt.codes, codes]),
            answered=prompt.answered + len(ids),
        )

    def _add_system(self, assembly: _Assembly, references: Sequence[Reference]) -> None:
        if not references:
            assembly.scaffold(SYSTEM, SPEAK, END)
            return
        codes = [
            self._check_codes(reference.codes, f"references[{index}]")
            for index, reference in enumerate(references)
        ]
        assembly.scaffold(SYSTEM, CLONE)
        assembly.text(_transcript([reference.text for reference in references]))
        assembly.scaffold(SPEECH)
        assembly.frames(np.concatenate(codes))
        assembly.scaffold(END)

    def _add_user(self, assembly: _Assembly, text: str) -> Span:
        assembly.scaffold(USER)
        span = assembly.text(text)
        assembly.scaffold(END)
        return span

    def _finish(self, assembly: _Assembly, text_span: Span) -> Prompt:
        if len(assembly.ids) > self.max_prompt_tokens:
            raise PromptError(
                f"expected a prompt of at most {self.max_prompt_tokens} tokens, "
                f"got {len(assembly.ids)}"
            )
        empty = np.empty((0, self._config.num_codebooks), np.uint16)
        codes = np.concatenate([empty, *assembly.codes])
        return Prompt(
            assembly.ids, tuple(assembly.spans), codes, text_span, tuple(assembly.token_spans)
        )

    def _check_codes(self, codes: ArrayLike, where: str) -> Codes:
        """Codes as uint16 [frames, num_codebooks]; PromptError for any other shape or range."""
        array = np.asarray(codes)
        width = self._config.num_codebooks
        if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != width:
            raise PromptError(
                f"{where}: expected integer codes [frames, {width}], "
                f"got {array.dtype} {list(array.shape)}"
            )
        if not len(array):
            raise PromptError(f"{where}: expected at least one frame of codes, got none")
        # Codebook 0 is spelt as token ids. The others share one table width: residual codes above
        # their own codebook's size are legal here, the model makes and reads them.
        limits = np.full(width, self._config.codebook_size)
        limits[0] = self._config.num_semantic
        bad = np.argwhere((array < 0) | (array >= limits))
        if len(bad):
            frame, book = bad[0]
            raise PromptError(
                f"{where}: expected codes below {limits[book]} in codebook {book}, "
                f"got {array[frame, book]} in frame {frame}"
            )
        return array.astype(np.uint16)


def _transcript(texts: list[str]) -> str:
    """What all references say, as the system message has it."""
    for index, text in enumerate(texts):
        if not text.strip():
            raise PromptError(f"references[{index}]: expected a transcript, got {text!r}")
    return "\n".join(
        text if _SPEAKER.search(text) else f"<|speaker:{index}|>{text}"
        for index, text in enumerate(texts)
    )
