"""Questions of several dialects at one path."""

from __future__ import annotations

import pytest

from gateway.dialects import HttpAnswer, LookupRoute, Opening
from gateway.errors import GatewayError, InvalidValueError
from tests.gateway.shell import gateway, http


def route(name: str, header: str | None) -> LookupRoute:
    def answer(opening: Opening) -> HttpAnswer:
        if "bad" in opening.query:
            raise InvalidValueError("bad: expected none, got one")
        return HttpAnswer(200, name.encode(), "text/plain")

    def refusal(error: GatewayError) -> HttpAnswer:
        return HttpAnswer(error.http_status, f"{name}: {error}".encode(), "text/plain")

    def claims(opening: Opening) -> bool:
        return header is None or header in opening.headers

    keys = () if header is None else (header,)
    return LookupRoute("/v1/models", answer, refusal, key_headers=keys, claims=claims)


@pytest.fixture(autouse=True)
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = (route("one", "x-one"), route("rest", None))
    monkeypatch.setattr("gateway.server.app.ROUTES", routes)


async def test_the_first_that_claims_a_question_answers_it() -> None:
    async with gateway() as served, http(served) as client:
        assert (await client.get("v1/models")).text == "rest"
        assert (await client.get("v1/models", headers={"x-one": "k"})).text == "one"


async def test_it_also_refuses_and_looks_for_the_key_in_its_own_way() -> None:
    async with gateway(api_keys="k") as served, http(served) as client:
        wrong = await client.get("v1/models", headers={"x-one": "wrong"})
        assert wrong.status_code == 401 and wrong.text.startswith("one: ")
        none = await client.get("v1/models")
        assert none.status_code == 401 and none.text.startswith("rest: ")
        assert (await client.get("v1/models", headers={"x-one": "k"})).status_code == 200


async def test_what_an_answer_raises_is_a_refusal() -> None:
    async with gateway() as served, http(served) as client:
        answer = await client.get("v1/models?bad=1")
        assert (answer.status_code, answer.text) == (400, "rest: bad: expected none, got one")
