"""Where does the voice lose its sound? The same sentences at every rung from teacher to listener.

    uv run --extra train python -m benchmarks.voice_ladder [--checkpoint DIR] [--work DIR]
        [--sentences N] [--keep DIR]

    teacher         the recording that the voice learned from
    parameters      the vocoder's parameters of that recording, made sound again: what no decoder of
                    this codec can pass by regression (only where the codec has a vocoder)
    unquantised     its latents, by our encoder, through the decoder without being rounded to codes
    true_codes      codes made with the teacher's own phone times, as in training (needs --work, the
                    folder of `python -m engine.workshop.train voice`)
    encoded         codes by our encoder, which had to find out the phones: what cloning gets
    dual_ar         codes that the Dual-AR drew from the text
    opus            the same through Opus, as a listener gets it

Each rung is judged by Distill-MOS and DNSMOS, and as far as times are the teacher's by PESQ, STOI
and log-spectral distance. Keys: rungs (name -> means), loss (Distill-MOS lost at each step).
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.parts.report import finish, say
from engine.api import Frames, SpeechRequest
from engine.codec.decoder import StreamingDecoder
from engine.codec.encoder import Encoder
from engine.codec.kernels.source_filter import (
    N_FFT,
    NOISE_SAMPLES,
    SourceFilter,
    noise_table,
    overlap_add,
)
from engine.codec.sizes import CodecConfig
from engine.codec.vocoder import voice_parameters
from engine.link.client import WorkerEngine
from engine.worker_config import DEFAULT_CHECKPOINT, EngineConfig
from engine.workshop.train.corpus.analysis import analyse
from engine.workshop.train.corpus.corpus import Utterance
from engine.workshop.train.corpus.data import Framed, framed
from engine.workshop.train.corpus.teacher import Speech, Teacher, Voice
from engine.workshop.train.corpus.voice_steps import stepped
from engine.workshop.train.corpus.wav import write_wav
from engine.workshop.train.judging.evaluate import all_sentences
from engine.workshop.train.judging.quality import Ears, Quality, mean
from gateway.audio.opus import OpusDecoder, OpusEncoder
from gateway.audio.resample import Resampler
from gateway.types import OPUS_RATE_HZ, AudioFormat

Samples = NDArray[np.float32]
# rungs whose sound has the teacher's own times
_ALIGNED = ("parameters", "unquantised", "true_codes", "encoded")


def chosen(count: int) -> list[str]:
    """`count` evaluation sentences, spread over all kinds."""
    texts = all_sentences()
    return texts[:: max(1, len(texts) // count)][:count]


def recordings(texts: Sequence[str], rate_hz: int) -> list[Speech]:
    """The teacher's, one sentence each."""
    teacher = Teacher(rate_hz)
    return [
        teacher.speak(" ".join(teacher.phonemes(text)), seed=seed)
        for seed, text in enumerate(texts)
    ]


def true_codes(speech: Speech, text: str, work: Path) -> NDArray[np.uint16]:
    """Codes as the corpus has them."""
    from engine.workshop.train.recipe import VoiceConfig
    from engine.workshop.train.stages.train_codes import encode
    from engine.workshop.train.stages.train_vocoder import encode_steps
    from engine.workshop.train.stages.voice import VoiceProject

    project = VoiceProject(work, VoiceConfig.load())
    if project.config.codec.has_vocoder:
        raw = parameters_of(speech, project.config.codec)
        anchors = framed_speech(speech, text, project.config.codec).anchors
        steps_per_frame = project.frame_samples // project.config.codec.vocoder_hop_samples
        known = voice_parameters(project.config.codec)
        item = stepped(raw, anchors, known, steps_per_frame)
        return encode_steps(project.vocoder_codec().eval(), item)
    framed_item = framed_speech(speech, text, project.config.codec)
    return encode(project.maker().eval(), framed_item, project.frame_samples)


def framed_speech(speech: Speech, text: str, codec: CodecConfig) -> Framed:
    """The teacher's speech in whole frames, as the corpus has it."""
    pcm = np.rint(speech.samples * 32767.0).astype(np.int16)
    utterance = Utterance(text, speech.tokens, speech.ends, pcm, "", Voice(), speech.f0_hz)
    return framed(utterance, codec.frame_samples, codec.sample_rate_hz)


def parameters_of(speech: Speech, codec: CodecConfig) -> Samples:
    """The vocoder's parameters of the teacher's speech, [K, size]."""
    return analyse(
        speech.samples,
        speech.f0_hz,
        voice_parameters(codec),
        codec.vocoder_hop_samples,
        codec.sample_rate_hz,
    )


def copied(speech: Speech, codec: CodecConfig) -> Samples:
    """The speech taken to pieces and put together again, with no network between."""
    steps = torch.from_numpy(parameters_of(speech, codec))[None]
    count, hop = steps.shape[1], codec.vocoder_hop_samples
    source_filter = SourceFilter(
        voice_parameters(codec), hop, codec.sample_rate_hz, torch.device("cpu")
    )
    noise = noise_table()[torch.arange(count * hop) % NOISE_SAMPLES].view(1, count, hop)
    with_first = torch.cat((steps[:, :1], steps), 1)
    segments, _ = source_filter.render(with_first, torch.zeros(1), noise)
    samples, _ = overlap_add(segments, torch.zeros(1, N_FFT - hop), hop)
    made: Samples = samples[0].numpy()
    return made


async def drawn(checkpoint: Path, texts: Sequence[str]) -> list[Samples]:
    """The Dual-AR's own speech, before any encoding for the wire."""
    engine = WorkerEngine(EngineConfig(checkpoint=checkpoint), say)
    await engine.start()
    try:
        spoken = []
        for index, text in enumerate(texts):
            parts = [
                np.frombuffer(event.pcm, "<f4")
                async for event in engine.speak(SpeechRequest(f"ladder-{index}", text))
                if isinstance(event, Frames)
            ]
            spoken.append(np.concatenate(parts))
        return spoken
    finally:
        await engine.close()


def through_opus(samples: Samples, rate_hz: int) -> Samples:
    """Encoded with the gateway's default settings and decoded to floats, as browsers do."""
    encoder, decoder = OpusEncoder(AudioFormat()), OpusDecoder()
    resampler = Resampler(rate_hz, OPUS_RATE_HZ)
    wide = np.concatenate([resampler.push(samples), resampler.finish()])
    size = encoder.frame_samples
    wide = np.pad(wide, (0, -len(wide) % size + size))
    packets = [encoder.encode(wide[at : at + size]) for at in range(0, len(wide), size)]
    return np.concatenate([decoder.decode(packet) for packet in packets])[
        encoder.lookahead_samples :
    ]


def sounds(
    checkpoint: Path, work: Path | None, texts: Sequence[str]
) -> dict[str, tuple[list[Samples], int]]:
    """Every rung's recordings and their rate."""
    encoder = Encoder.from_checkpoint(checkpoint)
    decoder = StreamingDecoder.from_checkpoint(checkpoint, 1)
    rate_hz = encoder.config.sample_rate_hz
    speeches = recordings(texts, rate_hz)
    teacher = [speech.samples for speech in speeches]
    rungs = {"teacher": (teacher, rate_hz)}
    if encoder.config.has_vocoder:
        rungs["parameters"] = ([copied(each, encoder.config) for each in speeches], rate_hz)
    rungs["unquantised"] = (
        [decoder.decode_latents(encoder.latents(samples, rate_hz)) for samples in teacher],
        rate_hz,
    )
    if work is not None:
        codes = [true_codes(s, text, work) for s, text in zip(speeches, texts, strict=True)]
        rungs["true_codes"] = ([decoder.decode_whole(each) for each in codes], rate_hz)
    encoded = [decoder.decode_whole(encoder.encode(samples, rate_hz)) for samples in teacher]
    rungs["encoded"] = (encoded, rate_hz)
    spoken = asyncio.run(drawn(checkpoint, texts))
    rungs["dual_ar"] = (spoken, rate_hz)
    rungs["opus"] = ([through_opus(samples, rate_hz) for samples in spoken], OPUS_RATE_HZ)
    return rungs


def main(checkpoint: Path, work: Path | None, sentences: int, keep: Path | None) -> None:
    """Run and report."""
    rungs = sounds(checkpoint, work, chosen(sentences))
    teacher, _ = rungs["teacher"]
    ears, means = Ears(), {}
    for name, (recorded, rate_hz) in rungs.items():
        judged: list[Quality] = [
            ears.against(samples, true, rate_hz)
            if name in _ALIGNED
            else ears.alone(samples, rate_hz)
            for samples, true in zip(recorded, teacher, strict=True)
        ]
        means[name] = mean(judged)
        say(f"{name:12s} {means[name]}")
        for index, samples in enumerate(recorded if keep else ()):
            assert keep is not None
            keep.mkdir(parents=True, exist_ok=True)
            write_wav(keep / f"{index:03d}-{name}.wav", samples, rate_hz)
    # from the teacher each way ends in what is heard; `encoded` is the clones' branch
    way = [name for name in ("teacher", "true_codes", "dual_ar", "opus") if name in means]
    loss = {
        after: round(means[before]["distill_mos"] - means[after]["distill_mos"], 3)
        for before, after in zip(way, way[1:], strict=False)
    }
    finish(benchmark="voice_ladder", sentences=sentences, rungs=means, loss=loss)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--checkpoint", type=Path, default=DEFAULT_CHECKPOINT)
    parser.add_argument("--work", type=Path, help="folder of the training that made it")
    parser.add_argument("--sentences", type=int, default=8)
    parser.add_argument("--keep", type=Path, help="folder for the recordings")
    arguments = parser.parse_args()
    main(arguments.checkpoint, arguments.work, arguments.sentences, arguments.keep)
