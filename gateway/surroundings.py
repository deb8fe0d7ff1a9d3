"""What the utterances of one session share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.context import SegmenterFactory
from gateway.history import Prosody
from gateway.joint import Joint
from gateway.speech import ChainFactory
from gateway.types import Effect, EngineFacts, Limits
from gateway.words import SpeechRate


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Given to every utterance. `emit` takes effects in their order."""

    session_id: str
    facts: EngineFacts
    limits: Limits
    chains: ChainFactory
    segmenters: SegmenterFactory
    rate: SpeechRate
    prosody: Prosody
    joint: Joint
    emit: Callable[[Effect], None]
    next_number: Callable[[], int]
    next_request_id: Callable[[], str]
