"""Whether a voice reads its text: skips, repeats, stalls and early ends, seen as they happen. Pure.

The alignment heads name the text token that each frame speaks. Where in the text that is, is
measured in letters: a token has its share of the letters of the characters it stands for, marks
and tags have none. Speech goes forward a letter or two a frame. Attention slips now and then for a
frame or two, so a jump is a fault only when the next frames confirm it:

    reading --far ahead--> AHEAD --confirmed--> skip        sound until the jump
    reading --far back---> BACK  --confirmed--> repeat      sound until the jump
    reading --nothing new for too long--------> stall       sound until a little after the last
    end, with letters left--------------------> early end   sound to the last frame

After a fault the reading goes on: `rewind` when the frames were taken back, `accept` when they
were not; then what was jumped over counts as skipped.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

Span = tuple[int, int]

SKIP_LETTERS = 6.0  # jumped over: more than any honest frame leaves out; "the" is lost in it
BACK_LETTERS = 8.0  # more than a slip ahead that was taken for speech can make it seem
SLIP_LETTERS = 2.0
CONFIRM_MS = 280.0  # the frames that confirm a jump ahead: attention may look ahead for 190
CONFIRM_BACK_MS = 280.0
STALL_MS = 1300.0  # longer than a pause at a full stop
END_MS = 1800.0  # of the last word's ring and silence
_PAUSE_MS = 140.0  # of a stall that may stay

# What is obeyed and not said: [tags], <|speaker:0|>, <break time="1s"/>.
_WORD = re.compile(r"(\[[^\[\]\n]*\]|<[|/a-zA-Z][^<>\n]*>)|[^\s\[<]+|[\[<]")


class Kind(enum.Enum):
    """What went wrong."""

    SKIP = "skip"
    REPEAT = "repeat"
    STALL = "stall"
    EARLY_END = "early end"


@dataclass(frozen=True, slots=True)
class Fault:
    """`sound`: so many frames are as they should be."""

    kind: Kind
    sound: int


@dataclass(frozen=True, slots=True)
class Script:
    """A text as it is to be read.

    Per token, in order: `starts` and `ends`, letters before it and with it; `words`: the index of
    its word, -1 for marks and tags; `chars`: where it begins in the text.
    """

    starts: tuple[float, ...]
    ends: tuple[float, ...]
    words: tuple[int, ...]
    chars: tuple[int, ...]

    @classmethod
    def of(cls, text: str, spans: Sequence[Span]) -> Script:
        """`spans`: the characters of `text` that each token stands for."""
        letters, owner = _letters(text)
        sharing: dict[Span, int] = {}
        for span in spans:
            sharing[span] = sharing.get(span, 0) + 1
        starts, ends, words, at = [], [], [], 0.0
        for span in spans:
            count = sum(letters[span[0] : span[1]])
            starts.append(at)
            at += count / sharing[span]
            ends.append(at)
            owners = [word for word in owner[span[0] : span[1]] if word >= 0]
            words.append(owners[0] if count and owners else -1)
        chars = tuple(start for start, _ in spans)
        return cls(tuple(starts), tuple(ends), tuple(words), chars)

    @property
    def letters(self) -> float:
        """All there is to say."""
        return self.ends[-1] if self.ends else 0.0

    def next_word(self, place: float, within: bool) -> int | None:
        """The first token of the word that has letters behind `place`; None: there is none.

        `within`: also of a word that has letters before it.
        """
        seen = -1
        for token, word in enumerate(self.words):
            if word > seen:
                seen, first = word, token
            if word >= 0 and self.ends[token] > place and (within or self.starts[first] >= place):
                return first
        return None

    def words_between(self, start: float, end: float) -> set[int]:
        """The words of which every letter is in between."""
        inside: set[int] = set()
        outside: set[int] = set()
        for word, first, last in zip(self.words, self.starts, self.ends, strict=True):
            within = start <= first and last <= end
            (inside if within else outside).add(word)
        return inside - outside - {-1}


def _letters(text: str) -> tuple[list[int], list[int]]:
    """Per character: 1 where it is said, and the index of its word."""
    letters, owner, words = [0] * len(text), [-1] * len(text), 0
    for match in _WORD.finditer(text):
        if match[1] is not None or not any(char.isalnum() for char in match[0]):
            continue
        for at in range(*match.span()):
            letters[at], owner[at] = int(text[at].isalnum()), words
        words += 1
    return letters, owner


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the reading was after a frame."""

    reached: float = 0.0  # letters
    since: int = 0  # the frame that reached it
    skipped: frozenset[int] = frozenset()
    suspect: Kind | None = None
    suspect_at: int = 0  # frames before the one that jumped
    votes: int = 0  # frames that confirm it
    jumped_to: float = 0.0  # the least of their places
    token: int = 0  # the last frame's
    forgiven: float = -1.0  # a stall at this place has been told


class Reading:
    """One segment's reading. `push` each frame's token, `end` when the model ended by itself."""

    def __init__(self, script: Script, frame_ms: float) -> None:
        self._script = script
        self._confirm = max(2, round(CONFIRM_MS / frame_ms))
        self._confirm_back = max(2, round(CONFIRM_BACK_MS / frame_ms))
        self._stall = round(STALL_MS / frame_ms)
        self._end = round(END_MS / frame_ms)
        self._pause = round(_PAUSE_MS / frame_ms)
        self._places = [_Place()]  # after 0, 1, .. frames

    @property
    def frames(self) -> int:
        """How many were pushed and not taken back."""
        return len(self._places) - 1

    @property
    def skipped_words(self) -> int:
        """Words that were jumped over, in faults that were accepted."""
        return len(self._places[-1].skipped)

    @property
    def is_read(self) -> bool:
        """Nothing worth a fault is left to say."""
        return self._script.letters - self._places[-1].reached < SKIP_LETTERS

    def push(self, token: int) -> Fault | None:
        """The text token that the next frame speaks; a fault when this frame confirms one."""
        place = self._step(self._places[-1], token)
        self._places.append(place)
        return self._judge(place)

    def end(self) -> Fault | None:
        """The model ended by itself."""
        return None if self.is_read else Fault(Kind.EARLY_END, self.frames)

    def rest(self, sound: int, left: int) -> tuple[int, int] | None:
        """Where a new turn could go on: frames that stay, and the character that it begins with.

        Of `sound` frames, the word in the making is begun again, if it has not `left`; else the
        next one is where it goes on.
        """
        places, script = self._places, self._script
        reached = places[min(sound, self.frames)].reached
        token = script.next_word(reached, within=True)
        if token is None:
            return None
        start = script.starts[token]
        stay = max(n for n in range(sound + 1) if places[n].reached <= start)
        if stay < left:
            token, stay = script.next_word(reached, within=False), max(sound, left)
        return None if token is None else (stay, script.chars[token])

    def rewind(self, frames: int) -> None:
        """Take back all but the first `frames`."""
        del self._places[frames + 1 :]

    def accept(self, fault: Fault) -> None:
        """The fault stays: go on from where the reading is now."""
        place = self._places[-1]
        if fault.kind is Kind.STALL:
            self._places[-1] = replace(place, forgiven=place.reached)
            return
        if fault.kind is Kind.EARLY_END:
            jumped_to = reached = self._script.letters
        else:
            jumped_to, reached = place.jumped_to, self._script.ends[place.token]
        gone = self._script.words_between(place.reached, jumped_to)
        self._places[-1] = replace(
            place, reached=reached, since=self.frames, skipped=place.skipped | gone, suspect=None
        )

    def _step(self, before: _Place, token: int) -> _Place:
        frame = len(self._places)  # counted from 1: frames once this one is in
        script = self._script
        if not 0 <= token < len(script.ends):  # not told
            return replace(before, since=before.since + 1)
        at, end = script.starts[token], script.ends[token]
        # the frame before may have been a slip, or have gone on: then this one goes on from there
        from_there = before.reached if before.suspect else script.ends[before.token]
        jump = at - max(before.reached, from_there)
        suspect = None
        if jump >= SKIP_LETTERS:
            suspect = Kind.SKIP
        elif end < before.reached if before.suspect else end <= before.reached - BACK_LETTERS:
            suspect = Kind.REPEAT  # whoever is back at the end of what was read, repeats nothing
        if suspect is not None:
            return self._suspected(before, suspect, token)
        reached, since = before.reached, before.since
        # one frame alone may be a slip; slips must not add up
        sure = min(end, script.ends[before.token])
        if sure > reached:
            reached, since = sure, frame
        return replace(before, reached=reached, since=since, suspect=None, token=token)

    def _suspected(self, before: _Place, suspect: Kind, token: int) -> _Place:
        at = self._script.starts[token]
        if before.suspect is not suspect:
            return replace(
                before, suspect=suspect, suspect_at=self.frames, votes=1, jumped_to=at, token=token
            )
        comes_back = at < before.jumped_to - SLIP_LETTERS  # attention looked ahead, and returns
        return replace(
            before,
            votes=1 if comes_back else before.votes + 1,
            jumped_to=min(at, before.jumped_to),
            token=token,
        )

    def _judge(self, place: _Place) -> Fault | None:
        frames = self.frames
        if place.suspect is not None:
            needed = self._confirm if place.suspect is Kind.SKIP else self._confirm_back
            if place.votes >= needed:
                return Fault(place.suspect, place.suspect_at)
        patience = self._end if self.is_read else self._stall
        if frames - place.since >= patience and place.reached > place.forgiven:
            return Fault(Kind.STALL, min(frames, place.since + self._pause))
        return None
