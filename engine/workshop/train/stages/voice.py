"""The built-in voice from nothing: corpus, codes, decoder, Dual-AR, export. Every stage resumes.

work/corpus/shard_0000.npz ...   utterances            (needs the teacher: extra `train`)
work/steps/shard_0000.npz ...    their parameters, where the codec has a vocoder
work/codes/last.pt               what a code is
work/codes/shard_0000.npz ...    the corpus as codes
work/wave/, work/ar/             decoder and Dual-AR in training (they can run side by side); a
                                 vocoder's decoder is trained with the codes
work/export/                     the checkpoint, replaced in one move
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.text.frontend import phones, vocabulary
from engine.workshop.train.corpus.corpus import CorpusPlan, make_corpus
from engine.workshop.train.corpus.data import Framed, load_corpus
from engine.workshop.train.corpus.mixture import Mixture, MixturePlan, load_codes
from engine.workshop.train.corpus.sequences import Batch, Builder
from engine.workshop.train.corpus.voice_steps import Stepped, read_steps, write_steps
from engine.workshop.train.networks.code_maker import CodeMaker
from engine.workshop.train.networks.dual_ar import DualAR
from engine.workshop.train.networks.quantise import AnchoredResidualQuantiser
from engine.workshop.train.networks.vocoder_codec import VocoderCodec, VocoderDecoder
from engine.workshop.train.networks.wave_decoder import WaveDecoder
from engine.workshop.train.networks.wave_encoder import WaveEncoder
from engine.workshop.train.recipe import VoiceConfig
from engine.workshop.train.stages.export import export
from engine.workshop.train.stages.run import done
from engine.workshop.train.stages.train_ar import ArPlan, train_ar
from engine.workshop.train.stages.train_codes import CodesPlan, encode, train_codes
from engine.workshop.train.stages.train_encoder import EncoderPlan, Landing, train_encoder
from engine.workshop.train.stages.train_vocoder import (
    VocoderPlan,
    encode_steps,
    train_vocoder,
    trained_vocoder,
)
from engine.workshop.train.stages.train_wave import WavePlan, train_wave, trained_weights

VECTOR_DIM = 64
_HELD_OUT = 64  # utterances at the end of the first shard


def evaluation_sentences() -> dict[str, list[str]]:
    """The sentences the voice is judged by, by kind; never in the corpus."""
    text = files("engine.workshop.train.judging").joinpath("eval_sentences.toml").read_text("utf-8")
    return tomllib.loads(text)


@torch.no_grad()
def start_from_phones(model: DualAR, row_anchor: Tensor) -> None:
    """Start every semantic code's embedding, which is also its output row, from its phone's.

    row_anchor [S]: the anchor of each code. A token that attends to a phone then already scores
    that phone's codes; the stressed forms of a vowel start alike, too.
    """
    table = model.trunk.embeddings.weight
    ids = vocabulary.ids()
    base = torch.randn(len(phones.ANCHORS), table.shape[1]) * table.std()
    for token in phones.PHONE_TOKENS:
        table[ids[token]] = base[phones.anchor(token)] + 0.3 * table[ids[token]]
    first = vocabulary.SEMANTIC_START
    codes = table[first : first + len(row_anchor)]
    codes.copy_(base[row_anchor.clamp(min=0)] + 0.4 * codes)


class VoiceProject:
    """A work folder and a configuration; one method a stage."""

    def __init__(self, work: Path, config: VoiceConfig) -> None:
        self.work, self.config = work, config
        self.frame_samples = config.codec.frame_samples
        self.rate_hz = config.codec.sample_rate_hz

    def _section(self, name: str) -> dict[str, Any]:
        return dict(self.config.sections.get(name, {}))

    def corpus(self, first: int = 0, step: int = 1) -> None:
        """Make the shards first, first + step, ...: several processes can share the work."""
        plan = self._section("corpus")
        shards = range(first, plan.pop("shards"), step)
        excluded = [text for texts in evaluation_sentences().values() for text in texts]
        for path in make_corpus(self.work / "corpus", CorpusPlan(**plan), shards, excluded):
            print(f"[corpus] {path.name} of {plan.get('shards', shards.stop)}", flush=True)

    def _shards(self) -> list[Path]:
        paths = sorted((self.work / "corpus").glob("shard_????.npz"))
        if not paths:
            raise FileNotFoundError(f"{self.work / 'corpus'}: expected shards, found none")
        return paths

    def _load(self, paths: list[Path], sound: bool = True) -> list[Framed]:
        return load_corpus(paths, self.frame_samples, self.rate_hz, sound)

    @property
    def _has_vocoder(self) -> bool:
        return self.config.codec.has_vocoder

    def analyse(self) -> None:
        """Find the vocoder's parameters of the corpus, shard by shard."""
        for path in self._shards():
            if write_steps(path, self.work / "steps" / path.name, self.config.codec):
                print(f"[analyse] {path.name}", flush=True)

    def _steps(self, paths: list[Path]) -> list[Stepped]:
        return [
            item
            for path in paths
            for item in read_steps(path, self.work / "steps" / path.name, self.config.codec)
        ]

    def vocoder_codec(self) -> VocoderCodec:
        """Codes and decoder of a vocoder, with their trained weights where there are any."""
        codec = VocoderCodec(self.config.codec, VECTOR_DIM)
        path = self.work / "codes" / "last.pt"
        if path.exists():
            codec.load_state_dict(torch.load(path, weights_only=True)["model"])
        return codec

    def quantiser(self) -> AnchoredResidualQuantiser:
        """The books."""
        return (self.vocoder_codec() if self._has_vocoder else self.maker()).quantiser

    def maker(self) -> CodeMaker:
        """The code maker, with its trained weights where there are any."""
        codec = self.config.codec
        maker = CodeMaker(
            self.rate_hz,
            self.frame_samples,
            VECTOR_DIM,
            codec.semantic_codebook_size,
            codec.residual_codebook_size,
            codec.n_residual_codebooks,
        )
        path = self.work / "codes" / "last.pt"
        if path.exists():
            maker.load_state_dict(torch.load(path, weights_only=True)["maker"])
        return maker

    def codes(self) -> None:
        """Train what makes codes, and with a vocoder what decodes them."""
        if self._has_vocoder:
            vocoder_plan = VocoderPlan(**self._section("codes"))
            corpus = self._steps(self._shards())
            train_vocoder(self.vocoder_codec(), corpus, vocoder_plan, self.work / "codes")
            return
        plan = CodesPlan(**self._section("codes"))
        train_codes(
            self.maker(), self._load(self._shards()), self.frame_samples, plan, self.work / "codes"
        )

    def encode(self) -> None:
        """Turn the corpus into codes, shard by shard."""
        coded_by = self._coder()
        for path in self._shards():
            target = self.work / "codes" / path.name
            if target.exists():
                continue
            rows = coded_by(path)
            part = target.with_suffix(".part.npz")
            np.savez(part, codes=np.concatenate(rows), frames=np.array([len(row) for row in rows]))
            os.replace(part, target)
            print(f"[encode] {path.name}", flush=True)

    def _coder(self) -> Callable[[Path], list[NDArray[np.uint16]]]:
        """A shard's path -> the codes of its utterances."""
        if self._has_vocoder:
            codec = self.vocoder_codec().eval()
            return lambda path: [encode_steps(codec, item) for item in self._steps([path])]
        maker = self.maker().eval()
        return lambda path: [encode(maker, item, self.frame_samples) for item in self._load([path])]

    def coded(
        self, limit: int | None = None, sound: bool = True
    ) -> tuple[list[Framed], list[np.ndarray]]:
        """The part of the corpus that has codes (its first `limit` shards), and the codes."""
        paths = [path for path in self._shards() if (self.work / "codes" / path.name).exists()][
            :limit
        ]
        codes = [row for path in paths for row in load_codes(self.work / "codes" / path.name)]
        return self._load(paths, sound), codes

    def decoder(self) -> WaveDecoder:
        """A decoder whose vectors are the code maker's books."""
        decoder = WaveDecoder(self.config.codec, VECTOR_DIM)
        decoder.vectors.copy_(self.maker().quantiser.rows())
        return decoder

    def trained_decoder(self) -> WaveDecoder | VocoderDecoder:
        """The decode path as last saved."""
        if self._has_vocoder:
            return trained_vocoder(self.vocoder_codec(), self.work / "codes").eval()
        decoder = self.decoder()
        decoder.load_state_dict(trained_weights(self.work / "wave"))
        return decoder.eval()

    def wave(self) -> None:
        """Train the decode path, where it was not trained with the codes."""
        if self._has_vocoder:
            return
        corpus, codes = self.coded()
        torch.manual_seed(2)
        train_wave(
            self.decoder(), corpus, codes, WavePlan(**self._section("wave")), self.work / "wave"
        )

    def encoder(self) -> None:
        """Teach the encode path, once the decode path is done (its projection must stand still)."""
        torch.manual_seed(4)
        decoder = self.trained_decoder()
        into = torch.linalg.pinv(decoder.out_proj.weight.detach())
        landing = Landing(into, self.quantiser().anchored.rows.clone())
        plan = EncoderPlan(**self._section("encoder"))
        encoder = WaveEncoder(self.config.codec)
        train_encoder(encoder, landing, decoder, self.coded(), plan, self.work / "encoder")

    def ar(self) -> None:
        """Train the Dual-AR."""
        corpus, codes = self.coded(sound=False)
        codec = self.config.codec
        builder = Builder(codec.n_codebooks, codec.semantic_codebook_size)
        torch.manual_seed(3)
        model = DualAR(self.config.model)
        start_from_phones(model, self.quantiser().anchored.row_anchor)
        plan = MixturePlan(**self._section("mixture"))
        seed = 3 + done(self.work / "ar")[0]
        mixture = Mixture(corpus[_HELD_OUT:], codes[_HELD_OUT:], plan, builder, seed)
        held_out = self._held_out(corpus, codes, builder)
        section = self._section("ar")
        train_ar(model, mixture, held_out, ArPlan(**section), self.work / "ar", seed)

    def _held_out(
        self, corpus: list[Framed], codes: list[np.ndarray], builder: Builder
    ) -> list[Batch]:
        plan = MixturePlan(join=0.0, history=0.0, cut=0.0, bare=0.0, clone=0.0)
        mixture = Mixture(corpus[:_HELD_OUT], codes[:_HELD_OUT], plan, builder, seed=0)
        batches = mixture.batches(32)
        return [next(batches) for _ in range(4)]

    def left_s(self) -> dict[str, float]:
        """Processor seconds that each stage with a budget still takes."""
        return {
            name: max(section["budget_s"] - done(self.work / name)[1], 0.0)
            for name, section in self.config.sections.items()
            if "budget_s" in section
        }

    def stages(self) -> dict[str, Callable[[], None]]:
        """All stages, in order."""
        return {
            "corpus": self.corpus,
            **({"analyse": self.analyse} if self._has_vocoder else {}),
            "codes": self.codes,
            "encode": self.encode,
            "wave": self.wave,
            "ar": self.ar,
            "encoder": self.encoder,
            "export": lambda: export(
                self.work, self.config, self.trained_decoder(), self.work / "export"
            ),
        }
