"""Requests of clients of self-hosted servers, as their sources send them, over a real socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.fake import FakeEngine, FakeEngineConfig
from tests.gateway.server.connection.test_http import decoded
from tests.gateway.shell import gateway, http

CASES = json.loads((Path(__file__).parent / "clients.json").read_text(encoding="utf-8"))
EXTENSION = "chrome-extension://hdhinadidafjejdhmfkjgnolgimiaplp"
SPEECH = [case for case in CASES if case["request"]["method"] == "POST"]
QUESTIONS = {case["client"]: case for case in CASES if case["request"]["method"] == "GET"}


async def sent(case: dict[str, Any]) -> tuple[Any, FakeEngine]:
    """(response, engine) of a gateway with two voices."""
    engine = FakeEngine(FakeEngineConfig(voices=("default", "ada")))
    request = case["request"]
    async with gateway(engine, allowed_origins=EXTENSION) as served, http(served) as client:
        body = json.dumps(request["body"]).encode() if "body" in request else None
        response = await client.request(
            request["method"], request["path"], headers=request["headers"], content=body
        )
    return response, engine


@pytest.mark.parametrize("case", SPEECH, ids=lambda case: case["client"])
async def test_speech(case: dict[str, Any]) -> None:
    response, engine = await sent(case)
    assert response.status_code == 200, response.text
    ignored = response.headers.get("x-voice-gateway-ignored", "")
    assert [name for name in ignored.split(", ") if name] == case.get("ignored", [])
    body = case["request"]["body"]
    if body.get("response_format") != "pcm":
        samples, rate_hz = decoded(response.content)
        made_s = engine._frames_total * 2048 / 44_100
        assert samples / rate_hz == pytest.approx(made_s / body.get("speed", 1), abs=0.2)
    wanted = body["voice"].strip().lower()
    assert engine.requests[0].voice == (wanted if wanted == "ada" else "default")


async def test_open_webui_finds_models_and_voices() -> None:
    models, _ = await sent(QUESTIONS["Open WebUI, models"])
    assert "fake" in [model["id"] for model in models.json()["models"]]
    voices, _ = await sent(QUESTIONS["Open WebUI, voices"])
    assert {v["id"]: v["name"] for v in voices.json()["voices"]} == {
        "default": "default",
        "ada": "ada",
    }


async def test_openreader_finds_names() -> None:
    response, _ = await sent(QUESTIONS["OpenReader, voices"])
    assert response.json() == {"voices": ["default", "ada"]}


async def test_read_aloud_takes_the_settings() -> None:
    response, _ = await sent(QUESTIONS["Read Aloud, test of the settings"])
    assert response.status_code == 200


async def test_read_aloud_shows_what_is_wrong_with_a_key() -> None:
    request = QUESTIONS["Read Aloud, test of the settings"]["request"]
    async with gateway(api_keys="sk-1") as served, http(served) as client:
        response = await client.get(request["path"], headers=request["headers"])
    assert response.status_code == 401 and response.json()["error"]["message"]
