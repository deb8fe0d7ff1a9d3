"""Hear a voice in training: evaluation sentences free-running, and the codec's round trip.

Writes wav files and texts.json, which engine.train.judge reads (it needs the judges' packages;
this does not).
"""

from __future__ import annotations

import json
import time
import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engine.frontend.reader import Reader
from engine.train.dual_ar import DualAR
from engine.train.generate import Answer, Drawing, Speaker
from engine.train.sequences import Builder, Spoken, TrainingSequence
from engine.train.voice import VoiceProject, evaluation_sentences
from engine.train.wave_decoder import WaveDecoder


def write_wav(path: Path, samples: NDArray[np.float32], rate_hz: int) -> None:
    """16-bit mono."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def trained_model(project: VoiceProject) -> DualAR:
    """The Dual-AR as last saved."""
    model = DualAR(project.config.model)
    model.load_state_dict(torch.load(project.work / "ar" / "last.pt", weights_only=True)["model"])
    return model.eval()


def trained_decoder(project: VoiceProject) -> WaveDecoder:
    """The decoder as last saved."""
    decoder = project.decoder()
    decoder.load_state_dict(
        torch.load(project.work / "wave" / "last.pt", weights_only=True)["decoder"]
    )
    return decoder.eval()


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
    speaker, decoder = Speaker(trained_model(project)), trained_decoder(project)
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


def decode(decoder: WaveDecoder, answer: Answer) -> NDArray[np.float32]:
    """Codes of one answer -> samples."""
    if not len(answer.codes):
        return np.zeros(decoder.config.frame_samples, np.float32)
    result: NDArray[np.float32] = decoder(answer.codes[None])[0].numpy()
    return result


@torch.no_grad()
def round_trip(project: VoiceProject, folder: Path, count: int = 40) -> None:
    """Decode the true codes of held-out utterances in the default voice."""
    folder.mkdir(parents=True, exist_ok=True)
    decoder = trained_decoder(project)
    corpus, codes = project.coded(limit=1)
    names = {}
    for index, (item, row) in enumerate(zip(corpus[:64], codes[:64], strict=True)):
        if item.utterance.voice.formant != 1.0 or item.utterance.style or len(names) >= count:
            continue
        name = f"{index:03d}.wav"
        samples = decoder(torch.from_numpy(row.astype(np.int64))[None])[0].numpy()
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
