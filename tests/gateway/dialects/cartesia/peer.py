"""A client of Cartesia's socket at a session in virtual time; nothing is on a network."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any

from gateway.audio import make_chain
from gateway.dialects import Close, Frame, Opening
from gateway.dialects.cartesia.socket import ContextSocket, socket_limits
from gateway.errors import ClientError
from gateway.text.segment import segmenter_for
from gateway.types import Command, ContextSettings, Limits, VoiceNames
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import FakeEngine, Harness

ENGLISH = dataclasses.replace(FACTS, languages=("en",))
VOICE = {"mode": "id", "id": "6ccbfb76-1fc6-48f7-b71d-91ac6298247b"}
RAW = {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 16_000}
BYTES_PER_MS = 32  # of RAW


def opening_of(query: dict[str, str] | None = None, limits: Limits | None = None) -> Opening:
    """A handshake of a client whose voice is `other` here."""
    return Opening(
        path={},
        query=query or {},
        headers={},
        subprotocols=(),
        facts=ENGLISH,
        limits=limits or Limits(),
        voices=VoiceNames(FACTS.voices, {VOICE["id"]: "other"}),
    )


class Peer:
    """`frames`: every frame that was sent to the client."""

    def __init__(
        self,
        engine: FakeEngine | None = None,
        query: dict[str, str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        opening = opening_of(query, limits)
        self.dialect = ContextSocket(opening)
        self.harness = Harness(
            engine or FakeEngine(facts=ENGLISH),
            socket_limits(opening),
            chain=lambda f, s: make_chain(f, FACTS.sample_rate_hz, s),  # type: ignore[arg-type,return-value]
            segmenter_factory=self._segmenter,
            independent_contexts=True,
        )
        self.settings: list[ContextSettings] = []  # of each context, once its text has come
        self.frames: list[dict[str, Any]] = []
        self._seen = 0
        self._look()

    def _segmenter(self, settings: ContextSettings) -> Any:
        self.settings.append(settings)
        return segmenter_for(settings)

    def say(self, transcript: str = "", context_id: str = "a", **more: Any) -> None:
        """A message as the SDK makes them: everything is in each."""
        given = {"model_id": "sonic-3", "voice": VOICE, "output_format": RAW, "language": "en"}
        self.send(**{**given, "context_id": context_id, "transcript": transcript, **more})

    def end(self, context_id: str = "a") -> None:
        self.say(context_id=context_id, **{"continue": False})

    def go_on(self, transcript: str, context_id: str = "a", **more: Any) -> None:
        self.say(transcript, context_id, **{"continue": True, **more})

    def send(self, **message: Any) -> None:
        self.send_raw(json.dumps(message))

    def send_raw(self, raw: str | bytes) -> None:
        """One message, obeyed as the server does it."""
        session, commands = self.harness.session, list[Command]()
        try:
            for item in self.dialect.decode(raw):
                if isinstance(item, str | bytes | Close):
                    self._take(item)
                else:
                    commands.append(item)
        except ClientError as error:
            session.refuse(error)
        else:
            session.receive(commands, self.harness.now_ms)
        self._look()

    def run(self, duration_ms: float = 60_000.0) -> None:
        self.harness.run(duration_ms)
        self._look()

    def _look(self) -> None:
        self.harness.collect()
        for _, event in self.harness.sent[self._seen :]:
            for frame in self.dialect.encode(event):
                self._take(frame)
        self._seen = len(self.harness.sent)

    def _take(self, frame: Frame) -> None:
        assert isinstance(frame, str)  # no context of theirs closes a connection
        message = json.loads(frame)
        assert {"type", "done", "status_code", "context_id"} <= message.keys()
        self.frames.append(message)

    # --- looking ---

    def of(self, context_id: str | None = "a", kind: str | None = None) -> list[dict[str, Any]]:
        found = [frame for frame in self.frames if frame["context_id"] == context_id]
        return [frame for frame in found if kind in (None, frame["type"])]

    def sound(self, context_id: str = "a") -> bytes:
        return b"".join(base64.b64decode(f["data"]) for f in self.of(context_id, "chunk"))

    def words(self, context_id: str = "a") -> list[tuple[str, float, float]]:
        told = [frame["word_timestamps"] for frame in self.of(context_id, "timestamps")]
        return [w for t in told for w in zip(t["words"], t["start"], t["end"], strict=True)]

    def text(self, context_id: str = "a") -> str:
        return " ".join(word for word, *_ in self.words(context_id))

    def kinds(self, context_id: str | None = "a") -> list[str]:
        """Types of its frames, repeats left out."""
        kinds = [frame["type"] for frame in self.of(context_id)]
        return [kind for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1]]

    @property
    def at_rest(self) -> bool:
        """Nothing is held for any context."""
        session, dialect = self.harness.session, self.dialect
        return not (dialect._by_key or dialect._by_name or session._roster.queue)
