"""How a Realtime session sounds: what a client sets, and what the gateway is told of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gateway.dialects import Opening
from gateway.dialects.openai.realtime.messages import CODECS, Format, Session
from gateway.dialects.openai.speech import style_for
from gateway.dialects.openai.voices import voice_named
from gateway.errors import InvalidValueError, UnknownVoiceError
from gateway.types import AudioFormat, Codec, SettingsPatch

_PCM_RATE_HZ = 24_000


@dataclass(frozen=True, slots=True)
class Sound:
    """`voice` as the client named it."""

    voice: str = ""
    format: Format = Format()
    speed: float = 1.0
    instructions: str = ""

    def updated(self, session: Session, opening: Opening) -> Sound:
        """With what a client sets. Raises InvalidValueError, UnknownVoiceError."""
        if session.output_modalities is not None and "audio" not in session.output_modalities:
            raise InvalidValueError("session.output_modalities: expected audio, got none")
        new = self
        if session.instructions is not None:
            new = replace(new, instructions=session.instructions)
        output = session.audio.output if session.audio is not None else None
        if output is None:
            return new
        if output.format is not None:
            new = replace(new, format=output.format)
        if output.speed is not None:
            new = replace(new, speed=output.speed)
        if output.voice is not None:
            name = output.voice if isinstance(output.voice, str) else output.voice.id
            known = opening.voices.known
            if known and voice_named(name, opening.voices) not in known:
                raise UnknownVoiceError(
                    f"session.audio.output.voice: expected one of {', '.join(known)}, got {name!r}"
                )
            new = replace(new, voice=name)
        return new

    def patch(self, opening: Opening) -> SettingsPatch:
        """For one context."""
        codec = CODECS[self.format.type]
        pcm = codec is Codec.PCM_S16LE
        return SettingsPatch(
            voice=voice_named(self.voice, opening.voices),
            format=AudioFormat(codec, (self.format.rate or _PCM_RATE_HZ) if pcm else 0),
            speed=self.speed,
            style=style_for(self.instructions, opening.facts),
            words=True,
        )

    def output(self) -> dict[str, Any]:
        """As the vendor shows it."""
        shape: dict[str, Any] = {"type": self.format.type}
        if self.format.type == "audio/pcm":
            shape["rate"] = self.format.rate or _PCM_RATE_HZ
        return {"format": shape, "voice": self.voice or "default", "speed": self.speed}
