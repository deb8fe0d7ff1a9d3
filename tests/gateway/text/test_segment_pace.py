"""The segmenter's lengths and times: lead, maximum, delays, flush."""

from __future__ import annotations

from gateway.text.segment import Cut, Segment, Segmenter, SegmentPolicy


def run(policy: SegmentPolicy, text: str) -> list[Segment]:
    segmenter = Segmenter(policy)
    return segmenter.push(text, 0.0) + segmenter.flush()


def texts(segments: list[Segment]) -> list[str]:
    return [segment.text for segment in segments]


# --- lengths and lead ---------------------------------------------------------------------------


def test_the_first_segment_may_be_a_clause_and_later_ones_grow() -> None:
    text = (
        "I had a look at it, and it is fine. One two three. Four five six. Seven eight nine. Ten."
    )
    assert texts(run(SegmentPolicy(), text))[0] == "I had a look at it, "
    small = run(SegmentPolicy(lead_growth=0, min_chars=1), text)
    grown = run(SegmentPolicy(lead_growth=4, min_chars=1), text)
    assert len(grown) < len(small)
    assert max(map(len, texts(grown)[1:])) > max(map(len, texts(small)[1:]))


def test_a_long_lead_joins_sentences_and_a_short_one_cuts_clauses() -> None:
    def after_the_first(lead_ms: float, later_ms: float) -> list[str]:
        segmenter = Segmenter(SegmentPolicy(min_chars=10))
        segmenter.push("This is the first one. ", 0.0)
        segmenter.push("S", 0.0)
        segmenter.set_lead_ms(lead_ms)
        text = "econd comes here, it is longer. Third is there too. Fourth as well. End"
        return texts(segmenter.push(text, later_ms))

    assert after_the_first(0.0, 60_000.0)[0] == "Second comes here, "
    assert after_the_first(2_000.0, 60_000.0)[0] == "Second comes here, it is longer. "
    assert after_the_first(7_000.0, 60_000.0) == [
        "Second comes here, it is longer. Third is there too. Fourth as well. "
    ]


def test_too_long_text_is_cut_at_the_best_place() -> None:
    policy = SegmentPolicy(max_chars=40, first_mode="sentence", lead_growth=0)
    clause = "This one goes on and on, " + "and further " * 4
    assert texts(run(policy, clause))[0] == "This one goes on and on, "
    words = "word " * 20
    assert texts(run(policy, words))[0] == "word " * 8
    thai = "เขาไปโรงเรียนแต่เช้าเพราะเขาอยากเรียนภาษาไทยและเล่นกับเพื่อน" * 2
    assert all(segment.text[0] not in "ะาิีึืุู่้์" for segment in run(policy, thai))
    assert all(10 <= len(segment.text) <= 40 for segment in run(policy, thai)[:-1])
    chinese = "我们今天一起去公园里散步看花然后回家吃饭睡觉休息明天再说吧好不好"
    assert [len(text) for text in texts(run(policy, chinese))][0] == 13


def test_a_url_or_tag_is_left_whole_beyond_the_maximum_then_cut_at_a_hard_limit() -> None:
    policy = SegmentPolicy(max_chars=40, first_mode="sentence", lead_growth=0)
    url = "https://example.com/" + "abc" * 30
    assert texts(run(policy, f"See {url} now.")) == ["See ", f"{url} ", "now."]
    tag = "[" + "very softly " * 8 + "] "
    assert texts(run(policy, tag + "Hi.")) == [tag + "Hi."]
    assert max(map(len, texts(run(policy, "x" * 500)))) <= 160


# --- time ---------------------------------------------------------------------------------------


def test_unfinished_text_is_spoken_after_the_delay() -> None:
    segmenter = Segmenter(SegmentPolicy(max_buffer_delay_ms=1000))
    assert segmenter.push("no end in sight", 50.0) == []
    assert segmenter.next_deadline_ms() == 1050.0
    assert segmenter.tick(1049.0) == []
    (segment,) = segmenter.tick(1050.0)
    assert (segment.text, segment.cut) == ("no end in ", Cut.DELAY)
    assert segmenter.next_deadline_ms() is None  # it may be half a word
    assert segmenter.push(" or ", 5000.0) == []
    assert segmenter.next_deadline_ms() == 6000.0
    assert texts(segmenter.tick(6000.0)) == ["sight or "]


def test_a_half_word_is_not_spoken_while_text_flows() -> None:
    segmenter = Segmenter(SegmentPolicy(max_buffer_delay_ms=1000))
    segmenter.push("this is slo", 0.0)
    segmenter.push("w", 990.0)
    (segment,) = segmenter.tick(1000.0)
    assert segment.text == "this is "
    assert texts(segmenter.push("ly. N", 1010.0)) == []
    assert segmenter.buffered == "slowly. N"


def test_slow_text_is_not_cut_inside_words() -> None:
    text = "Visit https://example.com/page or ask Dr. A. Smith about photosynthesis and so on "
    segmenter = Segmenter(SegmentPolicy(max_buffer_delay_ms=1000))
    segments: list[Segment] = []
    for index in range(0, len(text), 4):
        segments += segmenter.tick(index * 50.0)
        segments += segmenter.push(text[index : index + 4], index * 50.0)
    assert len(segments) >= 3
    assert all(segment.text.endswith(" ") for segment in segments)
    assert not any(segment.text.endswith(("Dr. ", "A. ")) for segment in segments)


def test_a_finished_sentence_waits_only_for_the_end_delay() -> None:
    segmenter = Segmenter(SegmentPolicy(max_buffer_delay_ms=3000, end_delay_ms=200))
    segmenter.push("All of it is done.", 0.0)
    assert segmenter.next_deadline_ms() == 200.0
    for unfinished in ("It was Dr.", "It is 3.", "So, e.g.", "Well..."):
        other = Segmenter(SegmentPolicy(max_buffer_delay_ms=3000, end_delay_ms=200))
        other.push(unfinished, 0.0)
        assert (other.next_deadline_ms() or 9e9) >= 3000.0


def test_an_open_tag_or_a_title_waits_for_the_rest() -> None:
    for torn in ("Now [whis", "Now <|speak", "Dr.", "👩\u200d"):
        segmenter = Segmenter(SegmentPolicy(max_buffer_delay_ms=1000, first_min_chars=50))
        segmenter.push(torn, 0.0)
        assert "".join(texts(segmenter.tick(1500.0) + segmenter.tick(9e6))) in ("", "Now ")
        assert texts(segmenter.flush())[-1] in torn


def test_white_space_and_code_have_no_deadline() -> None:
    for silent in ("  \n ", "```py\nx = 1"):
        segmenter = Segmenter(SegmentPolicy())
        segmenter.push(silent, 0.0)
        assert segmenter.next_deadline_ms() is None
        assert [segment.spoken for segment in segmenter.flush()] == [""]


def test_no_delay_means_no_waiting() -> None:
    segmenter = Segmenter(SegmentPolicy(max_buffer_delay_ms=0))
    segmenter.push("some words", 7.0)
    assert segmenter.next_deadline_ms() == 7.0
    assert texts(segmenter.tick(7.0)) == ["some words"]


def test_a_flush_speaks_everything_and_goes_on() -> None:
    segmenter = Segmenter(SegmentPolicy())
    segmenter.push("Half a sen", 0.0)
    assert [(s.text, s.cut) for s in segmenter.flush()] == [("Half a sen", Cut.FLUSH)]
    assert segmenter.flush() == []
    segmenter.push("tence. ", 1.0)
    (segment,) = segmenter.flush()
    assert (segment.text, segment.start, segment.end) == ("tence. ", 10, 17)
