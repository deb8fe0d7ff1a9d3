"""`voice-gateway say`: through a gateway that runs, or one of its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from clients.cli import say as client
from gateway.cli import display
from gateway.cli.asking import errors_shown
from gateway.cli.runtime import gateway_of
from gateway.config import Config

DEFAULT_OUTPUT = Path("speech.wav")


@dataclass(frozen=True, slots=True)
class SayOptions:
    """What the user asked for. `config`: of the private gateway, when there is no `url`."""

    text: str
    voice: str
    url: str | None
    output: Path | None
    play: bool
    speed: float
    api_key: str | None


async def say(options: SayOptions, config: Config) -> None:
    """Speak, and report. Ends the command with a message when it cannot."""
    output = options.output
    if output is None and not options.play:
        output = DEFAULT_OUTPUT
    try:
        client.check_output(output)
    except ValueError as error:
        raise display.CommandError(str(error), status=display.WRONG_USE) from None
    async with _address(options, config) as url:
        text = client.pieces_of_stdin() if options.text == "-" else options.text
        with errors_shown(url):
            report = await client.say(
                url,
                text,
                voice=options.voice,
                output=output,
                play=options.play,
                speed=options.speed,
                api_key=options.api_key,
            )
    _report(report)


@contextlib.asynccontextmanager
async def _address(options: SayOptions, config: Config) -> AsyncIterator[str]:
    if options.url is not None:
        yield options.url
        return
    async with gateway_of(config) as gateway:
        yield gateway.stream_url


def _report(report: client.SayReport) -> None:
    if report.first_audio_ms is None:
        raise display.CommandError(
            "nothing to say in that text: no sound was made", status=display.NO_SOUND
        )
    display.out.print(
        f"first audio {report.first_audio_ms:.0f} ms, "
        f"{report.audio_ms / 1000:.2f} s of sound ({report.frames} frames) "
        f"in {report.total_ms / 1000:.2f} s"
    )
    if report.path is not None:
        display.out.print(f"wrote {report.path}", soft_wrap=True)
