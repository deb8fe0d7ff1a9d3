"""Web pages that may not speak: by their origin, and by the name that led them here."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from gateway.config import Config, ConfigError, load_config
from gateway.server.auth import host_allowed, host_of, origin_allowed
from tests.gateway.shell import gateway, http, receive, socket

SPEECH = {"input": "Hello there my friend.", "voice": "default"}
ORIGINS = [
    "http://[",
    "http://]",
    "http://[::1",
    "http://",
    "://127.0.0.1",
    "127.0.0.1",
    "null",
    "",
    "http://127.0.0.1:port",
    "http://127.0.0.1@evil.example",
    "http://evil.example/127.0.0.1",
    "http://127.0.0.1.evil.example",
    "file://",
    "http://\xff",
    "https://evil.example",
]


@pytest.mark.parametrize("origin", ORIGINS)
async def test_any_other_origin_is_refused_everywhere_and_never_our_fault(
    origin: str, caplog: pytest.LogCaptureFixture
) -> None:
    raw = {"Origin": origin.encode("latin-1")}
    async with gateway() as served, http(served) as client:
        for path in ("v1/audio/speech", "v1/voices", ""):
            method = "POST" if path.endswith("speech") else "GET"
            response = await client.request(
                method, path, json=SPEECH if method == "POST" else None, headers=raw
            )
            assert response.status_code == 403, path
            assert "--allowed-origins" in response.text
        if origin.isascii():
            with pytest.raises(InvalidStatus) as refused:
                async with socket(served, origin=origin):
                    pass
            assert refused.value.response.status_code == 403
            assert b"--allowed-origins" in (refused.value.response.body or b"")
        assert served.service.metrics.registry.get_sample_value(
            "voice_gateway_refused_total", {"code": "forbidden"}
        ) == (4 if origin.isascii() else 3)
    assert [record.levelno for record in caplog.records if record.levelno > logging.INFO] == [
        logging.WARNING
    ]


NAMES = [
    ("evil.example:{port}", False),
    ("evil.example", False),
    ("localhost.evil.example:{port}", False),
    ("127.0.0.1.evil.example", False),
    ("evil.localhost:{port}", False),
    ("[", False),
    ("127.0.0.1@evil.example", False),
    ("evil.example@127.0.0.1", False),
    ("", False),
    ("localhost", True),
    ("LocalHost.:{port}", True),
    ("127.0.0.1:{port}", True),
    ("[::1]:{port}", True),
    ("192.168.1.7", True),
]


@pytest.mark.parametrize(("host", "welcome"), NAMES)
async def test_a_page_whose_name_was_led_here_is_refused(host: str, welcome: bool) -> None:
    """DNS rebinding: origin and host agree, and are the page's own."""
    async with gateway() as served, http(served) as client:
        host = host.format(port=served.port)
        named = {"Host": host, "Origin": f"http://{host}"}
        for headers in (named, {"Host": host}):
            response = await client.post("v1/audio/speech", json=SPEECH, headers=headers)
            assert response.status_code == (200 if welcome else 403)
            assert (await client.get("", headers=headers)).status_code == response.status_code
            assert (await client.get("healthz", headers=headers)).status_code == 200
        if not welcome:
            assert "--allowed-hosts" in response.text


async def test_a_stream_by_another_name_is_refused() -> None:
    async with gateway(allowed_hosts="voice.example") as served:
        for name, status in (("evil.example", 403), ("voice.example", 101)):
            url = f"ws://{name}:{served.port}/v1/stream"
            options = {"host": "127.0.0.1", "port": served.port}
            if status == 101:
                async with connect(url, origin=f"http://{name}", **options) as ws:
                    assert (await receive(ws))["type"] == "hello"  # type: ignore[index]
                continue
            with pytest.raises(InvalidStatus) as refused:
                async with connect(url, origin=f"http://{name}:{served.port}", **options):
                    pass
            assert refused.value.response.status_code == status


async def test_the_warning_comes_once_for_each_and_the_log_is_bounded(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.server.guard._MAX_WARNED", 3)
    async with gateway() as served, http(served) as client:
        for n in (1, 1, 2, 2, 3, 4, 5):
            headers = {"Origin": f"http://page{n}.example" + "x" * 1000}
            assert (await client.get("v1/voices", headers=headers)).status_code == 403
    said = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert len(said) == 3
    assert all(len(line) < 500 for line in said)
    assert "page1.example" in said[0] and "VOICE_GATEWAY_ALLOWED_ORIGINS" in said[0]


# What OpenAI's JavaScript client has a browser ask for.
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type,openai-organization,"
    "x-stainless-arch,x-stainless-lang,x-stainless-os,x-stainless-retry-count",
    "Access-Control-Request-Private-Network": "true",
}


@pytest.mark.parametrize("origin", ["https://app.example", "http://127.0.0.1:3000"])
async def test_what_a_welcome_page_asks_for_is_allowed(origin: str) -> None:
    """A page of the gateway's own host is welcome from any port."""
    async with gateway(allowed_origins="https://app.example") as served, http(served) as client:
        asked = await client.options("v1/audio/speech", headers={"Origin": origin, **PREFLIGHT})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == origin
        allowed = asked.headers["access-control-allow-headers"]
        assert allowed == PREFLIGHT["Access-Control-Request-Headers"]
        assert asked.headers["access-control-allow-private-network"] == "true"
        spoken = await client.post("v1/audio/speech", json=SPEECH, headers={"Origin": origin})
        assert spoken.status_code == 200
        assert spoken.headers["access-control-allow-origin"] == origin
        assert spoken.headers["access-control-expose-headers"] == "*"
        assert "origin" in spoken.headers["vary"].lower()
        refused = await client.post("v1/audio/speech", json={}, headers={"Origin": origin})
        assert refused.status_code == 400
        assert refused.headers["access-control-allow-origin"] == origin  # the page may read why


async def test_a_preflight_of_another_page_is_refused_and_the_log_says_how_to_allow_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    headers = {"Origin": "https://evil.example", **PREFLIGHT}
    async with gateway() as served, http(served) as client:
        for path in ("v1/audio/speech", "v1/models"):
            asked = await client.options(path, headers=headers)
            assert asked.status_code == 403
            assert "access-control-allow-origin" not in asked.headers
        metrics = await client.get("metrics", headers=headers)  # open to programs, not to pages
        assert metrics.status_code == 200
        assert "access-control-allow-origin" not in metrics.headers
    said = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert len(said) == 1 and "evil.example" in said[0] and "--allowed-origins" in said[0]


async def test_wrong_keys_are_counted_as_refused() -> None:
    async with gateway(api_keys="k") as served:
        async with http(served) as client:
            assert (await client.post("v1/audio/speech", json=SPEECH)).status_code == 401
        async with socket(served) as ws:
            assert (await receive(ws))["code"] == "unauthorized"  # type: ignore[index]
        value = served.service.metrics.registry.get_sample_value
        assert value("voice_gateway_refused_total", {"code": "unauthorized"}) == 2
        assert value("voice_gateway_sessions_total", {"protocol": "native"}) is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_nothing_that_stands_there_raises(host: str, origin: str) -> None:
    assert host_of(host) is None or "/" not in str(host_of(host))
    host_allowed(host, {"localhost"})
    if origin_allowed(origin, host, ()):
        assert host_of(origin.partition("://")[2]) == host_of(host)


def test_the_names_of_a_gateway() -> None:
    assert Config(host="Voice.Example").host_names == {"localhost", "voice.example"}
    named = load_config(allowed_hosts="A.example., b")
    assert named.host_names == {"localhost", "127.0.0.1", "a.example", "b"}
    assert host_allowed("anything at all", {"*"})
    for wrong in ("http://a.example", "a.example:80", "a.example/x", "a example"):
        with pytest.raises(ConfigError, match="--allowed-hosts: expected names"):
            load_config(allowed_hosts=wrong)
