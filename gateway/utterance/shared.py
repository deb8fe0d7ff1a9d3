"""What the utterances of one session share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.types import ChainFactory, Effect, EngineFacts, Limits, SegmenterFactory
from gateway.utterance.faded_tail import FadedTail
from gateway.utterance.history import Prosody
from gateway.utterance.word_times import SpeechRate


@dataclass(frozen=True, slots=True)
class Shared:
    """Given to every utterance. `emit` takes effects in their order."""

    session_id: str
    facts: EngineFacts
    limits: Limits
    chains: ChainFactory
    segmenters: SegmenterFactory
    rate: SpeechRate
    prosody: Prosody
    faded_tail: FadedTail
    emit: Callable[[Effect], None]
    next_number: Callable[[], int]
    next_request_id: Callable[[], str]
