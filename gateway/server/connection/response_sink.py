"""A session's events on their way into the body of an HTTP response."""

from __future__ import annotations

from gateway.config import Config
from gateway.dialects import Close, Frame, HttpDialect
from gateway.errors import EngineFailedError, GatewayError, SlowClientError, family
from gateway.server.connection.sink import DialectSink
from gateway.server.connection.transport import HangUp
from gateway.server.metrics import Metrics
from gateway.types import Event, Failed, Interrupted

_STATUS = {error.code: error.http_status for error in family(GatewayError)}


class ReportedError(GatewayError):
    """An error event of the session, as an HTTP status; its message is made for the peer."""

    def __init__(self, event: Failed) -> None:
        super().__init__(event.message)
        self.code = event.code
        self.http_status = _STATUS.get(event.code, 500)


class ResponseSink(DialectSink):
    """`error`: why the response is not whole. `error_was_told`: the dialect could still say it."""

    dialect: HttpDialect

    def __init__(
        self, dialect: HttpDialect, config: Config, metrics: Metrics, hang_up: HangUp
    ) -> None:
        super().__init__(dialect, config, metrics)
        self.hang_up = hang_up
        self.error: GatewayError | None = None
        self.error_was_told = False
        self._begun = False

    def send(self, event: Event) -> None:
        """Write what the event means into the body."""
        if isinstance(event, Failed):
            self._fail(ReportedError(event), event)
        elif isinstance(event, Interrupted):
            self._fail(EngineFailedError("the speech was given up"), None)
        else:
            super().send(event)

    def put(self, frame: Frame) -> None:
        """Queue a piece of the body."""
        self._begun |= not isinstance(frame, Close)
        super().put(frame)

    def close(self, error: GatewayError) -> None:
        """The session hangs up."""
        self._fail(error, Failed(None, error.code, str(error)))

    def on_slow_client(self, error: SlowClientError) -> None:
        """The body ends here, unfinished; what was sent already waits unread."""
        self._fail(error, None)
        self.hang_up(error.close_code or 1008, error.code)

    def _fail(self, error: GatewayError, event: Failed | None) -> None:
        if self.error is None:
            self.error = error
            if self._begun and event is not None:
                frames = self.dialect.encode(event)
                self.error_was_told = bool(frames)
                for frame in frames:
                    self.put(frame)
        self.outbox.close()
