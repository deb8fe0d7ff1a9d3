"""Load on a running gateway: many conversations at once, each a listener that keeps the books.

A conversation is a connection whose turns follow one another, as people talk: the text comes in
tokens, the sound is heard at the pace of a loudspeaker, and some turns are interrupted. Nothing is
decoded or played.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from clients.python import Client, Context, GatewayClosedError, SpeechError, connect
from clients.python.wire import OPUS_RATE_HZ, AudioPacket, Interrupted, SegmentStarted
from clients.sound.opus import opus_packet_samples

AUDIBLE_GAP_MS = 100.0
_LATEST_INTERRUPT_S = 4.0  # after the first packet
TEXTS = (
    "Thanks for calling. I have found your booking, and it leaves on Friday at half past nine. "
    "Shall I send you the ticket by mail, or would you like to change the seat first?",
    "The short answer is yes. The longer one is that it depends on the weather, and the forecast "
    "for the coast has been wrong three times this week.",
    "Let me check that for you. It seems that the parcel was left with a neighbour this morning. "
    "The name on the receipt is hard to read, but the house is the green one on the corner.",
    "Good question! Water boils at a lower temperature up there, so the pasta needs a little "
    "longer. Taste it after nine minutes, and then once more after eleven.",
)


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the gateway. `interrupts`: the share of turns that are interrupted."""

    conversations: int = 4
    turns: int = 3
    interrupts: float = 0.25
    tokens_per_s: float = 40.0
    voice: str = "default"
    seed: int = 0


@dataclass(slots=True)
class Turn:
    """What one utterance was like for its listener. Times are in ms.

    `first_audio_ms`: from the text that completed the first segment to the first packet; `gap_ms`:
    how long the loudspeaker had nothing although more was to come, `longest_gap_ms` at a time;
    `answer_ms`: from an interrupt to its answer.
    """

    first_audio_ms: float | None = None
    audio_ms: float = 0.0
    gap_ms: float = 0.0
    longest_gap_ms: float = 0.0
    answer_ms: float | None = None
    answer: Interrupted | None = None
    error: str | None = None


@dataclass(slots=True)
class _Listener:
    """The loudspeaker's side of one turn."""

    turn: Turn
    dry_s: float | None = None  # when it will have played all there is
    sent: list[tuple[int, float]] = field(default_factory=list)  # (characters so far, s)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    _first_end: int | None = None

    def take(self, item: object, now_s: float) -> None:
        """The next item of the context, and when it came."""
        if isinstance(item, SegmentStarted) and self._first_end is None:
            self._first_end = item.end
        if not isinstance(item, AudioPacket):
            return
        duration_s = opus_packet_samples(item.payload) / OPUS_RATE_HZ
        if self.dry_s is None:
            self.dry_s = now_s
            self.turn.first_audio_ms = 1000.0 * (now_s - self._needed_s(now_s))
            self.heard.set()
        gap_ms = 1000.0 * max(now_s - self.dry_s, 0.0)
        self.turn.gap_ms += gap_ms
        self.turn.longest_gap_ms = max(self.turn.longest_gap_ms, gap_ms)
        self.dry_s = max(self.dry_s, now_s) + duration_s
        self.turn.audio_ms += 1000.0 * duration_s

    def played_ms(self, now_s: float) -> float:
        """How much has been heard."""
        left_ms = 0.0 if self.dry_s is None else 1000.0 * max(self.dry_s - now_s, 0.0)
        return max(self.turn.audio_ms - left_ms, 0.0)

    def _needed_s(self, now_s: float) -> float:
        """When the text of the first segment was complete, with the character that shows it."""
        end = 1 if self._first_end is None else self._first_end
        sent = itertools.dropwhile(lambda entry: entry[0] <= end, self.sent)
        return next(sent, self.sent[-1] if self.sent else (0, now_s))[1]


async def run(url: str, load: Load, api_key: str | None = None) -> dict[str, Any]:
    """Put the load on the gateway, and sum up. See `summary`.

    Raises OSError (no gateway), SpeechError and GatewayClosedError (it does not take us in).
    """
    async with connect(url, api_key=api_key) as client:
        checkpoint = client.hello.engine.checkpoint
    began_s = time.perf_counter()
    talks = (_converse(url, load, number, api_key) for number in range(load.conversations))
    turns = [turn for talk in await asyncio.gather(*talks) for turn in talk]
    wall_s = time.perf_counter() - began_s
    return {"benchmark": "bench", "checkpoint": checkpoint, **summary(load, turns, wall_s)}


async def _converse(url: str, load: Load, number: int, api_key: str | None) -> list[Turn]:
    chance = random.Random(load.seed * 1_000_003 + number)
    turns: list[Turn] = []
    await asyncio.sleep(chance.random() * min(1.0, load.conversations / 20))  # not all at once
    try:
        async with connect(url, api_key=api_key) as client:
            for _ in range(load.turns):
                turns.append(Turn())
                await _speak(client, load, chance, turns[-1])
    except (SpeechError, GatewayClosedError, OSError) as error:
        failed = Turn() if not turns or turns[-1].error else turns.pop()
        failed.error = error.code if isinstance(error, SpeechError) else "connection lost"
        turns += [failed] * (load.turns - len(turns))
    return turns


async def _speak(client: Client, load: Load, chance: random.Random, turn: Turn) -> None:
    listener = _Listener(turn)
    text = chance.choice(TEXTS)
    stops_after_s = (
        chance.uniform(0.1, _LATEST_INTERRUPT_S) if chance.random() < load.interrupts else None
    )
    context = client.speak(_tokens(text, load.tokens_per_s, listener), voice=load.voice)
    stop = asyncio.create_task(_interrupt(context, listener, stops_after_s))
    try:
        async for item in context.events():
            listener.take(item, time.perf_counter())
        if listener.dry_s is not None and context.interrupted is None:
            await asyncio.sleep(max(listener.dry_s - time.perf_counter(), 0.0))  # it is heard out
        if stop.done() or context.silenced:
            await stop
    except SpeechError as error:
        turn.error = error.code
    finally:
        stop.cancel()


async def _tokens(text: str, tokens_per_s: float, listener: _Listener) -> AsyncIterator[str]:
    chars = 0
    for word in text.split(" "):
        chars += len(word) + 1
        listener.sent.append((chars, time.perf_counter()))
        yield f"{word} "
        await asyncio.sleep(1.0 / tokens_per_s if tokens_per_s > 0 else 0)


async def _interrupt(context: Context, listener: _Listener, after_s: float | None) -> None:
    if after_s is None:
        return
    await listener.heard.wait()
    await asyncio.sleep(after_s)
    began_s = time.perf_counter()
    listener.turn.answer = await context.interrupt(listener.played_ms(began_s))
    listener.turn.answer_ms = 1000.0 * (time.perf_counter() - began_s)


def summary(load: Load, turns: Sequence[Turn], wall_s: float) -> dict[str, Any]:
    """The figures of a run: medians, 95 % and worst, in ms; shares between 0 and 1."""
    good = [turn for turn in turns if turn.error is None]
    answered = [turn for turn in good if turn.answer_ms is not None]
    gapless = [turn for turn in good if turn.longest_gap_ms <= AUDIBLE_GAP_MS]
    confirmed = [t for t in answered if t.answer is not None and t.answer.engine_confirmed]
    return {
        "conversations": load.conversations,
        "turns": len(turns),
        "wall_s": round(wall_s, 2),
        "audio_s": round(sum(turn.audio_ms for turn in good) / 1000.0, 2),
        "first_audio_ms": _spread([t.first_audio_ms for t in good if t.first_audio_ms is not None]),
        "longest_gap_ms": _spread([turn.longest_gap_ms for turn in good]),
        "without_audible_gap": round(len(gapless) / len(good), 4) if good else None,
        "interrupts": len(answered),
        "interrupt_answer_ms": _spread([t.answer_ms for t in answered if t.answer_ms is not None]),
        "interrupts_confirmed": round(len(confirmed) / len(answered), 4) if answered else None,
        "errors": dict(Counter(turn.error for turn in turns if turn.error is not None)),
    }


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    ordered = sorted(values)
    worst_but_5 = ordered[min(int(0.95 * len(ordered)), len(ordered) - 1)]
    return {
        "p50": round(statistics.median(ordered), 1),
        "p95": round(worst_but_5, 1),
        "max": round(ordered[-1], 1),
    }
