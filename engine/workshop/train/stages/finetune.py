"""Fine-tune any checkpoint in the S2-Pro layout on recordings: a folder of `name.wav` + `name.txt`.

    python -m engine.workshop.train finetune CHECKPOINT RECORDINGS OUT --minutes 30 --lora-rank 16

The codec and the text front end stay as they are: recordings become codes by the checkpoint's own
encoder, texts become prompts by the engine's own builder. With a rank only adapters are trained and
then merged; without one all weights are. The result is a complete checkpoint.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from engine.checkpoint.folder import SINGLE_FILE, Checkpoint
from engine.codec.encoder import Encoder
from engine.text.prompt import PromptBuilder
from engine.text.registry import load_tokenizer
from engine.workshop.train.corpus.sequences import IGNORE, Batch, TrainingSequence, collate
from engine.workshop.train.corpus.wav import read_wav
from engine.workshop.train.networks.dual_ar import DualAR
from engine.workshop.train.networks.lora import add_adapters, merge_adapters
from engine.workshop.train.stages.run import Run, clip, schedule, set_rate

_WEIGHT_FILES = ("*.safetensors", "model.safetensors.index.json")


@dataclass(frozen=True, slots=True)
class FinetunePlan:
    """Settings. `lora_rank` 0: all weights. `residual_share`: frames whose residual codes count."""

    budget_s: float
    lora_rank: int = 16
    rate: float = 2e-4
    positions_per_batch: int = 1400
    residual_share: float = 0.5
    device: str = "cpu"
    seed: int = 0


def pairs(folder: Path) -> list[tuple[Path, str]]:
    """Recordings with their transcripts. Raises FileNotFoundError, which names what is missing."""
    found = sorted(folder.glob("*.wav"))
    if not found:
        raise FileNotFoundError(f"{folder}: expected name.wav files with name.txt beside them")
    missing = [path.name for path in found if not path.with_suffix(".txt").is_file()]
    if missing:
        raise FileNotFoundError(f"{folder}: expected a .txt beside {', '.join(missing[:10])}")
    return [(path, path.with_suffix(".txt").read_text("utf-8").strip()) for path in found]


class Recordings:
    """Recordings as training sequences of one checkpoint."""

    def __init__(self, checkpoint: Checkpoint, folder: Path) -> None:
        self._config = checkpoint.config
        self._prompts = PromptBuilder(load_tokenizer(checkpoint), checkpoint)
        encoder = Encoder.from_checkpoint(checkpoint.path)
        self.sequences = []
        for path, text in pairs(folder):
            samples, rate_hz = read_wav(path)
            self.sequences.append(self.sequence(text, encoder.encode(samples, rate_hz)))

    def sequence(self, text: str, codes: np.ndarray) -> TrainingSequence:
        """The engine's prompt for `text`, then the frames [T, books] and the end, to be learned."""
        config = self._config
        prompt = self._prompts.build(text).input_ids
        blank = np.zeros(config.num_codebooks, np.uint16)
        frames = (codes[:, 0].astype(np.int64) + config.semantic_start_token_id).tolist()
        before = len(prompt) - 1
        return TrainingSequence(
            ids=[*prompt, *frames, config.eos_token_id],
            codes=[blank] * len(prompt) + list(codes) + [blank],
            target=[IGNORE] * before + codes[:, 0].tolist() + [config.num_semantic, IGNORE],
            target_codes=[blank] * before + list(codes) + [blank, blank],
            guide=[-1] * (len(prompt) + len(frames) + 1),
        )

    def batches(self, positions: int, seed: int) -> Iterator[Batch]:
        """Endless shuffled batches of at most `positions`, or one sequence."""
        rng = random.Random(seed)
        while True:
            group: list[TrainingSequence] = []
            for sequence in rng.sample(self.sequences, len(self.sequences)):
                width = max(len(item.ids) for item in [*group, sequence])
                if group and width * (len(group) + 1) > positions:
                    yield collate(group, self._config.num_codebooks)
                    group = []
                group.append(sequence)
            yield collate(group, self._config.num_codebooks)


def speech_loss(
    model: DualAR, batch: Batch, residual_share: float, generator: torch.Generator
) -> dict[str, Tensor]:
    """Cross-entropy of the semantic and of the residual codes."""
    device = model.slow_turn.device
    ids, codes = batch.ids.to(device), batch.codes.to(device)
    normed = model.slow(model.embed(ids, codes)).normed
    wanted = (batch.target != IGNORE).to(device)
    target = batch.target.to(device)[wanted]
    logits = model.semantic_logits(normed[wanted]).float()
    frames = (target < logits.shape[-1] - 1).nonzero().flatten()
    count = max(int(len(frames) * residual_share), 1)
    frames = frames[torch.randperm(len(frames), generator=generator)[:count].to(device)]
    true = batch.target_codes.to(device)[wanted][frames]
    residual = model.fast(normed[wanted][frames], true[:, :-1]).float()
    return {
        "semantic": F.cross_entropy(logits, target),
        "residual": F.cross_entropy(residual.flatten(0, 1), true[:, 1:].flatten()),
    }


def load_model(checkpoint: Checkpoint, device: str = "cpu") -> DualAR:
    """The checkpoint's Dual-AR in the form that learns, fp32."""
    model = DualAR(checkpoint.config)
    tensors = {name: t for shard in checkpoint.shards for name, t in load_file(shard).items()}
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model.to(device)


def save_model(model: DualAR, source: Checkpoint, target: Path) -> None:
    """A complete checkpoint: the source's other files, and these weights in bf16."""
    shutil.copytree(source.path, target, ignore=shutil.ignore_patterns(*_WEIGHT_FILES))
    weights = {name: v.bfloat16().cpu().contiguous() for name, v in model.state_dict().items()}
    save_file(weights, target / SINGLE_FILE)


def finetune(source: Path, folder: Path, target: Path, plan: FinetunePlan) -> None:
    """Train on a folder of recordings and write the result to `target`, which must not exist.

    Interrupted, it resumes from `target`.state. Raises CheckpointError for a bad checkpoint or one
    without an encoder, FileNotFoundError for bad data, FileExistsError.
    """
    if target.exists():
        raise FileExistsError(f"{target}: expected a new folder for the result")
    checkpoint = Checkpoint.open(source)
    recordings = Recordings(checkpoint, folder)
    model = load_model(checkpoint, plan.device).train()
    torch.manual_seed(plan.seed)
    parameters: Sequence[torch.nn.Parameter] = list(model.parameters())
    if plan.lora_rank:
        parameters = add_adapters(model, plan.lora_rank)
    optimiser = torch.optim.AdamW(parameters, plan.rate, betas=(0.9, 0.98), weight_decay=0.0)
    state = target.with_name(target.name + ".state")
    run = Run(state, {"model": model, "optimiser": optimiser}, plan.budget_s)
    batches = recordings.batches(plan.positions_per_batch, plan.seed + run.step)
    generator = torch.Generator().manual_seed(plan.seed + run.step)
    device = torch.device(plan.device).type
    for step in run.steps():
        set_rate(optimiser, plan.rate * schedule(run.progress, step, warmup_steps=20))
        with torch.autocast(device, torch.bfloat16):
            parts = speech_loss(model, next(batches), plan.residual_share, generator)
        optimiser.zero_grad(set_to_none=True)
        (parts["semantic"] + parts["residual"]).backward()
        clip(model)
        optimiser.step()
        run.record(**{name: value.item() for name, value in parts.items()})
    merge_adapters(model)
    save_model(model, checkpoint, target)
    shutil.rmtree(state)
