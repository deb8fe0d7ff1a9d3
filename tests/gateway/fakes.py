"""Virtual time, a fake audio chain and a fake engine for tests of the core: nothing ever sleeps."""

from __future__ import annotations

import heapq
import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from gateway.session.session import Session
from gateway.types import (
    Abort,
    Aborted,
    Audio,
    AudioFormat,
    Command,
    Configure,
    ContextSettings,
    Effect,
    EngineFacts,
    Event,
    Finished,
    Frames,
    Limits,
    RequestFailed,
    Send,
    SettingsPatch,
    Submit,
    TextTokens,
)
from tests.gateway.fake_parts import FACTS, PCM, FakeChain, FakeSegmenter


@dataclass
class FakeEngine:
    """Plans what the engine will say, in virtual time. A frame for every two characters.

    `frame_delay_ms`: per frame; `abort_delay_ms`: until an abort is confirmed, None for never;
    `failures`: text -> wire code, raised after `fail_after` frames.
    """

    frame_delay_ms: float = 4.0
    prefill_ms: float = 10.0
    abort_delay_ms: float | None = 20.0
    failures: dict[str, str] = field(default_factory=dict)
    fail_after: int = 0
    refusals: dict[str, int] = field(default_factory=dict)  # text -> how often there is no room
    runaways: frozenset[str] = frozenset()
    facts: EngineFacts = FACTS
    with_tokens: bool = False
    submitted: list[Submit] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)
    frames_made: int = 0

    def frames_of(self, text: str) -> int:
        return max(1, len(text) // 2)

    def samples_of(self, text: str, frame: int) -> bytes:
        value = (sum(map(ord, text)) % 97 + 1) / 100.0
        n = self.facts.frame_samples
        return struct.pack(f"<{n}f", *[value + frame / 10000.0] * n)


class Harness:
    """One session, its engine, and the clock between them."""

    def __init__(
        self,
        engine: FakeEngine | None = None,
        limits: Limits | None = None,
        chain: Callable[[AudioFormat, float], FakeChain] = FakeChain,
        defaults: ContextSettings | None = None,
        **session_args: object,
    ) -> None:
        self.engine = engine or FakeEngine()
        self.now_ms = 1000.0
        self.chains: list[FakeChain] = []
        self.sent: list[tuple[float, Event]] = []
        self.effects: list[Effect] = []
        self._order = itertools.count()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._make_chain = chain
        session_args.setdefault("segmenter_factory", FakeSegmenter)
        self.session = Session(
            "s-1", self.engine.facts, limits or Limits(), self._chain, self.now_ms, **session_args
        )
        self.collect()
        if defaults is not None:
            self.do(Configure(None, SettingsPatch(**msgspec.structs.asdict(defaults))))

    def _chain(self, audio_format: AudioFormat, speed: float) -> FakeChain:
        self.chains.append(self._make_chain(audio_format, speed))
        return self.chains[-1]

    # --- driving ---

    def do(self, command: Command) -> list[Event]:
        """Give a command now; return the events that follow at once."""
        before = len(self.sent)
        self.session.receive((command,), self.now_ms)
        self.collect()
        return [event for _, event in self.sent[before:]]

    def run(self, duration_ms: float = 60_000.0) -> list[Event]:
        """Let time pass; return the events of it."""
        before, end_ms = len(self.sent), self.now_ms + duration_ms
        while True:
            deadline_ms = self.session.next_deadline_ms()
            agenda_ms = self._agenda[0][0] if self._agenda else None
            times = [t for t in (deadline_ms, agenda_ms) if t is not None and t <= end_ms]
            if not times:
                break
            assert len(self.sent) < 200_000, "the session does not come to rest"
            self.now_ms = max(self.now_ms, min(times))
            if agenda_ms is not None and agenda_ms <= self.now_ms:
                heapq.heappop(self._agenda)[2]()
            else:
                self.session.tick(self.now_ms)
            self.collect()
        self.now_ms = end_ms
        return [event for _, event in self.sent[before:]]

    def collect(self) -> None:
        """Perform the session's effects."""
        for effect in self.session.effects():
            self.effects.append(effect)
            match effect:
                case Send():
                    self.sent += [(self.now_ms, event) for event in effect.events]
                case Submit():
                    self._speak(effect)
                case Abort():
                    self._abort(effect.request_id)
        self.session.check_integrity()

    def at(self, delay_ms: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (self.now_ms + delay_ms, next(self._order), action))

    # --- the engine's side ---

    def _speak(self, submit: Submit) -> None:
        self.engine.submitted.append(submit)
        if self.engine.with_tokens:
            spans = tuple((i, i + 1) for i in range(len(submit.text)))
            self.session.report(TextTokens(submit.request_id, spans), self.now_ms)
        if self.engine.refusals.get(submit.text, 0) > 0:
            self.engine.refusals[submit.text] -= 1
            refused = RequestFailed(submit.request_id, "overloaded", "full")
            self.at(0.0, lambda: self.session.report(refused, self.now_ms))
            return
        self.at(self.engine.prefill_ms, lambda: self._step(submit, 0))

    def _step(self, submit: Submit, frame: int) -> None:
        engine, request_id = self.engine, submit.request_id
        if request_id in engine.aborted:
            return
        code = engine.failures.get(submit.text)
        total = engine.frames_of(submit.text)
        if code is not None and frame >= engine.fail_after:
            self.session.report(RequestFailed(request_id, code, "secret detail"), self.now_ms)
        elif frame >= total:
            reason = "length" if submit.text in engine.runaways else "stop"
            self.session.report(Finished(request_id, reason, frame, 30, 12), self.now_ms)
        else:
            engine.frames_made += 1
            books = engine.facts.num_codebooks
            codes = struct.pack(f"<{books}H", *(frame + book for book in range(books)))
            tokens = (frame * len(submit.text) // total,) if engine.with_tokens else ()
            pcm = engine.samples_of(submit.text, frame)
            self.session.report(Frames(request_id, frame, pcm, codes, tokens), self.now_ms)
            self.at(engine.frame_delay_ms, lambda: self._step(submit, frame + 1))

    def _abort(self, request_id: str) -> None:
        self.engine.aborted.append(request_id)
        if self.engine.abort_delay_ms is not None:
            self.at(
                self.engine.abort_delay_ms,
                lambda: self.session.report(Aborted(request_id, True, 2), self.now_ms),
            )

    # --- looking ---

    def events(self, kind: type, context: str | None = None) -> list[Event]:
        """Every event of a kind sent so far."""
        return [
            e
            for _, e in self.sent
            if isinstance(e, kind) and (context is None or e.context == context)  # type: ignore[attr-defined]
        ]

    def audio(self, context: str) -> list[tuple[float, Audio]]:
        """The packets of a context, with the time they left."""
        return [(t, e) for t, e in self.sent if isinstance(e, Audio) and e.context == context]


def settings(**changes: object) -> ContextSettings:
    """Settings for tests: PCM at the engine's rate."""
    return msgspec.structs.replace(ContextSettings(format=PCM), **changes)
