"""A context's words with all that stands between them, so that joined they are the text again.

The gateway names words by their place in the text. Who keeps a transcript wants every character:
a piece reaches from its word to the next one, blanks and marks included, as in `heard_text`.
"""

from __future__ import annotations

from dataclasses import dataclass

from clients.python.wire import AudioPacket, Event, SegmentStarted, Words


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, what follows it, and when it sounds."""

    text: str
    start_ms: float
    end_ms: float

    @property
    def middle_ms(self) -> float:
        """From here on the gateway counts it as heard."""
        return (self.start_ms + self.end_ms) / 2.0


class Transcript:
    """Of one context: tell it what was sent, and give it what came."""

    def __init__(self) -> None:
        self.text = ""  # all that was sent
        self._told = 0  # characters of it that are in pieces
        self._ends: dict[int, int] = {}  # end of each announced segment, by its start

    def sent(self, text: str) -> None:
        """So much more was sent."""
        self.text += text

    def take(self, item: AudioPacket | Event) -> list[Piece]:
        """The next item of `Context.events()`; the pieces that it makes known."""
        match item:
            case SegmentStarted():
                self._ends[item.start] = item.end
                return []
            case Words():
                return self._pieces(item)
            case _:
                return []

    def _pieces(self, event: Words) -> list[Piece]:
        pieces: list[Piece] = []
        for word, following in zip(event.words, (*event.words[1:], None), strict=True):
            end = self._end_behind(word.end) if following is None else following.start
            pieces.append(Piece(self.text[self._told : end], word.start_ms, word.end_ms))
            self._told = max(end, self._told)
        return pieces

    def _end_behind(self, end: int) -> int:
        """The end of the segment that a word ends in."""
        for start in [start for start in self._ends if start < end]:
            if end <= (segment_end := self._ends.pop(start)):
                return segment_end
        return end
