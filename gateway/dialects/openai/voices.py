"""Which voice a request means."""

from __future__ import annotations

from gateway.types import VoiceNames, plain_name

# The vendor's own voices, which its clients name because they must name one.
VENDOR_VOICES = frozenset(
    "alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse".split()
)


def voice_named(name: str, voices: VoiceNames) -> str:
    """A voice of ours: by its name or an alias, else for the vendor's voices, or for none, one.

    A name that nobody knows stays, for the session to refuse; unless there is a fallback for such.
    """
    if (found := voices.find(name)) is not None:
        return found
    of_vendor = not name or plain_name(name) in VENDOR_VOICES
    return voices.resolve(name) if of_vendor or voices.fallback is not None else name
