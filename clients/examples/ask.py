"""Ask an LLM something, and hear the answer while it is still being written.

    python -m clients.examples.ask "Why is the sky blue?" --llm http://127.0.0.1:11434/v1 \\
        --model llama3.2 --url ws://127.0.0.1:8080

The whole of it is `client.speak(model.answer(...))`: the deltas of the LLM go in as they come.
With -o the answer lands in a file instead of the loudspeaker.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from clients.cli.say import say
from clients.examples.llm import ChatModel, Message


async def ask(
    question: str,
    model: ChatModel,
    url: str,
    *,
    voice: str = "default",
    output: Path | None = None,
) -> str:
    """Speak the answer and return it. Raises what `clients.cli.say.say` raises."""
    answer: list[str] = []

    async def deltas() -> AsyncIterator[str]:
        messages = [
            Message(role="system", content="You are heard, not read: short, plain sentences."),
            Message(role="user", content=question),
        ]
        async with contextlib.aclosing(model.answer(messages)) as stream:
            async for delta in stream:
                answer.append(delta)
                print(delta, end="", flush=True)
                yield delta

    await say(url, deltas(), voice=voice, output=output, play=output is None)
    print()
    return "".join(answer)


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("question")
    parser.add_argument("--llm", default="http://127.0.0.1:11434/v1", help="OpenAI-compatible")
    parser.add_argument("--model", default="llama3.2")
    parser.add_argument("--url", default="ws://127.0.0.1:8080", help="the gateway")
    parser.add_argument("--voice", default="default")
    parser.add_argument("-o", "--output", type=Path, help=".wav, .ogg or .opus; default: play it")
    return parser.parse_args(arguments)


async def main(arguments: list[str] | None = None) -> None:
    """Run it."""
    given = options(arguments)
    model = ChatModel(given.llm, given.model, os.environ.get("OPENAI_API_KEY", "none"))
    async with contextlib.aclosing(model):
        await ask(given.question, model, given.url, voice=given.voice, output=given.output)


if __name__ == "__main__":
    asyncio.run(main())
