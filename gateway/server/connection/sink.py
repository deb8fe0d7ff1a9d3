"""A session's events on their way out: file, dialect, outbox. One write path a connection."""

from __future__ import annotations

import logging

from gateway.audio.files.packing import FileStage
from gateway.config import Config
from gateway.dialects import Close, Dialect, Frame
from gateway.errors import GatewayError, SlowClientError
from gateway.server.connection.outbox import Outbox
from gateway.server.driver import SessionDriver
from gateway.server.metrics import Metrics
from gateway.types import Event

log = logging.getLogger(__name__)


class DialectSink:
    """Implements `Sink`. `release` must be called however the connection ended."""

    def __init__(self, dialect: Dialect, config: Config, metrics: Metrics) -> None:
        self.driver: SessionDriver | None = None
        self.closing: Close | None = None
        self.dialect = dialect
        self.outbox: Outbox[str | bytes] = Outbox(
            config.queue_high_water_bytes,
            config.queue_max_bytes,
            config.slow_client_timeout_ms / 1000,
            self._on_writable,
            self._drop_slow_client,
        )
        self._files = FileStage(lambda: dialect.file)
        self._metrics = metrics

    def send(self, event: Event) -> None:
        """Queue the frames of an event."""
        for packed in self._files.apply(event):
            for frame in self.dialect.encode(packed):
                self.put(frame)

    def put(self, frame: Frame) -> None:
        """Queue a frame; a `Close` ends the connection once everything queued has left."""
        if isinstance(frame, Close):
            if self.closing is None:
                self.closing = frame
                self.outbox.close()
        else:
            self.outbox.put(frame)

    def close(self, error: GatewayError) -> None:
        """End the connection as the dialect ends one for this reason."""
        self.put(self.dialect.closing(error))

    def release(self) -> None:
        """Nothing more comes, and nobody takes what is left."""
        self.outbox.close(discard=True)
        self._files.close()

    def on_slow_client(self, error: SlowClientError) -> None:
        """The client has been given up."""
        raise NotImplementedError

    def _drop_slow_client(self, error: SlowClientError) -> None:
        log.info("hanging up: %s", error)
        self._metrics.slow_clients_total.inc()
        self.on_slow_client(error)

    def _on_writable(self, writable: bool) -> None:
        if self.driver is not None and self.driver.serves(self):
            self.driver.set_writable(writable)
