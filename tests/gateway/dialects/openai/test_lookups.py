"""What clients ask before they speak, over a real socket."""

from __future__ import annotations

from typing import Any

import pytest

from engine.fake import FakeEngine, FakeEngineConfig
from tests.gateway.shell import gateway, http

VOICES = FakeEngineConfig(voices=("default", "ada"))


async def get(path: str, headers: dict[str, str] | None = None, **settings: Any) -> Any:
    async with gateway(FakeEngine(VOICES), **settings) as served, http(served) as client:
        return await client.get(path, headers=headers)


@pytest.mark.parametrize("path", ["v1/models", "v1/models/"])
async def test_models(path: str) -> None:
    listed = (await get(path)).json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]][:2] == ["fake", "tts-1"]
    for model in listed["data"]:
        assert model["object"] == "model" and isinstance(model["created"], int)


@pytest.mark.parametrize("name", ["fake", "tts-1", "gpt-4o-mini-tts", "fake/"])
async def test_one_model(name: str) -> None:
    assert (await get(f"v1/models/{name}")).json()["id"] == name.strip("/")


@pytest.mark.parametrize("name", ["nothing", "openai/whisper", "a%2Fb", "%00"])
async def test_a_model_that_is_not_here(name: str) -> None:
    response = await get(f"v1/models/{name}")
    assert response.status_code == 404
    error = response.json()["error"]
    assert (error["code"], error["param"]) == ("model_not_found", "model")


async def test_keys_are_asked_for() -> None:
    for path in ("v1/models", "v1/models/fake", "v1/audio/models", "v1/audio/voices"):
        response = await get(path, api_keys="sk-1")
        assert (response.status_code, response.json()["error"]["code"]) == (401, "unauthorized")
        for name, key in (("authorization", "Bearer sk-1"), ("api-key", "sk-1")):
            assert (await get(path, {name: key}, api_keys="sk-1")).status_code == 200
