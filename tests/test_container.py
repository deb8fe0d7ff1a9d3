"""The container's files without a container engine: valid, and in step with the project."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose

from gateway.__main__ import app
from gateway.config import CLIENT_VARIABLES, Config
from gateway.server.app import create_app
from gateway.server.service import Service

ROOT = Path(__file__).parents[1]
SETTINGS = {f"VOICE_GATEWAY_{name.upper()}" for name in Config.model_fields}


@pytest.fixture
def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture
def steps() -> list[tuple[str, str]]:
    """The Dockerfile's (instruction, arguments), comments and line ends removed."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines if line]


def test_compose_is_valid_by_the_specification() -> None:
    text = (ROOT / "compose.yaml").read_text()
    service = PyCompose.from_yaml(text).get_service("gateway")
    assert service is not None
    with pytest.raises(Exception, match="prots"):  # the check sees mistakes
        PyCompose.from_yaml(text.replace("ports:", "prots:"))


def test_compose_sets_only_what_exists(compose: dict[str, Any]) -> None:
    service = compose["services"]["gateway"]
    assert set(service["environment"]) <= SETTINGS
    assert (ROOT / service["build"] / "Dockerfile").is_file()


def test_compose_is_not_public_by_default(compose: dict[str, Any]) -> None:
    (port,) = compose["services"]["gateway"]["ports"]
    assert port.startswith("127.0.0.1:")


def test_every_copied_path_exists_and_is_let_through(steps: list[tuple[str, str]]) -> None:
    allowed = (ROOT / ".dockerignore").read_text().split()
    sources: list[str] = []
    for instruction, arguments in steps:
        if instruction == "COPY" and "--from" not in arguments:
            sources += arguments.split()[:-1]
    assert {"pyproject.toml", "gateway", "engine", "clients"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in allowed, source


def test_stages_are_defined_before_they_are_used(steps: list[tuple[str, str]]) -> None:
    stages: set[str] = set()
    for instruction, arguments in steps:
        if instruction == "FROM" and " AS " in arguments:
            stages.add(arguments.split(" AS ")[1])
        if found := re.search(r"--from=(\S+)", arguments):
            assert found[1] in stages
    assert steps[0][0] == "FROM"


def test_the_image_starts_a_command_that_exists(steps: list[tuple[str, str]]) -> None:
    found = dict(steps)  # the last of each instruction counts
    assert yaml.safe_load(found["ENTRYPOINT"]) == ["voice-gateway"]
    (name,) = yaml.safe_load(found["CMD"])
    assert name in {
        command.callback.__name__ for command in app.registered_commands if command.callback
    }
    scripts = re.search(r"\[project.scripts\]\n(.*)", (ROOT / "pyproject.toml").read_text())
    assert scripts is not None and scripts[1].startswith("voice-gateway =")
    assert found["USER"] != "root"


def test_the_image_sets_only_what_exists(steps: list[tuple[str, str]]) -> None:
    words = [w for i, arguments in steps if i == "ENV" for w in shlex.split(arguments)]
    names = {w.split("=")[0] for w in words if w.startswith("VOICE_GATEWAY_")}
    assert names <= SETTINGS - set(CLIENT_VARIABLES)
    assert "VOICE_GATEWAY_HOST=0.0.0.0" in words


def test_health_is_asked_where_the_gateway_answers(
    compose: dict[str, Any], steps: list[tuple[str, str]]
) -> None:
    from engine.fake import FakeEngine

    checked = [" ".join(compose["services"]["gateway"]["healthcheck"]["test"])]
    checked += [arguments for instruction, arguments in steps if instruction == "HEALTHCHECK"]
    routes = {getattr(r, "path", "") for r in create_app(Service(Config(), FakeEngine())).routes}
    for check in checked:
        found = re.search(r"http://127.0.0.1:8080(/\w+)", check)
        assert found is not None and found[1] in routes
