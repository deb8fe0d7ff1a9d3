"""Which values the fields of the client's messages may have."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from gateway.errors import InvalidValueError
from gateway.types import OPUS_RATE_HZ, Codec

MAX_ID_CHARS = 64
MAX_PRONUNCIATIONS = 200
MAX_PRONUNCIATION_CHARS = 200

NUMBERS: dict[str, tuple[float, float]] = {
    "max_buffer_delay_ms": (0, 10_000),
    "speed": (0.5, 2.0),
    "lead_ms": (0, 30_000),
    "format.bitrate_bps": (6_000, 256_000),
    "format.complexity": (0, 10),
    "sampling.temperature": (0, 2),
    "sampling.top_p": (0, 1),
    "sampling.top_k": (1, 1000),
    "sampling.seed": (0, 2**63 - 1),
    "gain": (0, 1),
}
CHOICES: dict[str, tuple[object, ...]] = {
    "segment_mode": ("sentence", "clause"),
    "format.codec": tuple(codec.value for codec in Codec),
    "format.frame_ms": (10, 20, 40, 60),
}
RATES_HZ = {
    Codec.OPUS: (OPUS_RATE_HZ, OPUS_RATE_HZ),
    Codec.PCM_S16LE: (8_000, 48_000),
    Codec.PCM_F32LE: (8_000, 48_000),
    Codec.MULAW: (8_000, 8_000),
    Codec.ALAW: (8_000, 8_000),
}


def shown(value: object) -> str:
    """A value of the peer's in an error message: short, and on one line."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    text = repr(value) if isinstance(value, str) else text
    return text if len(text) <= 60 else f"{text[:57]}..."


def check(path: str, value: Any) -> None:
    """Raise InvalidValueError when a field's value is out of its range."""
    if value is None or value is UNSET:
        return
    if path in CHOICES:
        if value not in CHOICES[path]:
            _fail(path, f"one of {', '.join(map(str, CHOICES[path]))}", value)
    elif path in NUMBERS:
        low, high = NUMBERS[path]
        if not low <= value <= high:
            _fail(path, f"{low} to {high}", value)


def check_rate(codec: Codec, rate_hz: int) -> None:
    """Raise InvalidValueError when a codec cannot have this sample rate."""
    low, high = RATES_HZ[codec]
    if not low <= rate_hz <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        _fail("format.sample_rate_hz", f"{expected} for {codec.value}", rate_hz)


def check_id(name: str, value: object) -> None:
    """Raise InvalidValueError when an id is empty or too long."""
    if isinstance(value, str) and not 1 <= len(value) <= MAX_ID_CHARS:
        raise InvalidValueError(
            f"{name}: expected 1 to {MAX_ID_CHARS} characters, got {len(value)}"
        )


def check_position(name: str, value: float | None) -> None:
    """Raise InvalidValueError when a position lies before the beginning."""
    if value is not None and value < 0:
        _fail(name, "0 or more", value)


def check_pronunciations(table: dict[str, str]) -> None:
    """Raise InvalidValueError when the table is too long or an entry is empty or too long."""
    if len(table) > MAX_PRONUNCIATIONS:
        _fail("pronunciations", f"at most {MAX_PRONUNCIATIONS} words", len(table))
    for word, respelling in table.items():
        if not word.strip():
            _fail("pronunciations", "words that are not empty", word)
        if max(len(word), len(respelling)) > MAX_PRONUNCIATION_CHARS:
            raise InvalidValueError(
                f"pronunciations.{shown(word)}: expected at most {MAX_PRONUNCIATION_CHARS}"
                f" characters, got {max(len(word), len(respelling))}"
            )


def _fail(path: str, expected: str, value: object) -> None:
    raise InvalidValueError(f"{path}: expected {expected}, got {shown(value)}")
