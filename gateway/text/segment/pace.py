"""How long segments should be, and how long text may wait: the policy applied to time and lead."""

from __future__ import annotations

from collections import deque

from gateway.text.segment.boundary import Verdict
from gateway.text.segment.policy import SegmentPolicy

SPOKEN_CHARS_PER_S = 15
"""Letters a second of speech in alphabetic scripts; only used to compare a lead with a length."""
LOW_LEAD_MS = 500
"""Below this lead a clause is worth cutting: the listener would hear a gap."""
PHRASE_CHARS = 40
"""A space between Thai, Lao, Khmer phrases ends a segment of at least this length."""


class Pace:
    """Knows the listener's lead and the age of the buffered text.

    The lead is what was reported, or an estimate of when the segments given out so far will have
    been spoken, if that is longer: text that arrives faster than speech is not cut small only
    because no sound was sent yet.
    """

    def __init__(self, policy: SegmentPolicy) -> None:
        self._policy = policy
        self._reported_lead_ms = 0.0
        self._spoken_until_ms: float | None = None  # None: nothing to speak was given out yet
        self._arrivals: deque[tuple[int, float]] = deque()  # offset, time of each buffered piece
        self._now_ms = 0.0

    def report_lead(self, lead_ms: float) -> None:
        """The listener's lead, as measured now."""
        self._reported_lead_ms = max(0.0, lead_ms)

    def text_arrived(self, offset: int, now_ms: float) -> None:
        """Text whose first character has this offset was pushed."""
        self._arrivals.append((offset, now_ms))
        self._now_ms = now_ms

    def is_overdue(self, now_ms: float) -> bool:
        """Whether the oldest buffered text has waited for longer than it should."""
        return bool(self._arrivals) and now_ms >= self.due_ms(complete=False)

    def advance(self, now_ms: float) -> None:
        """Time passed without text."""
        self._now_ms = max(self._now_ms, now_ms)

    def given_out(self, end_offset: int, spoken_weight: int) -> None:
        """Text before this offset became a segment."""
        while len(self._arrivals) > 1 and self._arrivals[1][0] <= end_offset:
            self._arrivals.popleft()
        if spoken_weight:
            speech_ms = spoken_weight * 1000 / SPOKEN_CHARS_PER_S
            self._spoken_until_ms = max(self._spoken_until_ms or 0.0, self._now_ms) + speech_ms

    def forget_age(self) -> None:
        """Nothing is buffered that could have been spoken until now."""
        self._arrivals.clear()

    @property
    def lead_ms(self) -> float:
        """How long the listener is provided for."""
        if self._spoken_until_ms is None:
            return self._reported_lead_ms
        return max(self._reported_lead_ms, self._spoken_until_ms - self._now_ms)

    def accepts(self, verdict: Verdict, weight: int) -> bool:
        """Whether a segment of this weight ends at such a boundary."""
        policy = self._policy
        if verdict is Verdict.LINE:
            return True
        first = self._spoken_until_ms is None
        least = policy.first_min_chars if first else self._wanted_chars()
        if verdict is Verdict.WORD or weight < least:
            return False
        if verdict is Verdict.SENTENCE:
            return True
        if verdict is Verdict.PHRASE and weight >= PHRASE_CHARS:
            return True
        if first:
            return "clause" in (policy.first_mode, policy.mode)
        gap_ahead = policy.lead_growth > 0 and self.lead_ms < LOW_LEAD_MS
        return policy.mode == "clause" or gap_ahead

    def _wanted_chars(self) -> int:
        """The least length of a later segment."""
        policy = self._policy
        growth = policy.lead_growth * self.lead_ms / 1000 * SPOKEN_CHARS_PER_S
        return min(policy.min_chars + int(growth), max(policy.min_chars, policy.max_chars // 2))

    def due_ms(self, complete: bool) -> float:
        """When what is settled of the buffered text is due. `complete`: it reads as a finished
        sentence.
        """
        policy = self._policy
        due_ms = self._arrivals[0][1] + policy.max_buffer_delay_ms
        if complete:
            return min(due_ms, self._arrivals[-1][1] + policy.end_delay_ms)
        return due_ms
