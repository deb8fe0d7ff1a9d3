"""Events of the one context of an HTTP request to pieces of its response body."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.audio.containers import file_writer
from gateway.config import Config
from gateway.dialects import openai
from gateway.errors import EngineFailedError, GatewayError, SlowClientError
from gateway.server.driver import SessionDriver
from gateway.server.metrics import Metrics
from gateway.server.outbox import Outbox
from gateway.server.transport import HangUp
from gateway.types import Audio, AudioFormat, Done, Event, Failed, Interrupted, Started

PIECE_BYTES = 64 * 1024


def _all_statuses() -> dict[str, int]:
    statuses, todo = {}, [GatewayError]
    while todo:
        error = todo.pop()
        statuses[error.code] = error.http_status
        todo += error.__subclasses__()
    return statuses


_STATUS = _all_statuses()


class ReportedError(GatewayError):
    """An error event of the session, as an HTTP status."""

    def __init__(self, event: Failed) -> None:
        super().__init__(event.message)
        self.code = event.code
        self.http_status = _STATUS.get(event.code, 500)


class SpeechSink:
    """The context's sink. `release` must be called however the response ended."""

    def __init__(
        self,
        call: openai.SpeechCall,
        audio_format: AudioFormat,
        config: Config,
        metrics: Metrics,
        hang_up: HangUp,
    ) -> None:
        self.driver: SessionDriver | None = None
        self.format = audio_format
        self.error: GatewayError | None = None
        self.outbox: Outbox[bytes] = Outbox(
            config.queue_high_water_bytes,
            config.queue_max_bytes,
            config.slow_client_timeout_ms / 1000,
            self._on_writable,
            self._on_slow_client,
        )
        # a whole file, or its end: as large as it must be, and taken in pieces like the rest
        self.tail: bytes | bytearray = b""
        self.hang_up = hang_up
        self._sse = call.stream_format == "sse"
        self._writer = file_writer(
            call.response_format, audio_format, whole=call.stream_format is None
        )
        self._metrics = metrics

    def send(self, event: Event) -> None:
        """Write what the event means into the body."""
        if isinstance(event, Started):
            self._put(self._writer.start(event))
        elif isinstance(event, Audio):
            self._put(self._writer.write(event))
        elif isinstance(event, Done):
            self._finish(event)
        elif isinstance(event, Failed):
            self.fail(ReportedError(event))
        elif isinstance(event, Interrupted):
            self.fail(EngineFailedError("the speech was given up"))

    def close(self, code: int, reason: str) -> None:
        """The session hangs up."""
        self.fail(EngineFailedError(reason))

    def fail(self, error: GatewayError) -> None:
        """The body ends here, unfinished."""
        if self.error is None:
            self.error = error
        self.outbox.close()

    def tail_pieces(self) -> Iterator[bytes]:
        """What of a tail is handed over at once: the next piece waits until the client reads."""
        view = memoryview(self.tail)
        for start in range(0, max(len(view), 1), PIECE_BYTES):
            yield bytes(view[start : start + PIECE_BYTES])

    def release(self) -> None:
        """Nothing more comes, however the response ended."""
        self.outbox.close(discard=True)
        self._writer.close()

    def _finish(self, done: Done) -> None:
        end = self._writer.finish(done)
        self.tail = (
            (openai.sse_delta(bytes(end)) if end else b"") + openai.sse_done(done)
            if self._sse
            else end
        )
        self.outbox.close()

    def _put(self, piece: bytes) -> None:
        if piece:
            self.outbox.put(openai.sse_delta(piece) if self._sse else piece)

    def _on_writable(self, writable: bool) -> None:
        if self.driver is not None:
            self.driver.set_writable(writable)

    def _on_slow_client(self, error: SlowClientError) -> None:
        self._metrics.slow_clients_total.inc()
        self.fail(error)
        self.hang_up(error.close_code or 1008, error.code)  # what was sent already waits unread
