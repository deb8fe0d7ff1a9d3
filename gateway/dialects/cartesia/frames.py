"""Cartesia's events: the same on the socket and as server-sent ones."""

from __future__ import annotations

import base64
from typing import Any

_GOING_ON, _COMPLETE = 206, 200


def chunk(payload: bytes) -> dict[str, Any]:
    """Sound. A dialect knows no clock, so no time is told for the step that made it."""
    data = base64.b64encode(payload).decode()
    return {
        "type": "chunk",
        "data": data,
        "done": False,
        "status_code": _GOING_ON,
        "step_time": 0.0,
    }


def timestamps(words: dict[str, list[Any]]) -> dict[str, Any]:
    """Word times."""
    return {
        "type": "timestamps",
        "done": False,
        "status_code": _GOING_ON,
        "word_timestamps": words,
    }


def flush_done(flush_id: int) -> dict[str, Any]:
    """Everything up to a flush was sent."""
    return {
        "type": "flush_done",
        "done": False,
        "flush_done": True,
        "flush_id": flush_id,
        "status_code": _GOING_ON,
    }


def done() -> dict[str, Any]:
    """The end."""
    return {"type": "done", "done": True, "status_code": _COMPLETE}
