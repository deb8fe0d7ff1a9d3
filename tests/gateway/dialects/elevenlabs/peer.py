"""A client of ElevenLabs' sockets at a session in virtual time; nothing is on a network."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from gateway.audio import make_chain
from gateway.dialects import Close, Frame, Opening
from gateway.dialects.elevenlabs.settings import socket_limits
from gateway.dialects.elevenlabs.sockets import MultiStreamInput, StreamInput
from gateway.errors import ClientError
from gateway.text.segment import segmenter_for
from gateway.types import Audio, Command, Event, Hello, Limits, VoiceNames
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import FakeEngine, Harness

PCM_BYTES_PER_MS = 32  # of pcm_16000
MULTI, SINGLE = MultiStreamInput, StreamInput


def opening_of(**query: str) -> Opening:
    """A handshake that asks for PCM at the engine's rate."""
    return Opening(
        path={"voice_id": "21m00Tcm4TlvDq8ikWAM"},
        query={"output_format": "pcm_16000", **query},
        headers={},
        subprotocols=(),
        facts=FACTS,
        limits=Limits(),
        voices=VoiceNames(FACTS.voices, {"21m00Tcm4TlvDq8ikWAM": "other"}),
    )


class Peer:
    """`frames`: every frame that was sent to the client. It must not be talked to once `closed`."""

    def __init__(
        self,
        kind: type[MultiStreamInput] | type[StreamInput],
        engine: FakeEngine | None = None,
        **query: str,
    ) -> None:
        opening = opening_of(**query)
        self.dialect = kind(opening)
        self.harness = Harness(
            engine or FakeEngine(facts=FACTS),
            socket_limits(opening),
            chain=lambda f, s: make_chain(f, FACTS.sample_rate_hz, s),  # type: ignore[arg-type,return-value]
            segmenter_factory=segmenter_for,
            independent_contexts=True,
        )
        self.frames: list[dict[str, Any]] = []
        self.closed: Close | None = None
        self._seen = 0
        self._look()

    def send(self, **message: Any) -> None:
        self.send_raw(json.dumps(message))

    def send_raw(self, raw: str | bytes) -> None:
        """One message, obeyed as the server does it."""
        if self.closed is not None:
            return
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
            for frame in self.encode(event):
                self._take(frame)
        self._seen = len(self.harness.sent)

    def encode(self, event: Event) -> Sequence[Frame]:
        frames = self.dialect.encode(event)
        assert not (isinstance(event, Hello) and frames)
        assert not isinstance(event, Audio) or len(frames) <= 1
        return frames

    def _take(self, frame: Frame) -> None:
        if self.closed is not None:
            return
        if isinstance(frame, Close):
            self.closed = frame
            assert len(frame.reason.encode()) <= 123
        else:
            self.frames.append(json.loads(frame))

    # --- looking ---

    def of(self, context: str | None = None) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame.get("contextId") == context]

    def sound(self, context: str | None = None) -> bytes:
        return b"".join(base64.b64decode(f["audio"]) for f in self.of(context) if f.get("audio"))

    def alignments(self, context: str | None = None) -> list[dict[str, list[Any]]]:
        return [f["alignment"] for f in self.of(context) if f.get("alignment")]

    def text(self, context: str | None = None) -> str:
        """What the characters of all alignments say."""
        return "".join("".join(alignment["chars"]) for alignment in self.alignments(context))

    def finals(self, context: str | None = None) -> int:
        return sum(bool(frame.get("isFinal")) for frame in self.of(context))

    @property
    def errors(self) -> list[str]:
        return [frame["error"] for frame in self.frames if "error" in frame]
