"""Hear a voice in training: evaluation sentences free-running, and the codec's round trip.

Writes wav files and texts.json, which `judge.py` reads (it needs the judges' packages; this does
not).
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engine.text.frontend import phones
from engine.text.frontend.reader import Reader
from engine.workshop.train.corpus.sequences import Builder, Spoken, TrainingSequence
from engine.workshop.train.corpus.wav import write_wav
from engine.workshop.train.judging.distance import edit_distance
from engine.workshop.train.judging.generate import Answer, Drawing, Speaker
from engine.workshop.train.networks.dual_ar import DualAR
from engine.workshop.train.networks.vocoder_codec import VocoderDecoder
from engine.workshop.train.networks.wave_decoder import WaveDecoder
from engine.workshop.train.stages.voice import VoiceProject, evaluation_sentences

_BOUNDARY = len(phones.ANCHORS) - 2  # from here on: word boundary, silence


def trained_model(project: VoiceProject) -> DualAR:
    """The Dual-AR as last saved."""
    model = DualAR(project.config.model)
    model.load_state_dict(torch.load(project.work / "ar" / "last.pt", weights_only=True)["model"])
    return model.eval()


def prompt(tokens: list[str], builder: Builder) -> tuple[torch.Tensor, torch.Tensor]:
    """ids [L] and codes [L, books] of a plain prompt, up to where the first frame is drawn."""
    silent = Spoken(tokens, np.zeros((0, builder.books), np.uint16), np.zeros(0, np.int64))
    sequence: TrainingSequence = builder.sequence([silent])
    ids = torch.tensor(sequence.ids[:-1])
    return ids, torch.from_numpy(np.stack(sequence.codes[:-1]).astype(np.int64))


@torch.no_grad()
def say(
    project: VoiceProject,
    sentences: Sequence[str],
    folder: Path,
    how: Drawing,
    batch: int = 12,
    seed: int = 0,
) -> dict[str, float]:
    """Speak sentences with the voice as it is; returns shares of what went wrong, and the speed."""
    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    reader, codec = Reader(), project.config.codec
    builder = Builder(codec.n_codebooks, codec.semantic_codebook_size)
    speaker, decoder = Speaker(trained_model(project)), project.trained_decoder()
    names: dict[str, str] = {}
    answers: list[Answer] = []
    began = time.monotonic()
    for first in range(0, len(sentences), batch):
        group = [reader(text)[0] for text in sentences[first : first + batch]]
        limits = [round(len(tokens) * 2.2) + 25 for tokens in group]
        answers += speaker.speak([prompt(tokens, builder) for tokens in group], how, limits, seed)
    frames = 0
    for index, (text, answer) in enumerate(zip(sentences, answers, strict=True)):
        name = f"{index:03d}.wav"
        samples = decode(decoder, answer)
        write_wav(folder / name, samples, project.rate_hz)
        names[name], frames = text, frames + len(answer.codes)
    (folder / "texts.json").write_text(json.dumps(names, ensure_ascii=False), "utf-8")
    seconds = frames * codec.frame_samples / project.rate_hz
    stopped = sum(answer.stopped for answer in answers) / len(answers)
    return {
        "stopped": stopped,
        "seconds": seconds,
        "per_second": seconds / (time.monotonic() - began),
    }


def sounds(codes: NDArray[np.integer], row_anchor: torch.Tensor) -> list[int]:
    """The phones that semantic codes [frames] say, repeats and silence left out."""
    anchors = row_anchor[torch.from_numpy(codes.astype(np.int64))].tolist()
    return _distinct([anchor for anchor in anchors if anchor < _BOUNDARY])


@torch.no_grad()
def phone_errors(
    project: VoiceProject, how: Drawing, sentences: Sequence[str] = (), seed: int = 0
) -> dict[str, float]:
    """How well a Dual-AR in training reads, judged by its codes alone: no decoder, no recogniser.

    A semantic code says its phone. `phone_error`: edits between the phones of the text and those
    spoken, free-running; `floor`: the same for the true codes of held-out utterances, in which
    phones shorter than a frame are missing too.
    """
    reader, row_anchor = Reader(), project.quantiser().anchored.row_anchor
    codec = project.config.codec
    builder = Builder(codec.n_codebooks, codec.semantic_codebook_size)
    speaker = Speaker(trained_model(project))
    groups = [reader(text)[0] for text in sentences or all_sentences()]
    edits = phones_in_all = stopped = 0
    for first in range(0, len(groups), 22):
        group = groups[first : first + 22]
        limits = [round(len(tokens) * 2.2) + 25 for tokens in group]
        prompts = [prompt(tokens, builder) for tokens in group]
        for tokens, answer in zip(group, speaker.speak(prompts, how, limits, seed), strict=True):
            expected = expected_sounds(tokens)
            edits += edit_distance(expected, sounds(answer.codes[:, 0].numpy(), row_anchor))
            phones_in_all += len(expected)
            stopped += answer.stopped
    corpus, codes = project.coded(limit=1)
    pairs = [
        (expected_sounds(i.utterance.tokens), sounds(c[:, 0], row_anchor))
        for i, c in zip(corpus, codes, strict=True)
    ]
    floor = sum(edit_distance(a, b) for a, b in pairs) / sum(len(a) for a, _ in pairs)
    return {
        "phone_error": round(edits / phones_in_all, 4),
        "floor": round(floor, 4),
        "stopped": round(stopped / len(groups), 3),
    }


def expected_sounds(tokens: list[str]) -> list[int]:
    """The phones of a text, repeats and silence left out."""
    anchors = [phones.anchor(token) for token in tokens if token in phones.PHONE_TOKENS]
    return _distinct([anchor for anchor in anchors if anchor < _BOUNDARY])


def _distinct(anchors: list[int]) -> list[int]:
    return [a for index, a in enumerate(anchors) if index == 0 or a != anchors[index - 1]]


def decode(decoder: WaveDecoder | VocoderDecoder, answer: Answer) -> NDArray[np.float32]:
    """Codes of one answer -> samples."""
    if not len(answer.codes):
        return np.zeros(decoder.config.frame_samples, np.float32)
    result: NDArray[np.float32] = decoder.waveform(answer.codes[None])[0].numpy()
    return result


@torch.no_grad()
def round_trip(project: VoiceProject, folder: Path, count: int = 40) -> None:
    """Decode the true codes of held-out utterances in the default voice."""
    folder.mkdir(parents=True, exist_ok=True)
    decoder = project.trained_decoder()
    corpus, codes = project.coded(limit=1)
    names: dict[str, str] = {}
    for index, (item, row) in enumerate(zip(corpus[:64], codes[:64], strict=True)):
        if item.utterance.voice.formant != 1.0 or item.utterance.style or len(names) >= count:
            continue
        name = f"{index:03d}.wav"
        codes_of_item = torch.from_numpy(row.astype(np.int64))[None]
        samples = decoder.waveform(codes_of_item)[0].numpy()
        write_wav(folder / name, samples, project.rate_hz)
        names[name] = item.utterance.text
    (folder / "texts.json").write_text(json.dumps(names, ensure_ascii=False), "utf-8")


def all_sentences(kinds: Sequence[str] = ()) -> list[str]:
    """Evaluation sentences of these kinds, by default of all."""
    return [
        text
        for kind, texts in evaluation_sentences().items()
        if not kinds or kind in kinds
        for text in texts
    ]
