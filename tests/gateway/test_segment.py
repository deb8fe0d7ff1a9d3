"""The segmenter: any chunking gives the same segments, and they join to the input."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.segment import Segment, Segmenter, SegmentPolicy

PROSE = st.text(
    st.sampled_from(list("abIU .,!?\n\"'[]()<>|/:;*_`#-—…0123。、」์กเा́ \u00a0\u200d👍é\r\0")),
    max_size=120,
)


def run(policy: SegmentPolicy, pieces: list[str]) -> list[Segment]:
    segmenter = Segmenter(policy)
    segments = [segment for piece in pieces for segment in segmenter.push(piece, 0.0)]
    return segments + segmenter.flush()


@given(st.one_of(st.text(max_size=200), PROSE), st.data())
@settings(max_examples=200, deadline=None)
def test_any_chunking_gives_the_same_segments(text: str, data: st.DataObject) -> None:
    policy = SegmentPolicy(min_chars=4, first_min_chars=2, max_chars=30)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=10)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = run(policy, [text])
    assert "".join(segment.text for segment in whole) == text
    assert run(policy, pieces) == whole
    assert run(policy, list(text)) == whole
