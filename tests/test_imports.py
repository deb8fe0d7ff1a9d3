"""Who may import whom. Every import statement of the tree is read, those inside functions too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("gateway", "engine", "clients")

# The gateway's asyncio side. Every other module of it is core, new ones included.
SHELL = tuple(f"gateway.{name}" for name in ("__main__", "cli", "clock", "engine_link", "server"))
# What is needed to speak may not lean on what is needed to train, judge or convert.
WORKSHOP = "engine.workshop"


@dataclass(frozen=True)
class Rule:
    """Modules under `inside`, but not under `outside`, import nothing under `forbidden`.

    What lies under `allowed` is an exception to `forbidden`.
    """

    name: str
    inside: tuple[str, ...]
    forbidden: tuple[str, ...]
    outside: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    def covers(self, module: str) -> bool:
        return _under(module, self.inside) and not _under(module, self.outside)

    def forbids(self, imported: str) -> bool:
        return _under(imported, self.forbidden) and not _under(imported, self.allowed)


RULES = [
    Rule("the gateway runs no model", ("gateway",), ("torch", "sglang", "transformers", "dac")),
    Rule(
        "the gateway sees only the engine's interface",
        ("gateway",),
        ("engine",),
        outside=("gateway.server.app",),  # picks the implementation
        allowed=("engine.api",),
    ),
    Rule(
        "the core is synchronous and owns no socket, array or engine",
        ("gateway",),
        ("asyncio", "starlette", "uvicorn", "websockets", "numpy", "engine", "socket", "threading"),
        outside=(*SHELL, "gateway.audio"),
    ),
    Rule(
        "the audio chain is synchronous",
        ("gateway.audio",),
        ("asyncio", "starlette", "engine", "gateway"),
        allowed=("gateway.audio", "gateway.types", "gateway.errors"),
    ),
    Rule(
        "dialects know only the shared nouns",
        ("gateway.dialects",),
        ("gateway", "engine", "clients", "asyncio", "numpy"),
        allowed=("gateway.types", "gateway.errors", "gateway.dialects"),
    ),
    Rule(
        "only the server knows the web framework",
        ("gateway",),
        ("starlette",),
        outside=("gateway.server",),
    ),
    Rule("the engine does not know the gateway", ("engine",), ("gateway", "clients")),
    Rule(
        "models know neither worker nor codec",
        ("engine.models",),
        ("sglang", "engine.plugin", "engine.host", "engine.link", "engine.codec"),
    ),
    Rule(
        "the codec does not know SGLang",
        ("engine.codec",),
        ("sglang", "engine.plugin", "engine.models", "engine.host", "engine.link"),
    ),
    Rule("only the plugin knows SGLang", ("engine",), ("sglang",), outside=("engine.plugin",)),
    Rule("nothing that serves knows the workshop", ("engine",), (WORKSHOP,), outside=(WORKSHOP,)),
    Rule(
        "the engine's interface needs no model", ("engine.api", "engine.fake"), ("torch", "sglang")
    ),
    Rule("clients stand alone", ("clients",), ("gateway", "engine")),
]


def _under(module: str, prefixes: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str, module: str, is_package: bool) -> Iterator[str]:
    """Every module that a source imports; `from a import b` may mean a.b, so both are named."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join((*parts, base)) if base else ".".join(parts)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            called = node.func.id if isinstance(node.func, ast.Name) else called
            first = node.args[0]
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield str(first.value)


def broken(rule: Rule, module: str, found: list[str]) -> list[str]:
    if not rule.covers(module):
        return []
    return [f"{module} imports {name}" for name in found if rule.forbids(name)]


def tree() -> list[tuple[str, list[str]]]:
    sources = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [
        (
            module_name(path),
            list(
                imports(
                    path.read_text(encoding="utf-8"), module_name(path), path.stem == "__init__"
                )
            ),
        )
        for path in sources
    ]


TREE = tree()
MODULES = {module for module, _ in TREE}
# A folder of more than this many modules wants another room.
MOST_MODULES = 13
WITHOUT_CIRCLES = ("gateway", "engine", "clients")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule(rule: Rule) -> None:
    assert any(rule.covers(module) for module, _ in TREE)
    assert [line for module, found in TREE for line in broken(rule, module, found)] == []


def test_dialects_do_not_know_each_other() -> None:
    shared = {"explain", "voice_list"}  # what every dialect may use
    registry = "gateway.dialects.registry"  # knows them all
    for module, found in TREE:
        if not module.startswith("gateway.dialects.") or module == registry:
            continue
        own = module.split(".")[2]
        for name in found:
            parts = name.split(".")
            if name in MODULES and parts[:2] == ["gateway", "dialects"] and len(parts) > 2:
                assert parts[2] in {own, *shared}, f"{module} imports {name}"


def links(tree: list[tuple[str, list[str]]]) -> dict[str, set[str]]:
    """Module -> modules of ours that it imports, those for type checkers too.

    Of `from a import b` a module b counts, and the package a only where it holds b itself.
    """
    modules = {module for module, _ in tree}
    graph: dict[str, set[str]] = {}
    for module, found in tree:
        whole = {name for name in found if name in modules}
        parents = {
            name
            for name in whole
            if all(other in modules for other in found if other.rpartition(".")[0] == name)
            and any(other.rpartition(".")[0] == name for other in found)
        }
        graph[module] = whole - parents - {module}
    return graph


def folder(module: str) -> str:
    """The folder that a module's file lies in."""
    is_package = any(other.startswith(f"{module}.") for other in MODULES)
    return module if is_package else module.rpartition(".")[0]


def room_links(graph: dict[str, set[str]], depth: int) -> dict[str, set[str]]:
    """The same between folders, `depth` names deep; a folder and what lies in it are no pair."""
    rooms: dict[str, set[str]] = {}
    for module, imported in graph.items():
        for other in imported:
            a, b = (".".join(folder(name).split(".")[:depth]) for name in (module, other))
            if not (_under(a, (b,)) or _under(b, (a,))):
                rooms.setdefault(a, set()).add(b)
    return rooms


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """What imports itself by way of others: sorted groups of names."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for other in graph.get(waiting.pop(), set()) - seen:
                seen.add(other)
                waiting.append(other)
        reached[start] = seen
    groups = {
        tuple(sorted({name} | {other for other in seen if name in reached.get(other, ())}))
        for name, seen in reached.items()
        if name in seen
    }
    return [list(group) for group in sorted(groups)]


def inside(package: str) -> dict[str, set[str]]:
    return links([(module, found) for module, found in TREE if _under(module, (package,))])


@pytest.mark.parametrize("package", WITHOUT_CIRCLES)
def test_no_module_imports_itself_by_way_of_others(package: str) -> None:
    assert circles(inside(package)) == []


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("package", WITHOUT_CIRCLES)
def test_no_room_imports_itself_by_way_of_others(package: str, depth: int) -> None:
    assert circles(room_links(inside(package), depth)) == []


def test_no_folder_holds_more_modules_than_a_reader_takes_in() -> None:
    counts: dict[str, int] = {}
    for module in MODULES:
        if folder(module) != module:  # a package's __init__ is the folder itself
            counts[folder(module)] = counts.get(folder(module), 0) + 1
    for name, count in counts.items():
        assert count <= MOST_MODULES, f"{name} holds {count} modules"


def test_a_circle_is_seen() -> None:
    graph = {"a.x": {"a.y"}, "a.y": {"a.z"}, "a.z": {"a.x"}, "a.w": {"a.x"}}
    assert circles(graph) == [["a.x", "a.y", "a.z"]]
    assert circles({"a": {"b"}, "b": set()}) == []
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.b import B"
    tree = [("p.a", list(imports(source, "p.a", False))), ("p.b", ["p.a"])]
    assert circles(links(tree)) == [["p.a", "p.b"]]


def test_the_list_of_the_shell_is_true() -> None:
    assert set(SHELL) <= MODULES


@pytest.mark.parametrize(
    ("module", "is_package", "source"),
    [
        ("gateway.session.session", False, "import asyncio"),
        ("gateway.session.session", False, "def f():\n    from numpy import array"),
        ("gateway.types", True, "from engine import api"),
        ("gateway.session.session", False, "import importlib\nimportlib.import_module('torch.nn')"),
        ("gateway.engine_link.port", False, "from starlette.websockets import WebSocket"),
        ("gateway.server.driver", False, "from engine.host.worker import Worker"),
        ("gateway.dialects.native.decode", False, "from gateway.session.session import Session"),
        ("gateway.dialects.native.decode", False, "from ...session import Session"),
        ("engine.models.slow_ar", False, "from engine import codec"),
        ("engine.codec.decoder", False, "import sglang"),
        ("engine.models.slow_ar", False, "import sglang"),
        ("engine.host.worker", False, "from sglang.srt.entrypoints import engine"),
        ("engine.host.worker", False, "from engine.workshop.train import recipe"),
        ("clients.python", False, "from gateway.types import Text"),
    ],
)
def test_a_broken_rule_is_seen(module: str, is_package: bool, source: str) -> None:
    found = list(imports(source, module, is_package))
    assert any(broken(rule, module, found) for rule in RULES)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gateway.server.driver", "import asyncio\nfrom engine.api import SpeechEngine"),
        ("gateway.audio.chain", "import numpy as np\nfrom gateway.types import Packet"),
        ("gateway.dialects.native.decode", "from gateway.dialects.native import encode"),
        ("gateway.server.app", "from engine.link.client import WorkerEngine"),
    ],
)
def test_what_is_allowed_is_not_reported(module: str, source: str) -> None:
    found = list(imports(source, module, False))
    assert not [line for rule in RULES for line in broken(rule, module, found)]
