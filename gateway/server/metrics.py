"""Counters of one gateway process, in Prometheus' terms. No label holds what a client chose."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from engine.api import EngineStats
from gateway.types import Audio, Done, Event, Failed, Interrupted

_FIRST_AUDIO_BUCKETS_S = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 5.0, 10.0)


class Metrics:
    """Fed with every event that leaves a session, whatever the protocol."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        prefix = "voice_gateway_"

        def counter(name: str, text: str, labels: tuple[str, ...] = ()) -> Counter:
            return Counter(prefix + name, text, labels, registry=self.registry)

        def gauge(name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
            return Gauge(prefix + name, text, labels, registry=self.registry)

        self.ready = gauge("ready", "1 while the engine can speak")
        self.engine_losses_total = counter("engine_losses", "Engines that died or got stuck")
        self.engine_restarts_total = counter("engine_restarts", "... and speak again")
        self.sessions = gauge("open_sessions", "Open sessions", ("protocol",))
        self.sessions_total = counter("sessions", "Sessions ever opened", ("protocol",))
        self.refused_total = counter("refused", "Sessions and requests refused", ("code",))
        self.slow_clients_total = counter("slow_clients", "Connections dropped for not reading")
        self.contexts_total = counter("contexts", "Contexts that ended", ("outcome",))
        self.errors_total = counter("errors", "Error events sent", ("code",))
        self.packets_total = counter("audio_packets", "Audio packets handed to connections")
        self.bytes_total = counter("audio_bytes", "Payload bytes handed to connections")
        self.audio_seconds_total = counter("audio_seconds", "Duration of completed contexts")
        self.frames_total = counter("frames", "Engine frames of completed contexts")
        self.frames_wasted_total = counter("frames_wasted", "Engine frames made and not heard")
        self.prompt_tokens_total = counter("prompt_tokens", "Prompt tokens of completed contexts")
        self.cached_tokens_total = counter("cached_tokens", "... found in the prefix cache")
        self.skipped_words_total = counter("skipped_words", "Words of the text left unsaid")
        self.retries_total = counter("retries", "Faulty readings drawn again before being heard")
        self.first_audio_seconds = Histogram(
            prefix + "first_audio_seconds",
            "From a context's first speakable text to its first packet",
            buckets=_FIRST_AUDIO_BUCKETS_S,
            registry=self.registry,
        )
        self._packets = self._bytes = 0  # since the counters were last read
        self._engine = gauge("engine_requests", "Requests in the engine", ("state",))
        self._engine_slots = gauge("engine_free_slots", "Streams the engine could still take")
        self._engine_frames = gauge("engine_frames_made", "Frames since the engine started")

    def observe(self, event: Event) -> None:
        """Count one event."""
        if isinstance(event, Audio):  # by far the most: counted when somebody looks
            self._packets += 1
            self._bytes += len(event.payload)
        elif isinstance(event, Done):
            self._done(event)
        elif isinstance(event, Interrupted):
            if event.ended:
                self.contexts_total.labels("interrupted").inc()
                self.frames_wasted_total.inc(event.frames_wasted)
        elif isinstance(event, Failed):
            self.errors_total.labels(event.code).inc()
            if event.ended:
                self.contexts_total.labels("failed").inc()

    def _done(self, event: Done) -> None:
        self.contexts_total.labels(_outcome(event)).inc()
        self.audio_seconds_total.inc(event.audio_ms / 1000)
        self.frames_total.inc(event.frames)
        self.prompt_tokens_total.inc(event.prompt_tokens)
        self.cached_tokens_total.inc(event.cached_tokens)
        self.skipped_words_total.inc(event.skipped_words)
        self.retries_total.inc(event.retries)
        if event.first_audio_ms is not None:
            self.first_audio_seconds.observe(event.first_audio_ms / 1000)

    def render(self, engine: EngineStats | None) -> bytes:
        """The page that Prometheus reads."""
        self.packets_total.inc(self._packets)
        self.bytes_total.inc(self._bytes)
        self._packets = self._bytes = 0
        if engine is not None:
            self._engine.labels("running").set(engine.running)
            self._engine.labels("waiting").set(engine.waiting)
            self._engine_slots.set(engine.free_slots)
            self._engine_frames.set(engine.frames_total)
        return generate_latest(self.registry)


def _outcome(event: Done) -> str:
    if event.truncated:
        return "truncated"
    return "incomplete" if event.skipped_words else "done"
