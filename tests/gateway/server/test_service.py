"""One process: when it is ready, what it lists, what it serves to whom."""

from __future__ import annotations

import pytest

from engine.fake import FakeEngine, FakeEngineConfig
from gateway.config import Config
from gateway.server.service import Stage
from gateway.server.serving import running
from tests.gateway.shell import HeldEngine, gateway, http, receive, send, socket, until, until_event

SPEECH = {"input": "Hello there my friend.", "voice": "default"}


async def test_ready_only_while_the_engine_can_speak() -> None:
    engine = HeldEngine()
    async with running(Config(port=0, engine="fake"), engine) as served, http(served) as client:
        assert (await client.get("healthz")).status_code == 200
        waiting = await client.get("readyz")
        assert (waiting.status_code, waiting.json()["status"]) == (503, "starting")
        assert (await client.post("v1/audio/speech", json=SPEECH)).status_code == 503
        assert (await client.get("v1/voices")).status_code == 503
        engine.allowed.set()
        await served.service.started()
        ready = await client.get("readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "ready")

        async def dead() -> None:
            raise ConnectionError("the worker died")

        engine.stats = dead  # type: ignore[method-assign,assignment]
        assert (await client.get("readyz")).status_code == 503
        assert (await client.get("healthz")).status_code == 200
    assert engine.closed


async def test_an_engine_that_does_not_start_is_never_ready() -> None:
    engine = HeldEngine()
    engine.start_error = RuntimeError("no such checkpoint")
    engine.allowed.set()
    async with running(Config(port=0, engine="fake"), engine) as served, http(served) as client:
        with pytest.raises(RuntimeError, match="no such checkpoint"):
            await served.service.started()
        failed = await client.get("readyz")
        assert (failed.status_code, failed.json()["status"]) == (503, "failed")


async def test_a_lost_engine_is_started_again_and_sessions_stay_open() -> None:
    engine = HeldEngine()
    engine.allowed.set()
    async with gateway(engine) as served, http(served) as client, socket(served) as ws:
        metrics = served.service.metrics.registry.get_sample_value
        assert (await receive(ws))["type"] == "hello"  # type: ignore[index]
        engine.allowed.clear()
        await engine.crash("killed")
        await until(lambda: served.service.stage is Stage.RESTARTING)
        assert metrics("voice_gateway_ready") == 0
        waiting = await client.get("readyz")
        assert (waiting.status_code, waiting.json()["status"]) == (503, "restarting")
        refused = await client.post("v1/audio/speech", json=SPEECH)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        async with socket(served) as late:
            greeting = await receive(late)
            assert isinstance(greeting, dict)
            assert (greeting["type"], greeting["code"]) == ("error", "overloaded")
        await send(ws, "text", context="c", text="Hello there.")
        await send(ws, "end", context="c")
        engine.allowed.set()
        done, _ = await until_event(ws, "done", "error")
        assert done["type"] == "done"
        assert done["frames"] > 0
        assert metrics("voice_gateway_ready") == 1
        assert metrics("voice_gateway_engine_losses_total") == 1
        assert metrics("voice_gateway_engine_restarts_total") == 1
        assert (await client.get("readyz")).status_code == 200


async def test_voices_and_keys() -> None:
    engine = FakeEngine(FakeEngineConfig(voices=("default", "amy")))
    async with gateway(engine, api_keys="k") as served:
        async with http(served) as client:
            assert (await client.get("v1/voices")).status_code == 401
            assert (await client.get("healthz")).status_code == 200
        async with http(served, headers={"Authorization": "Bearer k"}) as client:
            voices = (await client.get("v1/voices")).json()["voices"]
            assert [voice["id"] for voice in voices] == ["default", "amy"]


async def test_the_page_is_served_with_its_policy() -> None:
    async with gateway() as served, http(served) as client:
        page = await client.get("/")
        assert page.status_code == 200
        assert "default-src 'self'" in page.headers["content-security-policy"]
        for name in ("app.js", "gateway.js", "player.js", "worklet.js", "style.css", "icon.svg"):
            assert (await client.get(name)).status_code == 200
        assert (await client.get("../pyproject.toml")).status_code == 404


async def test_pages_of_other_origins_need_leave() -> None:
    async with gateway(allowed_origins="https://app.example") as served, http(served) as client:
        for origin, status in (("https://evil.example", 403), ("https://app.example", 200)):
            response = await client.post("v1/audio/speech", json=SPEECH, headers={"Origin": origin})
            assert response.status_code == status
        assert response.headers["access-control-allow-origin"] == "https://app.example"
