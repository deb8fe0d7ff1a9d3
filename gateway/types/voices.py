"""Names of voices: other people's, for the ones that this gateway has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


def plain_name(name: str) -> str:
    """A name as it is compared: without case and outer blanks."""
    return name.strip().casefold()


@dataclass(frozen=True, slots=True)
class VoiceNames:
    """Which of our voices a client of another vendor means.

    `known`: this gateway's voices; `aliases`: a vendor's name or id -> one of them; `fallback`: who
    speaks for a name that nobody knows, the first of `known` where it is not set.
    """

    known: tuple[str, ...]
    aliases: Mapping[str, str] = field(default_factory=dict)
    fallback: str | None = None

    def find(self, name: str) -> str | None:
        """The voice of that name or alias, compared without case and outer blanks."""
        wanted = plain_name(name)
        ours = {plain_name(voice): voice for voice in self.known}
        if wanted in ours:
            return ours[wanted]
        meant = {plain_name(alias): voice for alias, voice in self.aliases.items()}.get(wanted, "")
        return ours.get(plain_name(meant))

    def resolve(self, name: str) -> str:
        """The voice that speaks when a client asks for `name`; the name itself without voices."""
        if (found := self.find(name)) is not None:
            return found
        if self.fallback is not None and (found := self.find(self.fallback)) is not None:
            return found
        return self.known[0] if self.known else name
