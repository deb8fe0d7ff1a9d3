"""Talk with an LLM in the terminal: type, listen, and press any key to barge in.

    python -m clients.examples.conversation --llm http://127.0.0.1:11434/v1 --model llama3.2

What the LLM is told of its own interrupted answer is what you heard of it, not what it wrote: the
gateway's answer to the interrupt says so.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import termios
import tty
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

import openai

from clients.examples.llm import ChatModel, Message
from clients.python import Client, SpeechError, connect
from clients.sound.player import Player

SYSTEM = Message(role="system", content="You are heard, not read: short, plain sentences.")


class Terminal(Protocol):
    """Where the person sits."""

    async def line(self) -> str | None:
        """What was typed; None at the end of input."""
        ...

    def key(self) -> contextlib.AbstractContextManager[asyncio.Queue[bytes]]:
        """The keys that are pressed as long as one stays inside."""
        ...

    def show(self, text: str) -> None:
        """Print at once."""
        ...


async def converse(client: Client, model: ChatModel, player: Player, terminal: Terminal) -> None:
    """Turn after turn, until the input ends."""
    messages = [SYSTEM]
    while (line := await terminal.line()) is not None:
        if not line.strip():
            continue
        messages.append(Message(role="user", content=line))
        heard = await _answer(client, model, player, terminal, messages)
        messages.append(Message(role="assistant", content=heard))


async def _answer(
    client: Client,
    model: ChatModel,
    player: Player,
    terminal: Terminal,
    messages: list[Message],
) -> str:
    """Speak the LLM's answer. Returns what the person heard of it."""
    written: list[str] = []

    async def deltas() -> AsyncIterator[str]:
        async with contextlib.aclosing(model.answer(messages)) as stream:
            async for delta in stream:
                written.append(delta)
                terminal.show(delta)
                yield delta

    speech = client.speak(deltas())
    playing = asyncio.create_task(player.play(speech))
    with terminal.key() as pressed:
        pressing = asyncio.create_task(pressed.get())
        await asyncio.wait((playing, pressing), return_when=asyncio.FIRST_COMPLETED)
        pressing.cancel()
    if not playing.done():
        await player.interrupt()
    try:
        await playing
    except (openai.OpenAIError, SpeechError) as error:
        terminal.show(f"\n[{error}]")
    terminal.show("\n")
    if speech.interrupted is None:
        return "".join(written)
    terminal.show(f"[you heard: {speech.interrupted.heard_text!r}]\n")
    return speech.interrupted.heard_text


class Console:
    """A real terminal: whole lines while one types, single keys while the voice speaks."""

    def __init__(self) -> None:
        self._in = sys.stdin.fileno()
        if not os.isatty(self._in):
            raise SystemExit("expected a terminal to type at, got something else")

    async def line(self) -> str | None:
        """A terminal hands over one line at a time."""
        self.show("> ")
        with self._reading() as typed:
            line = await typed.get()
        return line.decode(errors="replace").rstrip("\n") if line else None

    @contextlib.contextmanager
    def key(self) -> Iterator[asyncio.Queue[bytes]]:
        """Keys come at once and are not shown."""
        before = termios.tcgetattr(self._in)
        tty.setcbreak(self._in)
        try:
            with self._reading() as typed:
                yield typed
        finally:
            termios.tcsetattr(self._in, termios.TCSADRAIN, before)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[asyncio.Queue[bytes]]:
        loop, typed = asyncio.get_running_loop(), asyncio.Queue[bytes]()
        loop.add_reader(self._in, lambda: typed.put_nowait(os.read(self._in, 4096)))
        try:
            yield typed
        finally:
            loop.remove_reader(self._in)

    def show(self, text: str) -> None:
        """Print at once."""
        print(text, end="", flush=True)


async def main(arguments: list[str] | None = None) -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--llm", default="http://127.0.0.1:11434/v1", help="OpenAI-compatible")
    parser.add_argument("--model", default="llama3.2")
    parser.add_argument("--url", default="ws://127.0.0.1:8080", help="the gateway")
    given = parser.parse_args(arguments)
    model = ChatModel(given.llm, given.model, os.environ.get("OPENAI_API_KEY", "none"))
    async with (
        contextlib.aclosing(model),
        connect(given.url, resume=True) as client,
        Player.open() as player,
    ):
        await converse(client, model, player, Console())


if __name__ == "__main__":
    asyncio.run(main())
