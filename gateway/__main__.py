"""The `voice-gateway` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli import display
from gateway.cli.display import DEFAULT_URL
from gateway.cli.flags import takes_settings
from gateway.config import Config, settings_of

app = typer.Typer(
    help="A real-time voice for LLM agents: text streams in, Opus streams out, barge-in is "
    "exact.\n\n"
    "Without a command it serves: it starts the speech engine and the gateway, and prints the "
    "address of a page to try it on. Every flag of `serve` can also be set in the environment as "
    "VOICE_GATEWAY_NAME (VOICE_GATEWAY_PORT=9000).",
    epilog='Try: voice-gateway say "Hello there." -o hello.wav',
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

Url = Annotated[str, typer.Option(envvar="VOICE_GATEWAY_URL", help="A running gateway's address.")]
ApiKey = Annotated[
    str | None, typer.Option(envvar="VOICE_GATEWAY_API_KEY", help="For a gateway that asks.")
]
Voice = Annotated[str, typer.Option(help="One of `voice-gateway voices`.")]


@app.callback(invoke_without_command=True)
def default(context: typer.Context) -> None:
    """No command: serve with what the environment says."""
    if context.invoked_subcommand is None:
        serve()


@app.command()
@takes_settings(Config.model_fields)
def serve(**settings: str | None) -> None:
    """Start engine and gateway; Ctrl-C stops both.

    WebSocket at /v1/stream, OpenAI's shape at /v1/audio/speech, /healthz, /readyz, /metrics,
    and a page at /. Each flag is also a variable, VOICE_GATEWAY_ and its name in capitals with
    underscores (VOICE_GATEWAY_MAX_SESSIONS); the flag wins. In [brackets]: default and range.
    """
    from gateway.cli import runtime
    from gateway.cli.serve import serve as serve_until_stopped

    config = runtime.configured(**settings)
    runtime.set_up_logging(config.log_level)
    runtime.run(serve_until_stopped(config), stopped_status=0)


@app.command(epilog=display.EXIT_CODES)
@takes_settings(settings_of("Engine and voices"))
def say(
    text: Annotated[str, typer.Argument(help="What to say; - reads standard input as it comes.")],
    voice: Voice = "default",
    url: Annotated[
        str | None,
        typer.Option(
            envvar="VOICE_GATEWAY_URL",
            help="A running gateway, as ws://127.0.0.1:8080. Default: a private one.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write: .wav, .ogg or .opus. [speech.wav]"),
    ] = None,
    play: Annotated[bool, typer.Option("--play", help="Play it while it is made.")] = False,
    speed: Annotated[float, typer.Option(help="0.25 to 4; the pitch stays.")] = 1.0,
    api_key: ApiKey = None,
    **settings: str | None,
) -> None:
    """Say something: to a file, to the loudspeaker, or both.

    Without --url it starts an engine and a gateway of its own and stops them afterwards, which
    takes some seconds; with --url it is as fast as the gateway. Text on standard input is spoken
    while it comes: `llm "tell me a story" | voice-gateway say - --play`.
    """
    from gateway.cli import runtime
    from gateway.cli.say import SayOptions
    from gateway.cli.say import say as speak

    config = runtime.configured(
        host="127.0.0.1",
        port=0,
        api_keys=frozenset(),  # of the private gateway, which only we can reach
        log_level="warning",
        **settings,
    )
    runtime.set_up_logging(config.log_level)
    options = SayOptions(text, voice, url, output, play, speed, api_key)
    runtime.run(speak(options, config), stopped_status=130)


@app.command(epilog=display.EXIT_CODES)
def voices(url: Url = DEFAULT_URL, api_key: ApiKey = None) -> None:
    """List the voices of a running gateway, one name a line, the default one first."""
    from gateway.cli import runtime
    from gateway.cli.voices import voices as show

    runtime.run(show(url, api_key), stopped_status=130)


@app.command(epilog=display.EXIT_CODES)
def bench(
    url: Url = DEFAULT_URL,
    conversations: Annotated[
        int, typer.Option("--conversations", "-n", min=1, max=10_000, help="At the same time.")
    ] = 4,
    turns: Annotated[int, typer.Option(min=1, help="Utterances of each, one after another.")] = 3,
    interrupts: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the turns that are interrupted.")
    ] = 0.25,
    tokens_per_s: Annotated[
        float, typer.Option(min=0, help="Pace of each turn's text; 0 sends it at once.")
    ] = 40.0,
    voice: Voice = "default",
    seed: Annotated[int, typer.Option(help="Texts and interrupts follow from it.")] = 0,
    api_key: ApiKey = None,
) -> None:
    """Load a running gateway with conversations, and report what their listeners met.

    First audio counts from the text that completes the first segment, gaps from what a loudspeaker
    would have had to play, all in real time: three turns take about half a minute. A table comes
    first, the same figures as one line of JSON last.
    """
    from clients.cli.bench import Load
    from gateway.cli import runtime
    from gateway.cli.bench import bench as put_on

    load = Load(conversations, turns, interrupts, tokens_per_s, voice, seed)
    runtime.run(put_on(url, load, api_key), stopped_status=130)


@app.command(epilog="Exit status: 0 nothing needed is missing; 1 something is; 2 a wrong flag.")
@takes_settings(("host", "port"))
def doctor(
    url: Annotated[
        str | None, typer.Option(help="Try a running gateway instead: greeting, voices, speech.")
    ] = None,
    api_key: ApiKey = None,
    **settings: str | None,
) -> None:
    """Check this machine: Python, torch, SGLang, libopus, memory, the port."""
    from gateway.cli import doctor as examination
    from gateway.cli import runtime

    if url is not None:
        runtime.run(examination.try_gateway(url, api_key), stopped_status=130)
    elif not examination.doctor(runtime.configured(**settings)):
        raise display.CommandError("something needed is missing; see the lines marked no")


def main() -> None:
    """Entry point of the installed command."""
    try:
        app()
    except display.CommandError as error:
        display.show_error(error)
        raise SystemExit(error.status) from None


if __name__ == "__main__":
    main()
