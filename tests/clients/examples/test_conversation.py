"""The terminal conversation: turn after turn, and a key is a barge-in."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from clients.examples.conversation import converse
from clients.examples.llm import ChatModel
from clients.python import connect
from clients.sound.player import Player
from engine.fake import FakeEngine, FakeEngineConfig
from tests.clients.examples.stub_llm import stub_llm
from tests.clients.python.virtual import Speaker, VirtualClock
from tests.gateway.shell import DEADLINE_S, gateway

ROOT = Path(__file__).parents[3]
STORY = "Once upon a time there was a fox, and it lived in a wood near the sea. " * 3
QUICK = FakeEngineConfig(frames_per_char=0.1)


class Script:
    """A person who types lines, and presses a key when so much of an answer was heard."""

    def __init__(self, lines: list[str], keys_after_ms: list[float | None]) -> None:
        self._lines = iter(lines)
        self._keys = iter(keys_after_ms)
        self.shown = ""
        self.clock = VirtualClock()

    async def line(self) -> str | None:
        return next(self._lines, None)

    @contextlib.contextmanager
    def key(self) -> Iterator[asyncio.Queue[bytes]]:
        typed: asyncio.Queue[bytes] = asyncio.Queue()
        listening = asyncio.create_task(self._listen(typed, next(self._keys)))
        try:
            yield typed
        finally:
            listening.cancel()

    def show(self, text: str) -> None:
        self.shown += text

    async def _listen(self, typed: asyncio.Queue[bytes], key_after_ms: float | None) -> None:
        while key_after_ms is None or key_after_ms > 0:
            await self.clock.advance(20)
            if key_after_ms is not None and self.player.heard_any:
                key_after_ms -= 20
        typed.put_nowait(b" ")

    player: Listening


class Listening(Player):
    """A player that can be asked whether anything was heard yet."""

    @property
    def heard_any(self) -> bool:
        return any(entry.handed for entry in self._playing.values())


@contextlib.asynccontextmanager
async def conversation(
    script: Script, engine: FakeEngine, *answers: str, endless: bool = False
) -> AsyncIterator[list[list[dict[str, str]]]]:
    """Held to its end; what the LLM was asked."""
    async with gateway(engine) as served, stub_llm(*answers, endless=endless) as llm:
        model = ChatModel(llm.url, "stub", "none")
        script.player = Listening(Speaker(script.clock), 48_000, script.clock, script.clock.sleep)
        async with contextlib.aclosing(model), connect(served.url) as client:
            async with asyncio.timeout(DEADLINE_S):
                await converse(client, model, script.player, script)
                if endless:
                    await llm.left.wait()
            await script.player.close()
        yield llm.asked


async def test_turns_follow_one_another_with_what_was_said() -> None:
    engine = FakeEngine(QUICK)
    script = Script(["Hello?", "", "And now?"], [None, None])
    async with conversation(script, engine, "Hello there.", "Good bye.") as asked:
        assert [m["content"] for m in asked[1][1:]] == ["Hello?", "Hello there.", "And now?"]
    assert [request.text.strip() for request in engine.requests] == ["Hello there.", "Good bye."]
    assert "Good bye." in script.shown


async def test_a_key_stops_voice_and_llm_and_the_llm_learns_what_was_heard() -> None:
    script = Script(["A story, please.", "Stop. Why a fox?"], [300, None])
    engine = FakeEngine(FakeEngineConfig(frames_per_char=0.5))
    async with conversation(script, engine, STORY, "Because.", endless=True) as asked:
        heard = asked[1][-2]
        assert heard["role"] == "assistant"
        assert STORY.startswith(heard["content"]) and len(heard["content"]) < len(STORY) / 2
    assert f"[you heard: {heard['content']!r}]" in script.shown


async def test_an_llm_that_fails_is_shown_and_the_conversation_goes_on() -> None:
    script = Script(["One?", "Two?"], [None, None])
    async with conversation(script, FakeEngine(QUICK)) as asked:
        assert len(asked) == 2
    assert script.shown.count("400") == 2


async def test_in_a_terminal_with_a_loudspeaker(tmp_path: Path) -> None:
    """The program itself: a line is typed, a key is pressed while it speaks, input ends."""
    loudspeaker = tmp_path / "pw-cat"
    loudspeaker.write_text("#!/bin/sh\nexec cat > /dev/null\n")
    loudspeaker.chmod(0o755)
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    screen = Screen(ours)
    async with gateway(FakeEngine()) as served, stub_llm(STORY) as llm:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "clients.examples.conversation"),
            *("--llm", llm.url, "--url", served.url),
            cwd=ROOT,
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        try:
            async with asyncio.timeout(2 * DEADLINE_S):
                await screen.shows("> ")
                os.write(ours, b"A story, please.\n")
                await screen.shows("near the sea.")
                await asyncio.sleep(0.5)  # of sound, which is played by the real clock
                os.write(ours, b" ")
                await screen.shows("[you heard: 'Once")
                await screen.shows("> ")
                os.write(ours, b"\x04")  # Ctrl-D
                assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
            os.close(ours)


class Screen:
    """What the program prints, read up to what is looked for."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._unread = ""

    async def shows(self, text: str) -> None:
        """Wait until it has printed this, and forget everything before."""
        while text not in self._unread:
            await asyncio.sleep(0.01)
            with contextlib.suppress(BlockingIOError):
                self._unread += os.read(self._terminal, 4096).decode(errors="replace")
        self._unread = self._unread.partition(text)[2]
