"""A SpeechEngine over a worker process: starts it, talks to it, ends it. Imports no torch."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

import zmq
import zmq.asyncio

from engine import api
from engine.caches import worker_environment
from engine.link import wire
from engine.link.pulse import BEAT_S, Pulse
from engine.worker_config import EngineConfig

log = logging.getLogger(__name__)

_STOP_TIMEOUT_S = 10.0
_ERRORS: dict[str, type[api.EngineError]] = {
    cls.__name__: cls
    for cls in (
        api.InvalidRequestError,
        api.UnknownVoiceError,
        api.EngineOverloadedError,
        api.EngineUnavailableError,
    )
}

A = TypeVar("A", bound=wire.Answer)


class WorkerEngine:
    """One local worker. `progress` is told each stage of the start-up."""

    def __init__(
        self, config: EngineConfig, progress: Callable[[str], None] = lambda _: None
    ) -> None:
        self._config, self._progress = config, progress
        self._process: Process | None = None
        self._ready = False
        self._directory: str | None = None
        self._socket: zmq.asyncio.Socket | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._calls: dict[int, asyncio.Queue[wire.WorkerMessage]] = {}
        self._numbers = itertools.count(1)
        self._lost: asyncio.Future[str] | None = None
        self._received = 0
        self.sounds_received = 0  # pieces of sound, also of requests that nobody listens to

    async def start(self) -> api.EngineInfo:
        """Start the worker and wait until it speaks. Raises EngineUnavailableError."""
        self._directory = tempfile.mkdtemp(prefix="voice-gateway-")
        endpoint = f"ipc://{self._directory}/worker"
        self._process = await asyncio.create_subprocess_exec(
            *_command(self._config, endpoint),
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,
            env=worker_environment(os.environ),
        )
        try:
            await self._until_ready(self._process)
            self._ready = True
            self._lost = asyncio.get_running_loop().create_future()
            self._socket = zmq.asyncio.Context.instance().socket(zmq.DEALER)
            self._socket.setsockopt(zmq.LINGER, 0)
            self._socket.setsockopt(zmq.RCVHWM, 0)  # see engine.link.server: nothing may be dropped
            self._socket.connect(endpoint)
            self._spawn(self._receive(self._socket))
            self._spawn(self._watch(self._process))
            info = await self.info()
            self._spawn(self._beat(Pulse()))
            return info
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the worker and everything it started."""
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        self._disconnect()
        if self._process is not None:
            orderly = self._ready and self._lost is not None and not self._lost.done()
            await _end(self._process, _STOP_TIMEOUT_S if orderly else 0.0)
            self._ready = False
            self._process = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
        self._fail_all("the engine was closed")

    async def lost(self) -> str:
        """Wait until the worker has ended by itself, or answers no more; see `engine.api`."""
        if self._lost is None:
            raise api.EngineUnavailableError("expected a started engine")
        return await asyncio.shield(self._lost)

    async def speak(self, request: api.SpeechRequest) -> AsyncIterator[api.SpeechEvent]:
        """Speak one segment; see `engine.api`."""
        call = wire.Speak(next(self._numbers), request)
        finished = False
        async with self._open(call) as answers:
            try:
                while not finished:
                    match await answers.get():
                        case wire.Tokens(tokens=tokens):
                            yield tokens
                        case wire.Sound(frames=frames):
                            yield frames
                        case wire.Ended(finished=end):
                            finished = True
                            yield end
                        case wire.Failed(kind=kind, message=message):
                            finished = True
                            raise _ERRORS.get(kind, api.EngineError)(message)
            finally:
                if not finished and self._socket is not None:
                    self._spawn(self._forget(request.request_id))

    async def abort(self, request_id: str) -> api.AbortResult:
        """Stop a request; idempotent."""
        call = wire.AbortSpeech(next(self._numbers), request_id)
        return (await self._ask(call, wire.Aborted)).result

    async def warm(self, voice: str) -> None:
        """Cache the voice's prefix."""
        await self._ask(wire.Warm(next(self._numbers), voice), wire.Ok)

    async def add_voice(self, sample: api.VoiceSample) -> None:
        """Encode and register a voice."""
        await self._ask(wire.AddVoice(next(self._numbers), sample), wire.Ok)

    async def remove_voice(self, name: str) -> None:
        """Forget a voice."""
        await self._ask(wire.RemoveVoice(next(self._numbers), name), wire.Ok)

    async def stats(self) -> api.EngineStats:
        """Counters, as of now."""
        return (await self._ask(wire.GetStats(next(self._numbers)), wire.Stats)).stats

    async def info(self) -> api.EngineInfo:
        """What the worker is, its voices as of now."""
        return (await self._ask(wire.GetInfo(next(self._numbers)), wire.Info)).info

    @property
    def pid(self) -> int | None:
        """The worker's process id, for memory figures."""
        return None if self._process is None else self._process.pid

    async def _ask(self, call: wire.ClientMessage, kind: type[A]) -> A:
        async with self._open(call) as answers:
            answer = await answers.get()
        if isinstance(answer, wire.Failed):
            raise _ERRORS.get(answer.kind, api.EngineError)(answer.message)
        if not isinstance(answer, kind):
            raise api.EngineError(f"expected {kind.__name__}, got {type(answer).__name__}")
        return answer

    @contextlib.asynccontextmanager
    async def _open(
        self, call: wire.ClientMessage
    ) -> AsyncIterator[asyncio.Queue[wire.WorkerMessage]]:
        if self._socket is None:
            raise api.EngineUnavailableError("the engine's worker is not running")
        answers: asyncio.Queue[wire.WorkerMessage] = asyncio.Queue()
        self._calls[call.call] = answers
        try:
            await self._socket.send(wire.encode(call))
            yield answers
        finally:
            del self._calls[call.call]

    async def _forget(self, request_id: str) -> None:
        """Abort a request that nobody listens to any more; the result does not matter."""
        with contextlib.suppress(api.EngineError):
            await self.abort(request_id)

    async def _receive(self, socket: zmq.asyncio.Socket) -> None:
        while True:
            answer = wire.decode_answer(await socket.recv())
            self._received += 1
            if isinstance(answer, wire.Sound):
                self.sounds_received += 1
            answers = self._calls.get(answer.call)
            if answers is not None:  # else: an abandoned call's late answer
                answers.put_nowait(answer)

    async def _until_ready(self, process: Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            try:
                report = json.loads(line)
            except ValueError:
                continue  # a library's own print
            if not isinstance(report, dict):
                continue
            if "stage" in report:
                self._progress(report["stage"])
            if "error" in report:
                raise api.EngineUnavailableError(report["error"])
            if "ready" in report:
                return
        raise api.EngineUnavailableError(
            f"expected the worker to start, got exit status {await process.wait()}"
        )

    async def _watch(self, process: Process) -> None:
        assert process.stdout is not None
        while await process.stdout.readline():
            pass  # keep the pipe empty
        self._lose(f"the engine's worker ended with status {await process.wait()}")

    async def _beat(self, pulse: Pulse) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            received, stats = self._received, None
            try:
                async with asyncio.timeout(BEAT_S):
                    stats = await self.stats()
            except TimeoutError:
                pass
            except api.EngineUnavailableError:
                return  # `_watch` was faster
            except api.EngineError as error:
                log.warning("the worker has no counters: %s", error)
            reason = pulse.beat(self._received > received, stats)
            if reason is not None:
                self._lose(reason)
                return

    def _lose(self, reason: str) -> None:
        self._disconnect()
        self._fail_all(reason)
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(reason)

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _fail_all(self, message: str) -> None:
        for call, answers in self._calls.items():
            answers.put_nowait(wire.Failed(call, "EngineUnavailableError", message))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _command(config: EngineConfig, endpoint: str) -> list[str]:
    return [sys.executable, "-m", "engine.link.server", endpoint, config.to_json()]


async def _end(process: Process, timeout_s: float) -> None:
    """Close the worker's standard input and wait; then end its process group, whatever is left.

    A worker that is still loading reads nothing; it gets no time.
    """
    if process.stdin is not None:
        process.stdin.close()
    try:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), timeout_s)
    finally:  # also when we are cancelled while we wait
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
