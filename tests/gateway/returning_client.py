"""A client whose connections fail."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.types import (
    Event,
    Hello,
)
from tests.gateway.fakes import Harness


@dataclass
class Client:
    """What a client has, whatever the connections did."""

    h: Harness
    received: list[Event] = field(default_factory=list)
    taken: int = 0  # of h.sent: what the present connection has brought
    greetings: list[Hello] = field(default_factory=list)

    def take(self, lost: int = 0) -> None:
        """Read all that came, less the last `lost` messages."""
        end = max(len(self.h.sent) - lost, self.taken, 1)  # without the greeting no token
        for _, event in self.h.sent[self.taken : end]:
            self._read(event)
        self.taken = len(self.h.sent)

    def come_back(self) -> None:
        told = self.h.session.resume(len(self.received), self.h.now_ms)
        self.taken = len(self.h.sent)
        for event in told:
            self._read(event)
        self.h.collect()

    def _read(self, event: Event) -> None:
        if isinstance(event, Hello):
            self.greetings.append(event)
        else:
            self.received.append(event)
