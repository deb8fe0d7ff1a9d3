"""A server with OpenAI's chat completions: streams a given answer, remembers what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class StubModel:
    """`answers`: one for each request. `endless`: the first stream stays open after its answer."""

    answers: list[str]
    endless: bool = False
    url: str = ""
    asked: list[list[dict[str, Any]]] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)  # a client hung up on a stream

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one stream of server-sent events."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(head.lower().split("content-length:")[1].split("\r\n")[0])
            self.asked.append(json.loads(await reader.readexactly(length))["messages"])
            if not self.answers:
                writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                return
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
            writer.write(b"connection: close\r\n\r\n")
            await self._stream(self.answers.pop(0), writer)
            if self.endless and len(self.asked) == 1:
                await reader.read()
                self.left.set()
            writer.write(b"data: [DONE]\n\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()

    async def _stream(self, answer: str, writer: asyncio.StreamWriter) -> None:
        for start in range(0, len(answer), 4):
            delta = {"content": answer[start : start + 4]}
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "stub"}
            writer.write(f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode())
            await writer.drain()
            await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def stub_llm(*answers: str, endless: bool = False) -> AsyncIterator[StubModel]:
    """Serve it on a loopback port."""
    model = StubModel(list(answers), endless)
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield model
