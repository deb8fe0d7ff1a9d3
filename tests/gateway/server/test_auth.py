"""Keys, in every place where a client can put one."""

from __future__ import annotations

import pytest

from gateway.dialects import Opening, SocketRoute
from gateway.dialects.native import NativeDialect
from gateway.server.auth import chosen_subprotocol, not_keys, offered_key
from gateway.types import EngineFacts, Limits, VoiceNames

ROUTE = SocketRoute("x", "/x", NativeDialect, key_headers=("x-key",), key_queries=("api_key",))


def opening(
    headers: dict[str, str] | None = None,
    query: dict[str, str] | None = None,
    subprotocols: tuple[str, ...] = (),
) -> Opening:
    return Opening(
        {}, query or {}, headers or {}, subprotocols, EngineFacts(), Limits(), VoiceNames(())
    )


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (opening(), None),
        (opening({"authorization": "Bearer k"}), "k"),
        (opening({"authorization": "bearer  k "}), "k"),
        (opening({"authorization": "Token k"}), "k"),
        (opening({"authorization": "Basic k"}), None),
        (opening({"authorization": "Bearer "}), None),
        (opening({"x-key": " k "}), "k"),
        (opening({"x-key": ""}, {"api_key": "q"}), "q"),
        (opening({"y-key": "k"}), None),
        (opening({}, {"api_key": "k"}), "k"),
        (opening({}, {"key": "k"}), None),
        (opening(subprotocols=("bearer.k",)), "k"),
        (opening(subprotocols=("voice-gateway.v1", "bearer.k")), "k"),
        (opening(subprotocols=("token", "k")), "k"),
        (opening(subprotocols=("token",)), None),
        (opening({"authorization": "Bearer h"}, {"api_key": "q"}, ("bearer.s",)), "h"),
        (opening({}, {"api_key": "q"}, ("bearer.s",)), "s"),
    ],
)
def test_a_key_is_found(given: Opening, key: str | None) -> None:
    assert offered_key(given, ROUTE) == key


@pytest.mark.parametrize(
    ("offered", "ours", "chosen"),
    [
        ((), None, None),
        ((), "v1", None),
        (("v1",), "v1", "v1"),
        (("bearer.k", "v1"), "v1", "v1"),
        (("v2",), "v1", None),
        (("token", "k"), None, "token"),
        (("bearer.k",), None, None),
    ],
)
def test_what_is_answered(offered: tuple[str, ...], ours: str | None, chosen: str | None) -> None:
    assert chosen_subprotocol(offered, ours) == chosen


def test_keys_are_no_protocols() -> None:
    assert not_keys(("bearer.k", "v1")) == ("v1",)
