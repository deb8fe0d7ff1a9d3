"""Let a Dual-AR in training speak: a plain batched loop, for evaluation while it learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.workshop.train.networks.dual_ar import DualAR, KeyValues


@dataclass(frozen=True, slots=True)
class Drawing:
    """How tokens are drawn; temperature 0 is greedy. The filter is that of the model's authors:
    top-k, and top-p over the probabilities before the temperature.
    """

    temperature: float = 0.3
    residual_temperature: float = 0.5
    top_p: float = 0.9
    top_k: int = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """codes [frames, books]; `stopped`: the model ended by itself; `guide` [frames]: the prompt
    position that the first alignment head looked at most.
    """

    codes: Tensor
    stopped: bool
    guide: Tensor


def draw(logits: Tensor, temperature: float, how: Drawing, generator: torch.Generator) -> Tensor:
    """logits [B, N] -> indices [B]."""
    if temperature <= 0:
        return logits.argmax(-1)
    ordered, index = logits.float().sort(dim=-1, descending=True)
    drop = ordered.softmax(-1).cumsum(-1) > how.top_p
    drop[:, 0] = False
    drop[:, how.top_k :] = True
    weights = (ordered.masked_fill(drop, float("-inf")) / temperature).softmax(-1)
    return index.gather(1, torch.multinomial(weights, 1, generator=generator)).squeeze(1)


class Speaker:
    """Holds a model in evaluation; `speak` answers many prompts at once."""

    def __init__(self, model: DualAR, guide_head: tuple[int, int] = (1, 0)) -> None:
        self.model, self.config = model.eval(), model.config
        self.guide_head = guide_head

    @torch.no_grad()
    def speak(
        self,
        prompts: Sequence[tuple[Tensor, Tensor]],
        how: Drawing,
        max_frames: Sequence[int],
        seed: int = 0,
    ) -> list[Answer]:
        """prompts: (ids [L], codes [L, books]) each; generates until the end or max_frames each."""
        model, books = self.model, self.config.num_codebooks
        slow = self.config.text_config
        longest, room = max(len(ids) for ids, _ in prompts), max(max_frames)
        batch, total = len(prompts), longest + room
        ids = torch.full((batch, longest), self.config.pad_token_id)
        codes = torch.zeros(batch, longest, books, dtype=torch.long)
        pad = torch.tensor([longest - len(ids_) for ids_, _ in prompts])
        for row, (ids_, codes_) in enumerate(prompts):
            ids[row, longest - len(ids_) :] = ids_
            codes[row, longest - len(ids_) :] = codes_
        shape = (batch, slow.n_local_heads, total, slow.head_dim)
        caches = [KeyValues(torch.zeros(shape), torch.zeros(shape)) for _ in range(slow.n_layer)]
        columns = torch.arange(total)
        seen = columns[None] >= pad[:, None]  # [B, total]
        causal = columns[:longest, None] >= columns[None, :longest]
        # A row of padding must see something: itself.
        mask = (causal & seen[:, None, :longest]) | torch.eye(longest, dtype=torch.bool)
        positions = (torch.arange(longest) - pad[:, None]).clamp(min=0)
        layer, head = self.guide_head
        watch = frozenset({layer})
        generator = torch.Generator().manual_seed(seed)
        out = model.slow(model.embed(ids, codes), caches, mask[:, None], positions, watch)
        made, guides = [], []
        limit = torch.tensor(max_frames)
        ended = torch.full((batch,), -1)
        for frame in range(room + 1):
            normed = out.normed[:, -1]
            code = draw(model.semantic_logits(normed), how.temperature, how, generator)
            end = self.config.num_semantic
            over = (code == end) | (limit <= frame)
            ended = torch.where((ended < 0) & over, frame, ended)
            if bool((ended >= 0).all()) or frame == room:
                break
            guides.append(self._look(out.guides[layer], caches[layer], head, seen, longest) - pad)
            frame_codes = self._residuals(normed, code.clamp(max=end - 1), how, generator)
            made.append(frame_codes)
            token = frame_codes[:, :1] + self.config.semantic_start_token_id
            position = (longest - pad + frame)[:, None]
            now = seen[:, None, None, : longest + frame + 1]
            out = model.slow(model.embed(token, frame_codes[:, None]), caches, now, position, watch)
        stacked = torch.stack(made, 1) if made else torch.zeros(batch, 0, books, dtype=torch.long)
        looks = torch.stack(guides, 1) if guides else torch.zeros(batch, 0, dtype=torch.long)
        return [
            Answer(
                stacked[row, : int(ended[row])],
                int(ended[row]) < max_frames[row],
                looks[row, : int(ended[row])],
            )
            for row in range(batch)
        ]

    def _look(
        self, qk: tuple[Tensor, Tensor], cache: KeyValues, head: int, seen: Tensor, prompt: int
    ) -> Tensor:
        ratio = self.config.text_config.n_head // self.config.text_config.n_local_heads
        keys = cache.keys[:, head // ratio, :prompt]
        scores = torch.einsum("bd,bld->bl", qk[0][:, head, -1], keys)
        return scores.masked_fill(~seen[:, :prompt], float("-inf")).argmax(-1)

    def _residuals(
        self, normed: Tensor, code: Tensor, how: Drawing, generator: torch.Generator
    ) -> Tensor:
        codes = code[:, None]
        for _ in range(self.config.num_codebooks - 1):
            logits = self.model.fast(normed, codes)[:, -1]
            drawn = draw(logits, how.residual_temperature, how, generator)
            codes = torch.cat([codes, drawn[:, None]], 1)
        return codes
