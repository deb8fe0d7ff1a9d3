"""How a voice is listed. One answer serves clients of several vendors, which ask at one path."""

from __future__ import annotations

from typing import Any


def listed_voice(name: str) -> dict[str, Any]:
    """A voice with the fields of our own list (`id`) and of ElevenLabs' (`voice_id` and on)."""
    return {
        "id": name,
        "name": name,
        "voice_id": name,
        "category": "premade",
        "labels": {},
        "preview_url": None,
    }
