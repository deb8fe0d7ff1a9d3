"""Find the attention heads of a checkpoint that follow the text, from recordings with known timing.

    python -m engine.workshop.align CHECKPOINT RECORDINGS

Beside `name.wav` and `name.txt` lies `name.json`: a list of words, each
{"start_s": 0.1, "end_s": 0.4, "start": 0, "end": 5}; `start` and `end` are characters of the text.
For each frame the text token that a head attends to most is compared with the word that sounds
then. The best heads go into `voice_gateway.alignment_heads` of config.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.checkpoint.folder import Checkpoint
from engine.codec.encoder import Encoder
from engine.text.prompt import Prompt, PromptBuilder
from engine.text.registry import load_tokenizer
from engine.text.tokenizer import Span
from engine.workshop.train.corpus.timed_words import TimedWord, read_words
from engine.workshop.train.corpus.wav import read_wav
from engine.workshop.train.networks.dual_ar import DualAR
from engine.workshop.train.stages.finetune import load_model, pairs


@dataclass(frozen=True, slots=True)
class HeadScore:
    """`share`: of the frames in which a word sounds, those where the head attends to that word."""

    layer: int
    head: int
    share: float


def word_of_frame(words: Sequence[TimedWord], frames: int, frame_s: float) -> NDArray[np.int64]:
    """Index of the word that sounds at the centre of each frame, or -1; int64 [frames]."""
    centres = (np.arange(frames) + 0.5) * frame_s
    result = np.full(frames, -1, np.int64)
    for index, word in enumerate(words):
        result[(centres >= word.start_s) & (centres < word.end_s)] = index
    return result


def word_of_token(words: Sequence[TimedWord], spans: Sequence[Span]) -> NDArray[np.int64]:
    """Index of the word that each text token is part of, or -1; int64 [tokens]."""
    result = np.full(len(spans), -1, np.int64)
    for index, word in enumerate(words):
        for token, (start, end) in enumerate(spans):
            if start < word.end and end > word.start:
                result[token] = index
    return result


@torch.no_grad()
def scores(
    model: DualAR, prompt: Prompt, codes: NDArray[np.uint16], layers: Sequence[int]
) -> list[Tensor]:
    """What each head makes of each text token at the step that makes a frame, teacher-forced.

    codes [T, books]; for every layer [heads, T, text tokens], before the softmax.
    """
    config = model.config
    frames = codes[:, 0].astype(np.int64) + config.semantic_start_token_id
    ids = torch.tensor([[*prompt.input_ids, *frames.tolist()]])
    table = np.zeros((ids.shape[1], codes.shape[1]), np.int64)
    table[prompt.code_positions()] = prompt.codes
    table[len(prompt.input_ids) :] = codes
    x = model.embed(ids, torch.from_numpy(table)[None])
    guides = model.slow(x, watch=frozenset(layers)).guides
    start, end = prompt.text_span
    first = len(prompt.input_ids) - 1  # this position makes frame 0
    found = []
    for layer in layers:
        q, k = guides[layer]
        keys = k[0].repeat_interleave(q.shape[1] // k.shape[1], 0)[:, start:end]
        queries = q[0, :, first : first + len(codes)]
        found.append(queries @ keys.transpose(-1, -2) * q.shape[-1] ** -0.5)
    return found


def attended(model: DualAR, prompt: Prompt, codes: NDArray[np.uint16]) -> Tensor:
    """The text token that each head attends to most while it makes each frame.

    codes [T, books]; int64 [layers, heads, T], counted from the start of `prompt.text_span`.
    """
    layers = range(model.config.text_config.n_layer)
    return torch.stack([score.argmax(-1) for score in scores(model, prompt, codes, layers)])


def followed(
    model: DualAR,
    prompt: Prompt,
    codes: NDArray[np.uint16],
    heads: Sequence[tuple[int, int]],
) -> list[int]:
    """The text token of each frame by these heads together, as the engine tells it: the one with
    the greatest attention, summed over the heads.
    """
    layers = sorted({layer for layer, _ in heads})
    by_layer = dict(zip(layers, scores(model, prompt, codes, layers), strict=True))
    weights = sum(by_layer[layer][head].softmax(-1) for layer, head in heads)
    assert isinstance(weights, Tensor)
    return weights.argmax(-1).tolist()


def score_heads(checkpoint: Checkpoint, folder: Path) -> list[HeadScore]:
    """All heads, the best first. Raises CheckpointError and FileNotFoundError."""
    tokenizer = load_tokenizer(checkpoint)
    prompts = PromptBuilder(tokenizer, checkpoint)
    encoder = Encoder.from_checkpoint(checkpoint.path)
    frame_s = 1.0 / encoder.config.frame_rate_hz
    model = load_model(checkpoint).eval()
    config = checkpoint.config.text_config
    right = np.zeros((config.n_layer, config.n_head))
    total = 0
    for path, text in pairs(folder):
        words = read_words(path.with_suffix(".json"))
        codes = encoder.encode(*read_wav(path))
        sounding = word_of_frame(words, len(codes), frame_s)
        tokens = word_of_token(words, tokenizer.encode_spans(text)[1])
        seen = attended(model, prompts.build(text), codes).numpy()
        spoken = sounding >= 0
        right += (tokens[seen] == sounding)[:, :, spoken].sum(-1)
        total += int(spoken.sum())
    scores = [
        HeadScore(layer, head, round(float(right[layer, head]) / max(total, 1), 4))
        for layer in range(config.n_layer)
        for head in range(config.n_head)
    ]
    return sorted(scores, key=lambda score: -score.share)
