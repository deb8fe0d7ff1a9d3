"""What both examples need of an LLM: its answer to a conversation, as it comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import TypedDict, cast

import openai
from openai.types.chat import ChatCompletionMessageParam


class Message(TypedDict):
    """One turn of a conversation. `role`: system, user or assistant."""

    role: str
    content: str


class ChatModel:
    """A model behind any server that has OpenAI's chat completions."""

    def __init__(self, base_url: str, model: str, api_key: str) -> None:
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key)
        self._model = model

    async def answer(self, messages: Iterable[Message]) -> AsyncGenerator[str]:
        """The deltas of the answer. Closing this iterator ends the request."""
        stream = await self._client.chat.completions.create(
            model=self._model,
            messages=cast("list[ChatCompletionMessageParam]", list(messages)),
            stream=True,
        )
        async with stream:
            async for chunk in stream:
                if chunk.choices and (text := chunk.choices[0].delta.content):
                    yield text

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.close()
