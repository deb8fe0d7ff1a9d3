"""Where the listener stood in the text when the sound stopped."""

from __future__ import annotations

from gateway.context import Context
from gateway.speech import Speech


def split_heard(speech: Speech, context: Context, heard_ms: float) -> int:
    """Return the position in the context's text that divides what was heard from what was not.

    A word counts as heard when half of it was. The space after a heard word belongs to it.
    """
    heard_any = False
    at = 0
    for line in speech.lines:
        for word in speech.times(line) or ():
            if (word.start_ms + word.end_ms) / 2.0 > heard_ms:
                return word.start if heard_any else 0
            heard_any = True
        if not line.complete:
            break
        at = line.segment.end
    if speech.making is None and not context.buffered_chars and context.text_complete:
        return context.received_chars
    return at


def frames_sent(speech: Speech, sent_ms: float) -> int:
    """How many of the frames made have left, the last one of them perhaps in part."""
    sent = 0
    for line in speech.lines:
        start_ms, end_ms = speech.extent_ms(line)
        if sent_ms <= start_ms:
            break
        share = 1.0 if sent_ms >= end_ms else (sent_ms - start_ms) / (end_ms - start_ms)
        sent += min(line.frames, int(line.frames * share + 0.999))
    return sent
