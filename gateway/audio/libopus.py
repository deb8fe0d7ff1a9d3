"""libopus by opuslib's bindings: the system's library, else the one inside PyAV's wheel."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def bundled_libopus() -> str | None:
    """The libopus that PyAV's wheel brings, None if it was built without one of its own."""
    import av

    package = Path(av.__file__).parent
    # wheels keep their libraries beside the package (Linux, Windows) or inside it (macOS)
    for folder in (package.parent / "av.libs", package / ".dylibs"):
        for path in sorted(folder.glob("*opus*")):
            if path.name.startswith(("libopus-", "libopus.", "opus")):
                return str(path)
    return None


@functools.cache
def load() -> SimpleNamespace:
    """Import opuslib's bindings: attributes `encoder`, `decoder`, `ctl`, `float_pointer`, `source`.

    Raises:
        ImportError: there is no libopus anywhere.
    """
    source = "system"
    if not ctypes.util.find_library("opus"):
        path, source = bundled_libopus(), "bundled with PyAV"
        if path is None:
            raise ImportError("libopus: expected the system's or the one in PyAV's wheel, got none")
        return _import(source, lambda name: path)
    return _import(source, ctypes.util.find_library)


def _import(source: str, find_library: Callable[[str], str | None]) -> SimpleNamespace:
    original = ctypes.util.find_library
    ctypes.util.find_library = find_library  # type: ignore[assignment]  # opuslib asks it once, on import
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # `is not 0` in opuslib 3.0.1
            api, encoder, decoder, ctl = (
                importlib.import_module(name)
                for name in ("opuslib.api", *(f"opuslib.api.{m}" for m in _MODULES))
            )
    finally:
        ctypes.util.find_library = original
    return SimpleNamespace(
        library=api.libopus,
        encoder=encoder,
        decoder=decoder,
        ctl=ctl,
        float_pointer=api.c_float_pointer,
        source=source,
    )


_MODULES = ("encoder", "decoder", "ctl")


def version() -> str:
    """What the loaded library calls itself, such as "libopus 1.3.1"."""
    get: Any = load().library.opus_get_version_string
    get.restype = ctypes.c_char_p
    return str(get().decode())
