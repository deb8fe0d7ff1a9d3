"""Serve one SpeechWorker over ZeroMQ: `python -m engine.link.server ENDPOINT SETTINGS`

ENDPOINT is the ZeroMQ address to bind, SETTINGS an `EngineConfig` as JSON: '{"max_streams": 4}'.
Standard output carries the start-up, one JSON object a line: {"stage": text}, then {"ready": true}
or {"error": text}. The process ends when its standard input closes, so it cannot outlive whoever
started it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec
import zmq
import zmq.asyncio

from engine import api
from engine.checkpoint.folder import Checkpoint
from engine.link import wire
from engine.plugin.libraries import load_libraries
from engine.plugin.startup import prepare, without_collections
from engine.worker_config import EngineConfig

log = logging.getLogger("voice-gateway.worker")

_CLOSE_TIMEOUT_S = 5.0


class Server:
    """Answers clients of one ROUTER socket; each call is a task of its own."""

    def __init__(self, engine: api.SpeechEngine, info: Callable[[], api.EngineInfo]) -> None:
        self._engine, self._info = engine, info
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, endpoint: str) -> None:
        """Bind and serve until cancelled."""
        context = zmq.asyncio.Context.instance()
        self._socket = context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        # by default a ROUTER drops what a slow reader has not taken; admitted streams are the bound
        self._socket.setsockopt(zmq.SNDHWM, 0)
        try:
            self._socket.bind(endpoint)
            print(json.dumps({"ready": True}), flush=True)
            while True:
                client, data = await self._socket.recv_multipart()
                task = asyncio.create_task(self._answer(client, data))
                self._tasks.add(task)
                task.add_done_callback(self._answered)
        finally:
            for task in self._tasks:
                task.cancel()
            self._socket.close()

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a call could not be answered", exc_info=error)

    async def _answer(self, client: bytes, data: bytes) -> None:
        try:
            call = wire.decode_call(data)
        except msgspec.DecodeError as error:
            log.warning("expected a client's message, got %d bytes: %s", len(data), error)
            return
        try:
            await self._dispatch(call, lambda answer: self._send(client, answer))
        except api.EngineError as error:
            await self._send(client, wire.Failed(call.call, type(error).__name__, str(error)))
        except Exception as error:
            log.exception("call %s failed", type(call).__name__)
            await self._send(client, wire.Failed(call.call, "EngineError", repr(error)))

    async def _send(self, client: bytes, answer: wire.WorkerMessage) -> None:
        await self._socket.send_multipart([client, wire.encode(answer)])

    async def _dispatch(
        self, call: wire.ClientMessage, send: Callable[[Any], Awaitable[None]]
    ) -> None:
        engine = self._engine
        match call:
            case wire.GetInfo():
                await send(wire.Info(call.call, self._info()))
            case wire.GetStats():
                await send(wire.Stats(call.call, await engine.stats()))
            case wire.Speak(request=request):
                async for event in engine.speak(request):
                    await send(_answer(call.call, event))
            case wire.AbortSpeech(request_id=request_id):
                await send(wire.Aborted(call.call, await engine.abort(request_id)))
            case wire.Warm(voice=voice):
                await engine.warm(voice)
                await send(wire.Ok(call.call))
            case wire.AddVoice(sample=sample):
                await engine.add_voice(sample)
                await send(wire.Ok(call.call))
            case wire.RemoveVoice(name=name):
                await engine.remove_voice(name)
                await send(wire.Ok(call.call))


def _answer(call: int, event: api.SpeechEvent) -> wire.WorkerMessage:
    match event:
        case api.TextTokens():
            return wire.Tokens(call, event)
        case api.Frames():
            return wire.Sound(call, event)
        case api.Finished():
            return wire.Ended(call, event)


def _report(stage: str) -> None:
    print(json.dumps({"stage": stage}), flush=True)


def _arguments(argv: list[str]) -> tuple[str, EngineConfig]:
    if len(argv) != 2:
        raise ValueError(f"expected ENDPOINT and SETTINGS, got {len(argv)} arguments")
    endpoint, settings = argv
    return endpoint, EngineConfig.from_json(settings)


def main() -> None:
    """Start the worker, serve, and end its process tree when standard input closes."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    warnings.simplefilter("ignore")  # SGLang's imports warn of every accelerator that is not here
    os.environ.setdefault("PYTHONWARNINGS", "ignore")  # ... and again in its children
    try:
        endpoint, config = _arguments(sys.argv[1:])
        with without_collections():
            worker = _load(config)
    except Exception as error:
        log.exception("the worker could not start")
        print(json.dumps({"error": str(error)}), flush=True)
        sys.exit(1)
    loop = asyncio.get_event_loop_policy().get_event_loop()
    try:
        loop.run_until_complete(_serve(worker, endpoint))
    except Exception as error:
        log.exception("the worker ends")
        print(json.dumps({"error": str(error)}), flush=True)
        sys.exit(1)


def _load(config: EngineConfig) -> Any:
    _report("checking the checkpoint")
    Checkpoint.open(config.checkpoint)  # a bad one is named before anything heavy is imported
    _report("importing torch and SGLang")
    prepare(config)
    load_libraries(config)
    from engine.host.worker import SpeechWorker

    return SpeechWorker(config, _report)


def _stop_at_end_of_input(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        stop.set()


async def _serve(worker: Any, endpoint: str) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    loop.add_reader(sys.stdin.fileno(), _stop_at_end_of_input, stop)
    _report("speaking the first word")
    try:
        await worker.start()
        await serve_until(stop, Server(worker, lambda: worker.info), endpoint, worker.broken())
    finally:
        await asyncio.wait_for(worker.close(), _CLOSE_TIMEOUT_S)


async def serve_until(
    stop: asyncio.Event,
    server: Server,
    endpoint: str,
    broken: Coroutine[Any, Any, BaseException],
) -> None:
    """Serve until `stop` is set. Raises what ends the server, EngineError when `broken` returns."""
    serving = asyncio.create_task(server.run(endpoint))
    stopped = asyncio.create_task(stop.wait())
    breaking = asyncio.create_task(broken)
    tasks = (serving, stopped, breaking)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        if breaking.done():
            raise api.EngineError(f"the worker can speak no more: {breaking.result()!r}")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    main()
