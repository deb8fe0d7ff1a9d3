"""Text, voice and history -> the model's input: token ids, and codes where the ids mean sound.

Two layouts are known. "fish" is that of the model's authors (fish-speech) and the default; "omni"
is that of the SGLang-Omni server (0.1.9). They differ in the system line of a plain request and in
how speakers are tagged:

    fish  system: instruction [transcripts, codes]   user: text             assistant: codes
    omni  system: only when a voice is cloned        user: <|speaker:0|>text  ...

Every quoted piece is tokenized on its own and the ids are concatenated, so that merges never cross
a border. A text, with its tag in front, is one piece: there the tag's last character may merge
with what follows. Frame codes enter as ids `semantic_start + code of codebook 0`; the other
codebooks travel beside the ids. Imports neither torch nor SGLang.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.checkpoint.folder import Checkpoint
from engine.errors import PromptError, UnspeakableError
from engine.text.tokenizer import Span, TextTokenizer

Codes = NDArray[np.uint16]
Layout = Literal["fish", "omni"]

SYSTEM = "<|im_start|>system\n"
USER = "<|im_start|>user\n"
ASSISTANT = "<|im_start|>assistant\n<|voice|>"
END = "<|im_end|>\n"
SPEAK = "convert the provided text to speech"
CLONE = "convert the provided text to speech reference to the following:\n\nText:\n"
SPEECH = "\n\nSpeech:\n"

MAX_TURNS_PER_BATCH = 5
RESERVED_FRAMES = 2048  # what fish-speech keeps free of the context for the answer

_OMNI_TAG = "<|speaker:0|>"
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
    `text_span`: [start, end) of the text to be spoken now, its tag included. `token_spans`: for
    each of its ids, the characters [start, end) of the caller's text that it stands for.
    """

    input_ids: list[int]
    code_spans: tuple[Span, ...]
    codes: Codes
    text_span: Span
    token_spans: tuple[Span, ...] = ()

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
        layout: Layout = "fish",
    ) -> Prompt:
        """One request: speak `text` with the voice of `references`, after `history`.

        Several references are several speakers; in "fish" their transcripts are tagged by index
        unless they carry a tag, and `text` names the speakers by `<|speaker:i|>`. "omni" knows
        only speaker 0 and, itself, no history: here each earlier turn has the same form as in
        "fish". Raises PromptError and TextError, UnspeakableError for `text` alone.
        """
        if layout not in ("fish", "omni"):
            raise PromptError(f"expected layout 'fish' or 'omni', got {layout!r}")
        if not text.strip():
            raise PromptError(f"expected text to speak, got {text!r}")
        assembly = _Assembly(self._tokenizer)
        try:
            self._add_system(assembly, references, layout)
            for index, turn in enumerate(history):
                self._add_user(assembly, turn.text, layout)
                assembly.scaffold(ASSISTANT)
                assembly.frames(self._check_codes(turn.codes, f"history[{index}]"))
                assembly.scaffold(END)
        except UnspeakableError as error:  # what has codes has been said
            raise PromptError(f"references and history: {error}") from error
        text_span = self._add_user(assembly, text, layout)
        assembly.scaffold(ASSISTANT)
        tag = len(_OMNI_TAG) if layout == "omni" else 0
        return self._finish(assembly, text_span, tag)

    def _add_system(
        self, assembly: _Assembly, references: Sequence[Reference], layout: Layout
    ) -> None:
        if not references:
            if layout == "fish":
                assembly.scaffold(SYSTEM, SPEAK, END)
            return
        codes = [
            self._check_codes(reference.codes, f"references[{index}]")
            for index, reference in enumerate(references)
        ]
        assembly.scaffold(SYSTEM, CLONE)
        for transcript in _transcripts([reference.text for reference in references], layout):
            assembly.text(transcript)
        assembly.scaffold(SPEECH)
        assembly.frames(np.concatenate(codes))
        assembly.scaffold(END)

    def _add_user(self, assembly: _Assembly, text: str, layout: Layout) -> Span:
        assembly.scaffold(USER)
        span = assembly.text(f"{_OMNI_TAG}{text}" if layout == "omni" else text)
        assembly.scaffold(END)
        return span

    def _finish(self, assembly: _Assembly, text_span: Span, tag: int) -> Prompt:
        if len(assembly.ids) > self.max_prompt_tokens:
            raise PromptError(
                f"expected a prompt of at most {self.max_prompt_tokens} tokens, "
                f"got {len(assembly.ids)}"
            )
        empty = np.empty((0, self._config.num_codebooks), np.uint16)
        codes = np.concatenate([empty, *assembly.codes])
        spans = ((max(start - tag, 0), max(end - tag, 0)) for start, end in assembly.token_spans)
        return Prompt(assembly.ids, tuple(assembly.spans), codes, text_span, tuple(spans))

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


def _transcripts(texts: list[str], layout: Layout) -> list[str]:
    """The text pieces of the system message."""
    if layout == "omni":
        return [f"<|speaker:0|>{text}" for text in texts if text]
    for index, text in enumerate(texts):
        if not text.strip():
            raise PromptError(f"references[{index}]: expected a transcript, got {text!r}")
    tagged = [
        text if _SPEAKER.search(text) else f"<|speaker:{index}|>{text}"
        for index, text in enumerate(texts)
    ]
    return ["\n".join(tagged)]


def split_turns(text: str, chunk_length: int = 512, *, keep_lead_in: bool = False) -> list[str]:
    """Cut a long dialogue at its `<|speaker:N|>` tags into texts to be spoken one after the other.

    As fish-speech does it: each turn is stripped; turns are packed in order, at most 5 and at most
    `chunk_length` UTF-8 bytes of turns together (a longer turn stays whole), joined by a line end;
    what stands before the first tag is dropped, unless `keep_lead_in`. Text without tags comes back
    whole. Each result is one `build(text, history=...)`, whose history holds the ones before it.
    """
    tags = list(_SPEAKER.finditer(text))
    if not tags:
        return [text]
    starts = [tag.start() for tag in tags]
    if keep_lead_in and text[: starts[0]].strip():
        starts.insert(0, 0)
    ends = [*starts[1:], len(text)]
    turns = [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    batches: list[list[str]] = []
    room_bytes = 0
    for turn in turns:
        turn_bytes = len(turn.encode(errors="surrogatepass"))
        if not batches or len(batches[-1]) >= MAX_TURNS_PER_BATCH or turn_bytes > room_bytes:
            batches.append([])
            room_bytes = chunk_length
        batches[-1].append(turn)
        room_bytes -= turn_bytes
    return ["\n".join(batch) for batch in batches]
