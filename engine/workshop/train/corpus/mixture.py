"""Which sequences the Dual-AR is trained on: single texts, long texts, dialogues, cloned voices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.text.frontend import phones
from engine.workshop.train.corpus.data import Framed
from engine.workshop.train.corpus.sequences import Batch, Builder, Spoken, TrainingSequence, collate
from engine.workshop.train.corpus.teacher import Voice


@dataclass(frozen=True, slots=True)
class MixturePlan:
    """Shares of sequences; the rest are single texts.

    join: two utterances as one text; history: others as earlier turns, `most_turns` in all; cut: an
    utterance cut at a comma into two turns, as a gateway that speaks clause by clause does; bare:
    the last mark left out. clone: of utterances in other voices, with a reference of the same
    voice.
    """

    join: float = 0.12
    history: float = 0.12
    cut: float = 0.08
    bare: float = 0.08
    clone: float = 0.25
    most_turns: int = 4
    positions_per_batch: int = 1400


def spoken(item: Framed, codes: np.ndarray) -> Spoken:
    """An utterance with its codes; a style becomes a tag in front of its text."""
    tokens, frame_token = list(item.utterance.tokens), item.frame_token
    if item.utterance.style:
        tokens, frame_token = [item.utterance.style, *tokens], frame_token + 1
    return Spoken(tokens, codes, frame_token)


class Mixture:
    """Endless batches of similar lengths from a corpus and its codes."""

    def __init__(
        self,
        corpus: Sequence[Framed],
        codes: Sequence[np.ndarray],
        plan: MixturePlan,
        builder: Builder,
        seed: int,
    ) -> None:
        self._plan, self._builder = plan, builder
        self._rng = np.random.default_rng(seed)
        default = Voice()
        items = [spoken(item, row) for item, row in zip(corpus, codes, strict=True)]
        voices = [item.utterance.voice for item in corpus]
        self._plain = [item for item, voice in zip(items, voices, strict=True) if voice == default]
        groups: dict[Voice, list[Spoken]] = defaultdict(list)
        for item, voice in zip(items, voices, strict=True):
            groups[voice].append(item)
        self._groups = [group for group in groups.values() if len(group) > 1]

    def sequence(self) -> TrainingSequence:
        """One sequence, drawn by the plan."""
        plan, rng = self._plan, self._rng
        if self._groups and rng.random() < plan.clone:
            return self._cloned()
        turn = self._pick(self._plain)
        draw = rng.random()
        if draw < plan.join:
            return self._build([turn.then(self._pick(self._plain), [phones.SPACE])])
        if draw < plan.join + plan.history:
            earlier = int(self._rng.integers(1, self._plan.most_turns))
            return self._build([*(self._pick(self._plain) for _ in range(earlier)), turn])
        if draw < plan.join + plan.history + plan.cut:
            return self._build(self._cut(turn))
        return self._build([turn])

    def _pick(self, items: Sequence[Spoken]) -> Spoken:
        item = items[int(self._rng.integers(len(items)))]
        if self._rng.random() < self._plan.bare and item.tokens[-1] in ".":
            last = len(item.tokens) - 1
            return Spoken(item.tokens[:-1], item.codes, np.minimum(item.frame_token, last - 1))
        return item

    def _cut(self, turn: Spoken) -> list[Spoken]:
        places = [
            index + 1
            for index, token in enumerate(turn.tokens[:-3])
            if token in ",;:" and turn.tokens[index + 1] == phones.SPACE and index > 2
        ]
        if not places:
            return [turn]
        first, second = turn.split(places[int(self._rng.integers(len(places)))])
        second = Spoken(second.tokens[1:], second.codes, np.maximum(second.frame_token - 1, 0))
        return [first, second] if len(first.codes) and len(second.codes) else [turn]

    def _cloned(self) -> TrainingSequence:
        group = self._groups[int(self._rng.integers(len(self._groups)))]
        first, second = self._rng.choice(len(group), 2, replace=False)
        return self._builder.sequence([group[second]], group[first], self._rng)

    def _build(self, turns: Sequence[Spoken]) -> TrainingSequence:
        return self._builder.sequence(turns, None, self._rng)

    def batches(self, pool: int = 96) -> Iterator[Batch]:
        """Batches of about `positions_per_batch` positions, from pools sorted by length."""
        while True:
            drawn = sorted((self.sequence() for _ in range(pool)), key=lambda s: len(s.ids))
            groups: list[list[TrainingSequence]] = [[]]
            for sequence in drawn:
                width = len(sequence.ids)
                if groups[-1] and width * (len(groups[-1]) + 1) > self._plan.positions_per_batch:
                    groups.append([])
                groups[-1].append(sequence)
            for index in self._rng.permutation(len(groups)):
                yield collate(groups[index], self._builder.books)


def load_codes(path: Path) -> list[np.ndarray]:
    """Codes of a corpus as written by the codes stage: one array [frames, books] an utterance."""
    with np.load(path) as data:
        bounds = np.cumsum(data["frames"])[:-1]
        return np.split(data["codes"], bounds)
