"""What an engine worker is told at start, checked once, here, and spelt as one JSON object."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

# what speaks when nobody names a checkpoint
DEFAULT_CHECKPOINT = Path(__file__).parent / "checkpoints" / "built-in"

Style = Literal["fish", "omni"]
ForeignText = Literal["transliterate", "refuse"]

DEVICES = ("auto", "cpu", "cuda")
DTYPES = ("auto", "float32", "bfloat16")
STYLES: tuple[Style, ...] = ("fish", "omni")
FOREIGN_TEXTS: tuple[ForeignText, ...] = ("transliterate", "refuse")


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Settings of one worker. Raises ValueError, which says what was expected and what came.

    `device` auto: cuda where there is one. `dtype` auto: bfloat16 on cuda, float32 on a CPU.
    `max_streams`: segments spoken at once; `max_waiting`: admitted beyond that, in line.
    `kv_tokens`: size of the KV cache, prefixes included; None lets SGLang take what a GPU has left.
    `voices`: a folder of `name.wav` + `name.txt` pairs, beside the checkpoint's own `voices`.
    `threads`: CPU threads of a model step. `style`: how tokens are drawn where a request does not
    say ("omni": as SGLang-Omni does). `paced`: start a stream only when no running one pays for it
    with silence. `attention`: SGLang's attention backend, None chooses; `graphs`: CUDA graphs.
    `foreign_text`: what a checkpoint of one language does with other scripts. `guarded`: what the
    alignment heads show to be skipped, repeated or stuck is drawn again.
    """

    checkpoint: Path = DEFAULT_CHECKPOINT
    device: str = "auto"
    dtype: str = "auto"
    max_streams: int = 16
    max_waiting: int = 64
    kv_tokens: int | None = None
    voices: Path | None = None
    threads: int = 1
    style: Style = "fish"
    paced: bool = True
    attention: str | None = None
    graphs: bool = True
    foreign_text: ForeignText = "transliterate"
    guarded: bool = True

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("device", self.device, DEVICES),
            ("dtype", self.dtype, DTYPES),
            ("style", self.style, STYLES),
            ("foreign_text", self.foreign_text, FOREIGN_TEXTS),
        ):
            if value not in choices:
                raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
        for name, number, least in (
            ("max_streams", self.max_streams, 1),
            ("max_waiting", self.max_waiting, 0),
            ("threads", self.threads, 1),
            ("kv_tokens", self.kv_tokens, 1),
        ):
            if number is not None and number < least:
                raise ValueError(f"{name}: expected at least {least}, got {number}")

    def to_json(self) -> str:
        """One line of JSON; `from_json` reads it. What has its default is left out."""
        default = EngineConfig()
        given = {name: getattr(self, name) for name in self.__slots__}
        differing = {
            name: value for name, value in given.items() if value != getattr(default, name)
        }
        return msgspec.json.encode(differing, enc_hook=str).decode()  # str: paths

    @classmethod
    def from_json(cls, text: str) -> EngineConfig:
        """Raises ValueError on unknown or wrong settings, and on anything else than an object."""
        raw = msgspec.json.decode(text, type=dict[str, Any])
        known = cls.__slots__
        if unknown := sorted(raw.keys() - set(known)):
            raise ValueError(f"expected settings among {', '.join(known)}, got {unknown}")
        return msgspec.convert(raw, cls, dec_hook=_to_path)


def _to_path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise ValueError(f"expected a path, got {value!r}")
