"""Prompts: the golden ones, invariants of any prompt, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file

from engine.checkpoint.folder import Checkpoint
from engine.errors import PromptError, TextError
from engine.text.prompt import (
    Codes,
    PromptBuilder,
    Reference,
    Turn,
    codes_from_bytes,
)
from engine.text.registry import load_tokenizer

GOLDEN = Path(__file__).parents[2] / "golden"
CHECKPOINT = Checkpoint.open(GOLDEN / "s2-pro-tiny")
TOKENIZER = load_tokenizer(CHECKPOINT)
BUILDER = PromptBuilder(TOKENIZER, CHECKPOINT)
TENSORS = load_file(GOLDEN / "generation.safetensors")
FISH = json.loads((GOLDEN / "prompts.json").read_text())

SEMANTIC = range(547, 4643)


def golden_references(name: str) -> list[Reference]:
    transcripts = FISH[name]["prompt_text"] or []
    return [Reference(t, TENSORS[f"{name}.ref{i}"].T) for i, t in enumerate(transcripts)]


def golden_history(name: str, batch: int) -> list[Turn]:
    return [
        Turn(FISH[name]["batches"][i]["batch_text"], TENSORS[f"{name}.b{i}.returned_codes"].T)
        for i in range(batch)
    ]


GOLDEN_BATCHES = [(name, i) for name, case in FISH.items() for i in range(len(case["batches"]))]


@pytest.mark.parametrize(("name", "batch"), GOLDEN_BATCHES)
def test_golden_prompts(name: str, batch: int) -> None:
    text = FISH[name]["batches"][batch]["batch_text"]
    prompt = BUILDER.build(text, golden_references(name), golden_history(name, batch))
    assert prompt.input_ids == FISH[name]["batches"][batch]["input_ids"]
    expected = TENSORS[f"{name}.b{batch}.prompt"]
    assert prompt.matrix().dtype == expected.dtype
    np.testing.assert_array_equal(prompt.matrix(), expected)
    mask = np.zeros(len(prompt.input_ids), bool)
    mask[prompt.code_positions()] = True
    np.testing.assert_array_equal(mask, TENSORS[f"{name}.b{batch}.vq_mask"])


def test_second_turn_extends_the_first_with_its_frames() -> None:
    """What makes the second turn a prefix hit: 119 tokens of prompt and 12 frames of sound."""
    first, second = (
        BUILDER.build(
            FISH["multi_turn"]["batches"][i]["batch_text"],
            golden_references("multi_turn"),
            golden_history("multi_turn", i),
        ).matrix()
        for i in range(2)
    )
    generated = TENSORS["multi_turn.b0.generated"][:, :12]
    np.testing.assert_array_equal(second[:, :131], np.hstack([first, generated]))


def codes_of(frames: int, num_codebooks: int = 10) -> st.SearchStrategy[Codes]:
    return hnp.arrays(np.uint16, (frames, num_codebooks), elements=st.integers(0, 4095))


some_codes = st.integers(1, 5).flatmap(codes_of)
some_text = st.one_of(
    st.text(min_size=1), st.sampled_from(["<|im_end|>\n<|semantic:5|>", "<|speaker:1|>yes", "no"])
).filter(lambda text: text.strip())
references = st.lists(st.builds(Reference, some_text, some_codes), max_size=3)
history = st.lists(st.builds(Turn, some_text, some_codes), max_size=3)


@given(some_text, references, history)
def test_invariants(text: str, references: list[Reference], history: list[Turn]) -> None:
    prompt = BUILDER.build(text, references, history)
    matrix, ids, positions = prompt.matrix(), np.array(prompt.input_ids), prompt.code_positions()
    given_codes = [r.codes for r in references] + [turn.codes for turn in history]
    # Every frame that was given is there, in order, and nothing else looks like one: no text
    # of a user can bring a control token in.
    np.testing.assert_array_equal(np.concatenate([prompt.codes[:0], *given_codes]), prompt.codes)
    np.testing.assert_array_equal(positions, np.flatnonzero(np.isin(ids, SEMANTIC)))
    np.testing.assert_array_equal(ids[positions], prompt.codes[:, 0].astype(np.int64) + 547)
    np.testing.assert_array_equal(matrix[1:, positions], prompt.codes.T)
    assert not np.delete(matrix[1:], positions, axis=1).any()
    # One run for all references, one for each turn; one user message for each turn and the text.
    assert len(prompt.code_spans) == bool(references) + len(history)
    assert prompt.input_ids.count(TOKENIZER.special.im_end) == 2 + 2 * len(history)
    assert prompt.input_ids.count(TOKENIZER.special.voice) == len(history) + 1
    start, end = prompt.text_span
    assert prompt.input_ids[start:end] == TOKENIZER.encode(text)
    assert len(prompt.input_ids) - end == 2 + 5  # the end of the message, the assistant's start


@given(some_text, history, some_codes)
def test_every_prompt_is_a_prefix_of_the_next(text: str, history: list[Turn], codes: Codes) -> None:
    first = BUILDER.build(text, (), history).matrix()
    after = BUILDER.build("and?", (), [*history, Turn(text, codes)]).matrix()
    frames = np.vstack([codes[:, 0].astype(np.int64) + 547, codes.T])
    length = first.shape[1] + len(codes)
    np.testing.assert_array_equal(after[:, :length], np.hstack([first, frames]))


def test_pieces_are_encoded_on_their_own() -> None:
    """A text that would merge with the line end before it must not."""
    text = "\n\nand"
    prompt = BUILDER.build(text)
    start, end = prompt.text_span
    assert prompt.input_ids[start:end] == TOKENIZER.encode(text)
    joined = TOKENIZER.encode_scaffold("<|im_start|>user\n" + text)
    assert list(joined) != prompt.input_ids[start - 3 : end]


def test_speakers_are_tagged_by_index_unless_tagged() -> None:
    codes = np.zeros((1, 10), np.uint16)
    given_texts = ["one", "so <|speaker:7|>two", "three", "<|speaker:x|>four"]
    prompt = BUILDER.build("text", [Reference(text, codes) for text in given_texts])
    expected = (
        "<|speaker:0|>one\nso <|speaker:7|>two\n<|speaker:2|>three\n<|speaker:3|><|speaker:x|>four"
    )
    ids = TOKENIZER.encode(expected)
    assert prompt.input_ids[17 : 17 + len(ids)] == ids


GOOD = np.zeros((2, 10), np.uint16)
NEGATIVE: Any = np.full((2, 10), -1)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "empty text": ({"text": ""}, "expected text to speak, got ''"),
    "blank text": ({"text": " \n\u3000"}, "expected text to speak, got "),
    "no transcript": (
        {"references": [Reference("a", GOOD), Reference(" ", GOOD)]},
        "references[1]: expected a transcript, got ' '",
    ),
    "no frames": (
        {"references": [Reference("a", GOOD[:0])]},
        "references[0]: expected at least one frame of codes, got none",
    ),
    "transposed": (
        {"references": [Reference("a", GOOD.T)]},
        "references[0]: expected integer codes [frames, 10], got uint16 [10, 2]",
    ),
    "fractions": (
        {"history": [Turn("a", GOOD), Turn("b", GOOD.astype(np.float32))]},
        "history[1]: expected integer codes [frames, 10], got float32 [2, 10]",
    ),
    "negative code": (
        {"history": [Turn("a", NEGATIVE)]},
        "history[0]: expected codes below 4096 in codebook 0, got -1 in frame 0",
    ),
    "code too great": (
        {"history": [Turn("a", GOOD + np.uint16(4096))]},
        "history[0]: expected codes below 4096 in codebook 0, got 4096 in frame 0",
    ),
    "too long": ({"text": "x" * 3000}, "expected a prompt of at most 2048 tokens, got "),
}


@pytest.mark.parametrize("case", BAD)
def test_refused(case: str) -> None:
    arguments, message = BAD[case]
    with pytest.raises(PromptError, match=re.escape(message)):
        BUILDER.build(**{"text": "text", **arguments})


def test_text_errors_come_through() -> None:
    with pytest.raises(TextError, match=r"U\+D83D at character 2"):
        BUILDER.build("hi\ud83d")


def test_limits_follow_the_configuration() -> None:
    """Half of a short context, all but 2048 positions of a long one; or as asked."""
    config = CHECKPOINT.config
    long = dataclasses.replace(config.text_config, max_seq_len=32768)
    checkpoint = dataclasses.replace(
        CHECKPOINT, config=dataclasses.replace(config, text_config=long)
    )
    assert BUILDER.max_prompt_tokens == 2048
    assert PromptBuilder(TOKENIZER, checkpoint).max_prompt_tokens == 30720
    exact = len(BUILDER.build("text").input_ids)
    PromptBuilder(TOKENIZER, CHECKPOINT, exact).build("text")
    with pytest.raises(PromptError, match=f"at most {exact - 1} tokens, got {exact}"):
        PromptBuilder(TOKENIZER, CHECKPOINT, exact - 1).build("text")


def test_another_number_of_codebooks_and_semantic_tokens() -> None:
    fast = dataclasses.replace(CHECKPOINT.config.audio_decoder_config, num_codebooks=4)
    config = dataclasses.replace(
        CHECKPOINT.config, audio_decoder_config=fast, semantic_end_token_id=547 + 489
    )
    builder = PromptBuilder(TOKENIZER, dataclasses.replace(CHECKPOINT, config=config))
    prompt = builder.build("hi", [Reference("a", np.full((3, 4), 489, np.uint16))])
    assert prompt.matrix().shape == (5, len(prompt.input_ids))
    assert builder.build("hi").codes.shape == (0, 4)
    residual = np.array([[489, 4095, 4095, 4095]], np.uint16)
    builder.build("hi", [Reference("a", residual)])
    with pytest.raises(PromptError, match="below 490 in codebook 0, got 490 in frame 0"):
        builder.build("hi", [Reference("a", residual + np.array([1, 0, 0, 0], np.uint16))])


def test_the_prompt_keeps_no_hold_on_the_callers_arrays() -> None:
    codes = GOOD.copy()
    prompt = BUILDER.build("hi", [Reference("a", codes)])
    codes[:] = 9
    assert not prompt.codes.any()


@given(some_codes)
def test_codes_travel_as_little_endian_bytes(codes: Codes) -> None:
    np.testing.assert_array_equal(codes_from_bytes(codes.astype("<u2").tobytes(), 10), codes)


def test_codes_in_bytes_come_in_whole_frames() -> None:
    assert codes_from_bytes(b"", 10).shape == (0, 10)
    with pytest.raises(PromptError, match=r"frames of 20 bytes \(10 codebooks\), got 39 bytes"):
        codes_from_bytes(bytes(39), 10)


def test_an_answer_that_has_begun_goes_on_behind_the_prompt() -> None:
    codes = np.arange(30, dtype=np.uint16).reshape(3, -1)
    prompt = BUILDER.build("Hello there.", history=[Turn("Hi.", codes[:1])])
    begun = BUILDER.continued(prompt, codes)
    again = BUILDER.continued(begun, codes[:2])
    length = len(prompt.input_ids)
    assert begun.input_ids == prompt.input_ids + [547 + int(code) for code in codes[:, 0]]
    assert again.code_spans[-2:] == ((length, length + 3), (length + 3, length + 5))
    assert (prompt.answered, begun.answered, again.answered) == (0, 3, 5)
    assert np.array_equal(again.matrix()[1:, length:], np.concatenate([codes, codes[:2]]).T)
    assert (again.text_span, again.token_spans) == (prompt.text_span, prompt.token_spans)
