"""From segments to sound: what one context has asked of the engine, and what came back.

A `Line` is one spoken segment. Lines are made strictly one after another, because each is the
conversation history of the next; the PCM of all of them runs through one audio chain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gateway.errors import EngineFailedError
from gateway.types import (
    AudioChain,
    AudioFormat,
    ChainFactory,
    EngineFacts,
    Finished,
    Frames,
    HistoryTurn,
    Limits,
    SegmentLike,
    Word,
)
from gateway.utterance import word_times as words
from gateway.utterance.history import History, Prosody


@dataclass(slots=True)
class Line:
    """One segment on its way through the engine. `index` counts the context's lines."""

    segment: SegmentLike
    ordinal: int  # counts all segments of the context, wordless ones included
    index: int
    request_id: str
    voice: str
    frames: int = 0
    samples: int = 0  # at the engine's rate
    codes: bytearray = field(default_factory=bytearray)
    text_tokens: list[int] = field(default_factory=list)  # per frame
    token_spans: tuple[tuple[int, int], ...] = ()  # characters of `segment.spoken` per token
    complete: bool = False
    words: tuple[Word, ...] | None = None  # once their times are certain
    extent_ms: tuple[float, float] | None = None  # once the context is over

    @property
    def source(self) -> str:
        """How the word times are found."""
        return "heads" if self.text_tokens and self.token_spans else "proportional"


def is_wordless(spoken: str, speaks_tags: bool) -> bool:
    """Nothing in it would make a sound. A speaker mark never does.

    `speaks_tags`: a lone tag, such as `[laugh]`, does.
    """
    if not speaks_tags:
        return not words.split_words(spoken)
    while (start := spoken.find("<|")) >= 0 and (end := spoken.find("|>", start)) >= 0:
        spoken = spoken[:start] + spoken[end + 2 :]
    return not any(c.isalnum() for c in spoken)


class Lines:
    """The lines of one context and their audio chain.

    `chain` exists from the first line on, until the context is over.
    """

    def __init__(
        self,
        facts: EngineFacts,
        limits: Limits,
        chains: ChainFactory,
        rate: words.SpeechRate,
        prosody: Prosody | None = None,
    ) -> None:
        self.chain: AudioChain | None = None
        self.all: list[Line] = []
        self.making: Line | None = None
        self.history = History(limits.history_turns, int(limits.history_ms / facts.frame_ms))
        self.ordinal = 0  # segments consumed, wordless ones included
        self.frames = 0
        self.prompt_tokens = 0
        self.cached_tokens = 0
        self.truncated = False
        self.skipped_words = 0
        self.retries = 0
        self.finished = False
        self._facts = facts
        self._chains = chains
        self._rate = rate
        self._prosody = prosody or Prosody()
        self._rate_hz = 0
        self._timed = 0  # lines[:_timed] have their words

    def open_chain(self, audio_format: AudioFormat, speed: float) -> AudioChain:
        """Return the chain, made at the first call."""
        if self.chain is None:
            self._rate_hz = audio_format.sample_rate_hz
            self.chain = self._chains(audio_format, speed)
        return self.chain

    def skip(self, segment: SegmentLike) -> None:
        """Consume a wordless segment: a silent success, with its pause."""
        self.ordinal += 1
        if segment.pause_ms > 0 and self.chain is not None:
            self.chain.add_silence(segment.pause_ms)

    def begin(
        self, segment: SegmentLike, request_id: str, voice: str, carry_prosody: bool = False
    ) -> Line:
        """The segment goes to the engine. `carry_prosody`: the first one continues others'."""
        assert self.making is None and self.chain is not None
        if self.all and self.all[-1].voice != voice:
            self.history.clear()
        elif carry_prosody and not (self.all or self.history.turns):
            self.history.adopt(self._prosody, voice)
        line = Line(segment, self.ordinal, len(self.all), request_id, voice)
        self.ordinal += 1
        self.all.append(line)
        self.making = line
        return line

    def take(self, event: Frames) -> None:
        """Sound of the line in the making. Raises EngineFailedError when some is missing."""
        line, chain = self.making, self.chain
        assert line is not None and chain is not None
        if event.first_frame != line.frames:
            raise EngineFailedError(f"expected frame {line.frames}, got frame {event.first_frame}")
        frames, rest = divmod(len(event.pcm), self._facts.frame_bytes)
        if rest:
            raise EngineFailedError(f"expected whole frames of PCM, got {len(event.pcm)} bytes")
        if line.frames == 0 and frames:
            chain.begin_segment()
        line.frames += frames
        line.samples += frames * self._facts.frame_samples
        line.codes += event.codes
        line.text_tokens += event.text_tokens
        self.frames += frames
        chain.push(event.pcm)

    def complete(self, event: Finished) -> None:
        """The line in the making has all its sound."""
        line, chain = self.making, self.chain
        assert line is not None and chain is not None
        self.making = None
        line.complete = True
        truncated = event.reason == "length"
        self.prompt_tokens += event.prompt_tokens
        self.cached_tokens += event.cached_tokens
        self.truncated |= truncated
        self.skipped_words += event.skipped_words
        self.retries += event.retries
        if not line.frames:
            self.all.pop()  # nothing to announce, and the chain never heard of it
        else:
            chain.end_segment()
            spoken = line.segment.spoken
            # neither a runaway nor a gap is a model for what follows
            if line.codes and not truncated and not event.skipped_words:
                self.history.add(HistoryTurn(spoken, bytes(line.codes)), line.frames)
                self.history.store(self._prosody, line.voice)
            line.codes = bytearray()
            self._rate.observe(words.total_weight(spoken), line.frames * self._facts.frame_ms)
        if line.segment.pause_ms > 0:
            chain.add_silence(line.segment.pause_ms)

    def abandon(self) -> None:
        """The line in the making gets no more sound."""
        line, self.making = self.making, None
        if line is not None and not line.frames:
            self.all.remove(line)
        elif line is not None and self.chain is not None:
            self.chain.end_segment()

    def retract(self) -> SegmentLike:
        """The line in the making was never begun: as if not asked for. Returns its segment."""
        line, self.making = self.making, None
        assert line is not None and not line.frames
        self.all.remove(line)
        self.ordinal -= 1
        return line.segment

    def finish(self) -> None:
        """No line follows: let the chain drain."""
        if not self.finished:
            self.finished = True
            if self.chain is not None:
                self.chain.finish()

    def release(self) -> None:
        """The context is over: keep when each word was spoken, let the audio chain go."""
        for line in self.all:
            line.words = tuple(self.times(line) or ())
            line.extent_ms = self.extent_ms(line)
        self.chain = None
        self.history.clear()

    def extent_ms(self, line: Line) -> tuple[float, float]:
        """Where the sound made so far of a line begins and ends on the time line."""
        if line.extent_ms is not None:
            return line.extent_ms
        chain = self.chain
        start = chain.segment_start_samples(line.index) if chain else None
        if chain is None or start is None:
            return math.inf, math.inf
        end = chain.output_samples(line.index, line.samples)
        start_ms = self.to_ms(start)
        if end is None:
            return start_ms, start_ms + 1000.0 * line.samples / self._facts.sample_rate_hz
        return start_ms, self.to_ms(end)

    def take_timed(self) -> Line | None:
        """The next line whose word times have become certain, in order."""
        if self._timed >= len(self.all):
            return None
        line = self.all[self._timed]
        if not line.complete:
            return None
        timed = self.times(line)
        if timed is None:
            return None
        line.words = tuple(timed)
        self._timed += 1
        return line

    def times(self, line: Line) -> list[Word] | None:
        """Word times of a line as far as they are known; None while its end has no place yet.

        For a line that is not complete, what is still to come is estimated from its text: its words
        are spoken at infinity.
        """
        if line.words is not None:
            return list(line.words)
        chain = self.chain
        if chain is None:
            return None
        if line.complete and not self.finished:
            if chain.output_samples(line.index, line.samples) is None:
                return None
        timed: list[Word] = []
        for t in self._timed_spans(line):
            start_ms, end_ms = self._place_ms(line, t.start_samples, t.end_samples)
            at = line.segment.start
            timed.append(Word(at + t.word.start, at + t.word.end, t.word.text, start_ms, end_ms))
        return timed

    def _place_ms(self, line: Line, start: int, end: int) -> tuple[float, float]:
        """When samples `start` to `end` of a line are heard; infinity for what was not made."""
        if line.complete or end <= line.samples and start < line.samples:
            return self._output_ms(line, start), self._output_ms(line, end)
        middle = (start + end) // 2  # decides whether a word was heard
        if middle >= line.samples:
            return self._output_ms(line, start) if start < line.samples else math.inf, math.inf
        start_ms = self._output_ms(line, start)
        return start_ms, 2.0 * self._output_ms(line, middle) - start_ms

    def _output_ms(self, line: Line, sample: int) -> float:
        chain = self.chain
        assert chain is not None
        if (at := chain.output_samples(line.index, sample)) is not None:
            return self.to_ms(at)
        if not self.finished:
            return math.inf  # not decided
        ready = chain.position_samples + chain.buffered_samples - chain.pre_skip_samples
        return self.to_ms(max(ready, 0))

    def _timed_spans(self, line: Line) -> list[words.TimedSpan]:
        segment = line.segment
        written = words.split_words(segment.text)
        spoken = words.split_words(segment.spoken)
        if line.source == "heads":
            timed = words.from_tokens(
                spoken, line.text_tokens, line.token_spans, self._facts.frame_samples
            )
        else:
            samples = line.samples
            if not line.complete:
                guess_ms = self._rate.estimate_ms(words.total_weight(segment.spoken))
                samples = max(samples, int(guess_ms * self._facts.sample_rate_hz / 1000.0))
            timed = words.proportional(spoken, samples)
        return words.carry_over(timed, written, segment.raw_index)

    def to_ms(self, samples: int) -> float:
        """Samples at the output rate, as time."""
        return 1000.0 * samples / self._rate_hz
