"""What training writes, the engine computes: the same sound and the same logits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from engine.checkpoint.folder import Checkpoint
from engine.codec.decoder import StreamingDecoder
from engine.codec.encoder import Encoder
from engine.errors import CheckpointError
from engine.models.plain import PlainLoop
from engine.text.prompt import PromptBuilder
from engine.text.registry import load_tokenizer
from engine.workshop.train.corpus.sequences import Builder, Spoken, collate
from engine.workshop.train.networks.dual_ar import DualAR
from engine.workshop.train.networks.wave_decoder import WaveDecoder
from engine.workshop.train.networks.wave_encoder import WaveEncoder
from engine.workshop.train.recipe import VoiceConfig
from engine.workshop.train.stages.export import speaking_only, sphere, write_checkpoint


def _written(config: VoiceConfig, folder: Path) -> tuple[DualAR, WaveDecoder, WaveEncoder]:
    model, decoder = DualAR(config.model), WaveDecoder(config.codec, config.codec.codebook_dim - 2)
    encoder = WaveEncoder(config.codec)
    for module in (model, decoder, encoder):
        for parameter in module.parameters():
            if parameter.dim() == 1:
                torch.nn.init.uniform_(parameter, 0.5, 1.5)
    decoder.vectors.normal_()
    # What is stored has 8 or 11 bits of mantissa: compare with what was stored.
    for value in model.state_dict().values():
        value.copy_(value.bfloat16())
    for module in (decoder, encoder):
        for value in module.state_dict().values():
            value.copy_(value.half())
    write_checkpoint(folder, config, model.state_dict(), decoder, encoder)
    return model.eval(), decoder.eval(), encoder.eval()


def test_the_engine_decodes_what_was_trained(config: VoiceConfig, tmp_path: Path) -> None:
    _, decoder, _ = _written(config, tmp_path / "voice")
    sizes = torch.tensor(config.codec.codebook_sizes)
    codes = (torch.rand(1, 23, len(sizes)) * sizes).long()
    with torch.no_grad():
        expected = decoder(codes)[0].numpy()
    streaming = StreamingDecoder.from_checkpoint(tmp_path / "voice", max_slots=1)
    made = streaming.decode_whole(codes[0].numpy())
    assert made.shape == expected.shape == (23 * config.codec.frame_samples,)
    # The quantisers' rows are stored in fp16 after lifting, which rounds them a second time.
    assert np.abs(made - expected).max() < 5e-3
    assert np.abs(expected).std() > 1e-3


def test_the_engine_encodes_as_was_trained(config: VoiceConfig, tmp_path: Path) -> None:
    _, decoder, encoder = _written(config, tmp_path / "voice")
    samples = torch.randn(1, 40 * config.codec.frame_samples) * 0.3
    with torch.no_grad():
        latents = encoder(samples)[0]
    books = torch.split(decoder.vectors, list(config.codec.codebook_sizes))
    # The nearest row in the rows' own space, book after book.
    residual = latents @ torch.linalg.pinv(decoder.out_proj.weight.detach()).T
    expected = []
    for rows in books:
        expected.append(torch.cdist(residual, rows).argmin(1))
        residual = residual - rows[expected[-1]]
    engine = Encoder.from_checkpoint(tmp_path / "voice")
    codes = engine.encode(samples[0].numpy(), config.codec.sample_rate_hz)
    assert codes.shape == (40, 3)
    agree = torch.from_numpy(codes.astype(np.int64)) == torch.stack(expected, 1)
    # fp16 rows move a few ties, and each residual book sees what the one before it left.
    assert agree[:, 0].float().mean() > 0.95
    assert agree.float().mean() > 0.85


def test_a_voice_without_an_encoder_still_speaks(config: VoiceConfig, tmp_path: Path) -> None:
    config = replace(config, codec=speaking_only(config.codec))
    decoder = WaveDecoder(config.codec, config.codec.codebook_dim - 2)
    write_checkpoint(tmp_path / "mute", config, DualAR(config.model).state_dict(), decoder)
    assert StreamingDecoder.from_checkpoint(tmp_path / "mute", max_slots=1)
    with pytest.raises(CheckpointError, match="without"):
        Encoder.from_checkpoint(tmp_path / "mute")


def test_the_engine_scores_what_was_trained(config: VoiceConfig, tmp_path: Path) -> None:
    model, _, _ = _written(config, tmp_path / "voice")
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, (9, 3)).astype(np.uint16)
    spoken = Spoken(["h", "ə", "l", "ˈO"], codes, np.array([0, 0, 1, 1, 2, 2, 3, 3, 3]))
    builder = Builder(3, 60)
    sequence = builder.sequence([spoken])
    batch = collate([sequence], 3)
    with torch.no_grad():
        normed = model.slow(model.embed(batch.ids, batch.codes)).normed[0]
        semantic = model.semantic_logits(normed)
        residual = model.fast(normed, batch.target_codes[0][:, :2])
    loop = PlainLoop(tmp_path / "voice", frames_at_once=len(sequence.ids))
    matrix = np.concatenate([batch.ids.numpy(), batch.codes[0].numpy().T])
    with torch.inference_mode():
        hidden = loop.slow.norm(loop.hidden(matrix))
        assert_close(loop.slow.logits(hidden), semantic, atol=2e-4, rtol=1e-3)
        assert_close(
            loop.fast.teacher_forced(hidden, batch.target_codes[0]), residual, atol=2e-4, rtol=1e-3
        )


def test_training_sequences_are_the_engines_prompts(config: VoiceConfig, tmp_path: Path) -> None:
    from engine.text.frontend.reader import Reader
    from engine.text.prompt import Reference, Turn

    _written(config, tmp_path / "voice")
    checkpoint = Checkpoint.open(tmp_path / "voice")
    prompts = PromptBuilder(load_tokenizer(checkpoint), checkpoint)
    reader, builder = Reader(), Builder(3, 60)
    codes = np.arange(15, dtype=np.uint16).reshape(5, 3)

    def spoken(text: str) -> Spoken:
        return Spoken(reader(text)[0], codes, np.zeros(5, np.int64))

    def start(text: str) -> Spoken:
        return Spoken(reader(text)[0], codes[:0], np.zeros(0, np.int64))

    plain = prompts.build("Hello there.")
    assert plain.input_ids == builder.sequence([start("Hello there.")]).ids[:-1]
    dialogue = prompts.build("Hello there.", history=[Turn("Good morning!", codes)])
    assert (
        dialogue.input_ids
        == builder.sequence([spoken("Good morning!"), start("Hello there.")]).ids[:-1]
    )
    cloned = prompts.build("Hello there.", references=[Reference("I am a voice.", codes)])
    expected = builder.sequence([start("Hello there.")], spoken("I am a voice."))
    assert cloned.input_ids == expected.ids[:-1]
    assert (cloned.matrix()[1:] == np.stack(expected.codes[:-1]).T).all()


def test_cosine_search_over_lifted_rows_is_euclidean_search() -> None:
    rows, points = torch.randn(50, 8) * torch.rand(50, 1) * 3, torch.randn(400, 8) * 2
    lifted, constant = sphere(rows)
    queries = torch.cat([points, torch.tensor([[constant, 0.0]]).expand(400, 2)], 1)
    cosine = torch.nn.functional.normalize(queries) @ torch.nn.functional.normalize(lifted).T
    assert (cosine.argmax(1) == torch.cdist(points, rows).argmin(1)).float().mean() > 0.99
