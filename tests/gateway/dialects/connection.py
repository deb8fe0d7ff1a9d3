"""A dialect on a session of the core, in virtual time: frames in, frames out, no socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gateway.dialects import Close, Dialect, Frame, Opening
from gateway.errors import ClientError
from gateway.types import Command, EngineFacts, Limits, VoiceNames
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import FakeEngine, Harness


def opening(
    query: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    path: dict[str, str] | None = None,
    limits: Limits | None = None,
    voices: VoiceNames | None = None,
    facts: EngineFacts = FACTS,
) -> Opening:
    """What a handshake says."""
    voices = voices or VoiceNames(facts.voices)
    return Opening(path or {}, query or {}, headers or {}, (), facts, limits or Limits(), voices)


class Connection:
    """One client. `frames`: all that it was sent."""

    def __init__(
        self,
        open_dialect: Callable[[Opening], Dialect],
        given: Opening | None = None,
        engine: FakeEngine | None = None,
    ) -> None:
        given = given or opening()
        self.dialect = open_dialect(given)
        self.harness = Harness(engine, given.limits)
        self.frames: list[str | bytes] = []
        self.closed: Close | None = None
        self._seen = 0
        self._settle()

    def send(self, raw: str | bytes | dict[str, Any]) -> None:
        """One message of the client; a dict goes as JSON."""
        if self.closed is not None:
            return
        message = json.dumps(raw) if isinstance(raw, dict) else raw
        commands: list[Command] = []
        try:
            for item in self.dialect.decode(message):
                if isinstance(item, str | bytes | Close):
                    self._put(item)
                else:
                    commands.append(item)
        except ClientError as error:
            self.harness.session.refuse(error)
            self.harness.collect()
            self._settle()
            if error.close_code is not None:
                self._put(self.dialect.closing(error))
            return
        self.harness.session.receive(commands, self.harness.now_ms)
        self.harness.collect()
        self._settle()

    def run(self, duration_ms: float = 60_000.0) -> None:
        """Let time pass."""
        self.harness.run(duration_ms)
        self._settle()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The JSON ones."""
        return [json.loads(frame) for frame in self.frames if isinstance(frame, str)]

    @property
    def kinds(self) -> list[str]:
        """Their types, and `audio` for each run of binary ones, in order."""
        found: list[str] = []
        for frame in self.frames:
            kind = "audio" if isinstance(frame, bytes) else str(json.loads(frame)["type"])
            if kind != "audio" or found[-1:] != ["audio"]:
                found.append(kind)
        return found

    def take(self) -> list[str | bytes]:
        """What came since the last time."""
        taken, self.frames = self.frames, []
        return taken

    def _settle(self) -> None:
        events = self.harness.sent[self._seen :]
        self._seen = len(self.harness.sent)
        for _, event in events:
            for frame in self.dialect.encode(event):
                self._put(frame)

    def _put(self, frame: Frame) -> None:
        if self.closed is not None:
            return
        if isinstance(frame, Close):
            self.closed = frame
        else:
            self.frames.append(frame)
