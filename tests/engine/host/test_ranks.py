"""What the cache keeps longest, against a model of SGLang's, where a rank is a maximum."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from engine.host.ranks import Ranks


def test_the_first_request_pins_and_the_others_are_ordinary() -> None:
    ranks = Ranks()
    assert not ranks.is_pinned("ann")
    rank = ranks.ask("ann")
    assert rank > ranks.ordinary
    ranks.prefilled("ann", rank, found=False)
    assert ranks.is_pinned("ann")
    assert ranks.ask("ann") == ranks.ordinary
    ranks.prefilled("ann", ranks.ordinary, found=True)
    assert ranks.is_pinned("ann")


def test_a_request_that_never_came_so_far_pins_nothing() -> None:
    ranks = Ranks()
    first = ranks.ask("ann")
    assert not ranks.is_pinned("ann")
    assert ranks.ask("ann") == first > ranks.ordinary


def test_a_prefix_that_was_evicted_and_computed_again_is_pinned_again() -> None:
    ranks = Ranks()
    ranks.prefilled("ann", ranks.ask("ann"), found=False)
    ranks.prefilled("ann", ranks.ask("ann"), found=False)
    assert not ranks.is_pinned("ann")
    assert ranks.ask("ann") > ranks.ordinary


def test_a_retracted_voice_ranks_below_all_that_comes() -> None:
    ranks = Ranks()
    old = ranks.ask("ann")
    ranks.prefilled("ann", old, found=False)
    ranks.retract("ann")
    assert old < ranks.ordinary < ranks.ask("ann")


def test_a_request_on_its_way_does_not_pin_what_was_retracted_meanwhile() -> None:
    ranks = Ranks()
    old = ranks.ask("ann")
    ranks.retract("ann")
    ranks.prefilled("ann", old, found=False)
    assert not ranks.is_pinned("ann")
    assert old < ranks.ordinary


def test_a_voice_that_never_spoke_costs_the_others_nothing() -> None:
    ranks = Ranks()
    ranks.prefilled("ann", ranks.ask("ann"), found=False)
    ranks.retract("bob")
    assert ranks.is_pinned("ann")


@dataclass
class Cache:
    """What each prefix is cached under: the greatest rank that any request of it had."""

    filed: dict[tuple[str, int], int] = field(default_factory=dict)

    def serve(self, ranks: Ranks, voice: str, version: int) -> None:
        rank = ranks.ask(voice)
        found = (voice, version) in self.filed
        self.filed[voice, version] = max(rank, self.filed.get((voice, version), rank))
        ranks.prefilled(voice, rank, found)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["speak", "replace", "evict", "fail"]))
    )
)
def test_only_voices_that_are_registered_rank_above_history(moves: list[tuple[str, str]]) -> None:
    ranks, cache, version = Ranks(), Cache(), dict.fromkeys("abc", 0)
    for voice, move in moves:
        if move == "speak":
            cache.serve(ranks, voice, version[voice])
            # as far as anybody has spoken since, a registered voice is safe
            cache.serve(ranks, voice, version[voice])
            assert cache.filed[voice, version[voice]] > ranks.ordinary
        elif move == "replace":
            version[voice] += 1
            ranks.retract(voice)
        elif move == "evict":
            cache.filed.pop((voice, version[voice]), None)
        else:
            ranks.ask(voice)
        for (name, old), rank in cache.filed.items():
            if old != version[name]:
                assert rank < ranks.ordinary  # of what is said from now on
        for name in "abc":
            if ranks.is_pinned(name) and (name, version[name]) in cache.filed:
                assert cache.filed[name, version[name]] > ranks.ordinary
