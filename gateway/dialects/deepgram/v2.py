"""Deepgram's `/v2/speak` socket: turns of Speak and Flush, Interrupt with a playback offset.

A turn is a context of ours. Offsets count the sound of the whole session; an interrupt takes the
count back to what was heard, so a turn's own position is the offset less where the turn began.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.dialects import Close, Frame, Opening
from gateway.dialects.deepgram.options import SPEED_RANGE, socket_options
from gateway.dialects.deepgram.v1 import model_uuid
from gateway.dialects.deepgram.wire import (
    closing,
    failure,
    frame,
    read,
    text_of,
    warning,
)
from gateway.dialects.explain import shown
from gateway.errors import GatewayError, InvalidMessageError
from gateway.types import (
    Audio,
    Codec,
    Command,
    Configure,
    Done,
    End,
    Event,
    Failed,
    FileFormat,
    Hello,
    Interrupt,
    Interrupted,
    SettingsPatch,
    Text,
)

_TYPES = "Speak, Flush, Configure, Interrupt, Close"
_REMEMBERED = 8  # turns whose sound has all been sent, and may still be heard


@dataclass(slots=True)
class _Turn:
    """`start_ms`: where its sound begins in the session's; None: it has none yet."""

    context: str
    speech_id: str
    start_ms: float | None = None
    sound_ms: float = 0.0
    chars: int = 0
    flushed: bool = False

    def metadata(self) -> dict[str, object]:
        """The vendor's account of a turn."""
        nothing = ("pronunciations_applied", "breaks_applied", "pronunciation_warnings")
        return {
            "speech_id": self.speech_id,
            "audio_duration_ms": round(self.sound_ms),
            "input_character_count": self.chars,
            "billable_character_count": self.chars,
            "controls_applied": dict.fromkeys(nothing, 0),
        }


@dataclass(frozen=True, slots=True)
class _Barge:
    """An interrupt that is being answered. `offset_ms` None: the client did not say."""

    turn: _Turn
    offset_ms: int | None
    reported_ms: int


class SpeakV2:
    """See `Dialect`. Raises InvalidValueError for a query that cannot be had."""

    file = FileFormat()

    def __init__(self, opening: Opening) -> None:
        self._options = socket_options(opening, model_required=True)
        self._checkpoint = opening.facts.checkpoint
        self._max_bytes = opening.limits.max_message_bytes
        audio = self._options.settings.given["format"]
        self._bytes_per_ms = audio.sample_rate_hz / 1000 * (2 if audio.codec is _WIDE else 1)
        self._unsaid: tuple[Command, ...] = (Configure(None, self._options.settings),)
        self._names = (f"speech-{number}" for number in itertools.count(1))
        self._turn: _Turn | None = None  # takes text
        self._open: dict[str, _Turn] = {}
        self._sent: list[_Turn] = []  # whole, the latest last
        self._barge: _Barge | None = None
        self._last_offset_ms: int | None = None
        self._total_ms = 0.0
        self._chars = 0
        said = opening.query.get("speed", "").strip()
        self._speed: float | None = self._options.settings.given["speed"] if said else None
        self._closing = False

    def decode(self, raw: str | bytes) -> Sequence[Command | Frame]:
        """See `Dialect`."""
        kind, message = read(raw, self._max_bytes)
        if self._closing:
            return ()
        match kind:
            case "Speak":
                answer = self._speak(text_of(message))
            case "Flush":
                answer = self._flush()
            case "Configure":
                answer = self._configure(message.get("speed"))
            case "Interrupt":
                return self._interrupt(message)
            case "Close":
                return self._close()
            case "KeepAlive":
                return ()
            case _:
                raise InvalidMessageError(f"type: expected one of {_TYPES}, got {shown(kind)}")
        first, self._unsaid = self._unsaid, ()
        return (*first, *answer)

    def encode(self, event: Event) -> Sequence[Frame]:
        """See `Dialect`."""
        match event:
            case Hello():
                return (self._connected(event.session),)
            case Audio():
                return self._audio(event)
            case Done():
                return self._over(event.context)
            case Interrupted():
                return self._interrupted(event) or self._over(event.context)
            case Failed():
                return self._failed(event)
        return ()

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        return closing(error)

    def _connected(self, session: str) -> str:
        model = self._options.model
        return frame(
            "Connected",
            request_id=session,
            model_name=model,
            model_version=self._checkpoint,
            model_uuids=[model_uuid(model)],
        )

    # --- what the client asks for ---

    def _speak(self, text: str) -> Sequence[Command | Frame]:
        if not text:
            return ()
        started: list[Frame] = []
        if self._turn is None:
            self._turn = _Turn(next(self._names), f"dg_sp_{secrets.token_hex(6)}")
            self._open[self._turn.context] = self._turn
            started.append(frame("SpeechStarted", speech_id=self._turn.speech_id))
        self._turn.chars += len(text)
        self._chars += len(text)
        return (*started, Text(self._turn.context, text))

    def _flush(self) -> Sequence[Command | Frame]:
        if self._turn is None:
            return (warning("NO_ACTIVE_SPEECH", "expected a turn to flush, got none"),)
        turn, self._turn = self._turn, None
        turn.flushed = True
        return (End(turn.context),)

    def _configure(self, speed: Any) -> Sequence[Command | Frame]:
        """Holds from the next turn on. Sent twice, it changes nothing the second time."""
        low, high = SPEED_RANGE
        if speed is None:
            return (self._configured(),)
        if isinstance(speed, bool) or not isinstance(speed, int | float):
            raise InvalidMessageError(f"speed: expected a number, got {shown(speed)}")
        if not low <= speed <= high:
            told = f"speed: expected {low:g} to {high:g}, got {shown(speed)}"
            code = "SPEED_OUT_OF_RANGE"
            refused = {"code": code, "field": "speed", "value": speed, "description": told}
            return (frame("ConfigureFailure", **refused),)
        self._speed = float(speed)
        return self._configured(), Configure(None, SettingsPatch(speed=self._speed))

    def _configured(self) -> str:
        applied = {} if self._speed is None else {"speed": self._speed}
        return frame("ConfigureSuccess", applied=applied)

    def _close(self) -> Sequence[Command | Frame]:
        """What was said so far is spoken before the connection closes."""
        self._closing = True
        if not self._open:
            return self._farewell()
        return () if self._turn is None else (End(self._turn.context),)

    def _farewell(self) -> Sequence[Frame]:
        totals = frame(
            "SessionMetadata",
            total_audio_duration_ms=round(self._total_ms),
            total_input_character_count=self._chars,
            total_billable_character_count=self._chars,
        )
        return totals, Close()

    # --- barge-in ---

    def _interrupt(self, message: dict[str, Any]) -> Sequence[Command | Frame]:
        offset_ms = _offset_of(message)
        if self._barge is not None:
            return (warning("INTERRUPT_IN_PROGRESS", "expected one interrupt at a time"),)
        last = self._last_offset_ms
        if offset_ms is not None and last is not None and offset_ms <= last:
            told = f"playback_offset: expected more than {last} ms, got {offset_ms}"
            return (warning("INVALID_INTERRUPT_OFFSET", told),)
        turn = self._heard(offset_ms)
        if turn is None:
            nothing = not self._sent and self._total_ms == 0
            code = "NO_AUDIO_GENERATED" if nothing else "NO_ACTIVE_SPEECH"
            return (warning(code, "expected a turn to interrupt, got none"),)
        return self._stop(turn, offset_ms)

    def _heard(self, offset_ms: int | None) -> _Turn | None:
        """The turn that is being heard: one that is whole and sent may be, if the client says so.

        Text whose sound has not begun is interrupted as well: the user wants silence.
        """
        current = next(iter(self._open.values()), None)
        if offset_ms is None or (current is not None and _begins_by(current, offset_ms)):
            return current
        for turn in reversed(self._sent):
            start_ms = turn.start_ms
            if start_ms is not None and start_ms <= offset_ms < start_ms + turn.sound_ms:
                return turn
        return current

    def _stop(self, turn: _Turn, offset_ms: int | None) -> Sequence[Command]:
        """Everything ends; the position in the session is what the client has heard."""
        start_ms = self._total_ms if turn.start_ms is None else turn.start_ms
        reported_ms = round(self._total_ms) if offset_ms is None else offset_ms
        self._barge = _Barge(turn, offset_ms, reported_ms)
        self._total_ms = float(reported_ms)
        self._last_offset_ms = reported_ms
        self._turn = None
        self._open.clear()
        self._sent.clear()
        played_ms = None if offset_ms is None else max(offset_ms - start_ms, 0.0)
        return Interrupt(turn.context, played_ms), Interrupt()

    def _interrupted(self, event: Interrupted | Failed) -> Sequence[Frame]:
        """The answer; of a turn that never began, nothing was heard."""
        barge = self._barge
        if barge is None or event.context != barge.turn.context:
            return ()
        self._barge = None
        fields: dict[str, object] = {"audio_played_ms": barge.reported_ms}
        if barge.offset_ms is not None:
            heard = event if isinstance(event, Interrupted) else None
            fields["text_spoken"] = "" if heard is None else heard.heard_text
            fields["text_remaining"] = "" if heard is None else heard.unspoken_text
        return (frame("SpeechInterrupted", **fields, metadata=barge.turn.metadata()),)

    # --- what becomes of a turn ---

    def _audio(self, event: Audio) -> Sequence[Frame]:
        turn = self._open.get(event.context)
        if turn is None:
            return ()
        if turn.start_ms is None:
            turn.start_ms = self._total_ms
        sound_ms = len(event.payload) / self._bytes_per_ms
        turn.sound_ms += sound_ms
        self._total_ms += sound_ms
        return (event.payload,)

    def _over(self, context: str | None) -> Sequence[Frame]:
        turn = self._open.pop(context or "", None)
        if turn is None:
            return ()
        if turn is self._turn:
            self._turn = None
        self._sent = [*self._sent[1 - _REMEMBERED :], turn]
        frames: list[Frame] = []
        if turn.start_ms is None:
            frames.append(warning("NO_SYNTHESIZABLE_TEXT", "the turn has no words, and no sound"))
        if turn.flushed:
            frames.append(frame("Flushed", speech_id=turn.speech_id))
        frames.append(frame("SpeechMetadata", **turn.metadata()))
        if self._closing and not self._open:
            frames += self._farewell()
        return frames

    def _failed(self, event: Failed) -> Sequence[Frame]:
        if answer := self._interrupted(event):
            return answer
        turn = self._open.get(event.context or "")
        if turn is None and event.context is not None:
            return ()  # interrupted
        told = failure(event.code, event.message)
        # after a flush nothing is asked of a turn but its end: what fails is that
        if turn is not None and (event.ended or turn.flushed or self._closing):
            return (told, *self._over(turn.context))
        return (told,)


_WIDE = Codec.PCM_S16LE  # two bytes a sample; the other encodings have one


def _begins_by(turn: _Turn, offset_ms: int) -> bool:
    return turn.start_ms is not None and turn.start_ms <= offset_ms


def _offset_of(message: dict[str, Any]) -> int | None:
    """Raises InvalidMessageError."""
    given = message.get("playback_offset")
    if given is None:
        return None
    if not isinstance(given, dict) or given.get("type", "time_ms") != "time_ms":
        raise InvalidMessageError(
            f"playback_offset: expected one of type time_ms, got {shown(given)}"
        )
    value = given.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        raise InvalidMessageError(f"playback_offset.value: expected 0 or more, got {shown(value)}")
    return int(value)
