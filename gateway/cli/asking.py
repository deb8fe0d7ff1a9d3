"""What an error means to whoever asked a running gateway."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from clients.python import GatewayClosedError, SpeechError
from clients.sound.device import PlayerError
from gateway.cli import display


@contextlib.contextmanager
def errors_shown(url: str) -> Iterator[None]:
    """End the command with a message and the status that its help promises."""
    try:
        yield
    except (SpeechError, PlayerError) as error:
        raise display.CommandError(str(error)) from None
    except GatewayClosedError as error:
        raise display.CommandError(str(error), status=display.NO_GATEWAY) from None
    except ValueError as error:
        raise display.CommandError(str(error), status=display.WRONG_USE) from None
    except OSError as error:
        raise display.CommandError(
            f"{url}: expected a gateway, got {error}", status=display.NO_GATEWAY
        ) from None
