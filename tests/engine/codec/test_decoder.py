from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.parts.codec_peer import WindowDecoder
from engine.codec.decoder import StreamingDecoder
from engine.codec.kernels import dense
from engine.codec.sizes import CodecConfig
from engine.codec.slots import SlotError
from engine.codec.weights import load_codec
from tests.engine.codec.conftest import SMALL, random_tensors, write_codec
from tests.golden_data import TINY, vectors

GOLDEN_TOLERANCE = 5e-5  # as stated beside the vectors

Codes = NDArray[np.int64]


def some_codes(config: CodecConfig, frames: int, seed: int) -> Codes:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, frames) for size in config.codebook_sizes], axis=1)


def chunked(decoder: StreamingDecoder, codes: Codes, sizes: list[int]) -> NDArray[np.float32]:
    """The utterance in chunks of these sizes, taken in turn until it ends."""
    slot = decoder.allocate()
    pieces: list[NDArray[np.float32]] = []
    at = 0
    while at < len(codes):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(decoder.decode([slot], codes[None, at : at + size])[0])
        at += size
    decoder.free(slot)
    return np.concatenate(pieces)


# --- golden vectors


def test_short_utterance(decoder: StreamingDecoder) -> None:
    golden = vectors("codec_short")
    samples = decoder.decode_whole(golden["enc.codes"].T)
    assert samples.dtype == np.float32
    np.testing.assert_allclose(samples, golden["dec.wav"], rtol=0, atol=GOLDEN_TOLERANCE)


@pytest.mark.parametrize("sizes", [[200], [1], [3, 40]])
def test_long_utterance_whole_and_streamed(decoder: StreamingDecoder, sizes: list[int]) -> None:
    golden = vectors("codec_long_decode")
    samples = chunked(decoder, golden["codes"].T, sizes)
    assert samples.shape == (200 * 2048,)
    parts = {
        "wav_0_8192": samples[:8192],
        "wav_frames_126_132": samples[126 * 2048 : 132 * 2048],
        "wav_last_8192": samples[-8192:],
        "wav_stride64": samples[::64],
    }
    for name, part in parts.items():
        np.testing.assert_allclose(part, golden[name], rtol=0, atol=GOLDEN_TOLERANCE)


def test_codes_past_their_codebook_are_clamped_in_a_copy(decoder: StreamingDecoder) -> None:
    golden = vectors("codec_clamp_decode")
    codes = golden["codes_unclamped"].T
    assert codes[:, 1:].max() > 1023
    before = codes.copy()
    samples = decoder.decode_whole(codes)
    np.testing.assert_allclose(samples, golden["wav"], rtol=0, atol=GOLDEN_TOLERANCE)
    np.testing.assert_array_equal(codes, before)


# --- chunks, batches and slots change nothing, to the bit


@settings(max_examples=25)
@given(st.integers(1, 40), st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(0, 9))
def test_chunked_equals_whole(
    decoder: StreamingDecoder, frames: int, sizes: list[int], seed: int
) -> None:
    codes = some_codes(decoder.config, frames, seed)
    np.testing.assert_array_equal(chunked(decoder, codes, sizes), decoder.decode_whole(codes))


def test_chunked_equals_whole_past_the_window(small_codec: Path) -> None:
    decoder = StreamingDecoder.from_checkpoint(small_codec, max_slots=1)
    codes = some_codes(SMALL, 5 * SMALL.latent_window + 3, seed=1)
    whole = decoder.decode_whole(codes)
    for sizes in ([1], [4], [7, 1]):
        np.testing.assert_array_equal(chunked(decoder, codes, sizes), whole)


class Conversation:
    """Utterances that start, go on and end at any time, and what each has sounded like so far."""

    def __init__(self, decoder: StreamingDecoder, utterances: list[Codes]) -> None:
        self.decoder, self.utterances = decoder, utterances
        self.slots: dict[int, int] = {}
        self.done = [0] * len(utterances)
        self.heard: list[list[NDArray[np.float32]]] = [[] for _ in utterances]

    def start(self, i: int) -> None:
        if i not in self.slots and not self.done[i]:
            self.slots[i] = self.decoder.allocate()

    def go_on(self, batch: list[int], frames: int) -> None:
        """The next frames of these utterances in one call; one that is over gives its slot back."""
        codes = [self.utterances[i][self.done[i] : self.done[i] + frames] for i in batch]
        samples = self.decoder.decode([self.slots[i] for i in batch], np.stack(codes))
        for i, row in zip(batch, samples, strict=True):
            self.heard[i].append(row)
            self.done[i] += frames
            if self.left(i) == 0:
                self.decoder.free(self.slots.pop(i))

    def left(self, i: int) -> int:
        return len(self.utterances[i]) - self.done[i]

    def close(self) -> None:
        for slot in self.slots.values():
            self.decoder.free(slot)
        self.decoder.pool.check()


@settings(max_examples=20)
@given(st.data())
def test_desynchronised_streams_in_one_batch_equal_each_alone(
    decoder: StreamingDecoder, data: st.DataObject
) -> None:
    talk = Conversation(decoder, [some_codes(decoder.config, 9, seed) for seed in range(5)])
    try:
        for _ in range(data.draw(st.integers(1, 14), label="calls")):
            for i in data.draw(st.sets(st.integers(0, 4), max_size=2), label="start"):
                talk.start(i)
            if not talk.slots:
                continue
            streams = st.lists(st.sampled_from(sorted(talk.slots)), min_size=1, unique=True)
            batch = data.draw(streams, label="batch")
            most = min(3, *(talk.left(i) for i in batch), 3)
            talk.go_on(batch, data.draw(st.integers(1, most), label="frames"))
    finally:
        talk.close()
    for codes, rows, done in zip(talk.utterances, talk.heard, talk.done, strict=True):
        if rows:
            alone = decoder.decode_whole(codes[:done])
            np.testing.assert_array_equal(np.concatenate(rows), alone)


def test_a_reused_slot_starts_fresh(decoder: StreamingDecoder) -> None:
    first, second = (some_codes(decoder.config, 140, seed) for seed in (3, 4))
    slot = decoder.allocate()
    decoder.decode([slot], first[None])
    assert decoder.frames_decoded(slot) == 140
    decoder.free(slot)
    again = decoder.allocate()
    assert again == slot
    assert decoder.frames_decoded(again) == 0
    samples = decoder.decode([again], second[None, :3])[0]
    decoder.free(again)
    np.testing.assert_array_equal(samples, decoder.decode_whole(second[:3]))


def test_threads_do_not_change_a_bit(decoder: StreamingDecoder) -> None:
    codes = some_codes(decoder.config, 4, seed=5)
    expected = decoder.decode_whole(codes)
    slots = [decoder.allocate() for _ in range(4)]
    torch.set_num_threads(2)
    try:
        rows = decoder.decode(slots, np.stack([codes] * 4))
    finally:
        torch.set_num_threads(1)
        for slot in slots:
            decoder.free(slot)
    for row in rows:
        np.testing.assert_array_equal(row, expected)


# --- other sizes, against an independent implementation (descript-audio-codec's layers)

SIZES = {
    "small": SMALL,
    "few steps until the last block": replace(
        SMALL,
        decoder_rates=(2, 64),
        decoder_block_dims=(33, 12),
        decoder_residual_dilations=(3,),
    ),
    "no transformer, no encoder": replace(SMALL, post_layers=0, encoder_dim=0),
    "one codebook, no upsampling": replace(
        SMALL, n_residual_codebooks=0, resample_factors=(), encoder_dim=0
    ),
}


@pytest.mark.parametrize("config", SIZES.values(), ids=SIZES.keys())
def test_other_sizes_match_the_usual_form(tmp_path: Path, config: CodecConfig) -> None:
    folder = write_codec(tmp_path, config, random_tensors(config))
    decoder = StreamingDecoder.from_checkpoint(folder, max_slots=1)
    codes = some_codes(config, 17, seed=2)
    expected = WindowDecoder(load_codec(folder)).decode(torch.from_numpy(codes)).numpy()
    samples = chunked(decoder, codes, [1, 4])
    assert samples.shape == (17 * config.frame_samples,)
    assert np.abs(expected).std() > 0.01
    np.testing.assert_allclose(samples, expected, rtol=0, atol=GOLDEN_TOLERANCE)


def test_golden_codec_matches_the_usual_form(decoder: StreamingDecoder) -> None:
    codes = some_codes(decoder.config, 150, seed=6)
    expected = WindowDecoder(load_codec(TINY)).decode(torch.from_numpy(codes)).numpy()
    samples = decoder.decode_whole(torch.from_numpy(codes))
    np.testing.assert_allclose(samples, expected, rtol=0, atol=GOLDEN_TOLERANCE)


@pytest.mark.parametrize("sizes", [[1], [3, 8]])
def test_the_way_that_a_gpu_goes(
    monkeypatch: pytest.MonkeyPatch, small_codec: Path, sizes: list[int]
) -> None:
    """Torch's own operations, none compiled or packed; here on a CPU."""
    codes = some_codes(SMALL, 21, seed=8)
    expected = StreamingDecoder.from_checkpoint(small_codec, 1).decode_whole(codes)
    monkeypatch.setattr(dense, "can_fuse", lambda device: False)
    monkeypatch.setattr(dense, "can_pack", lambda device: False)
    decoder = StreamingDecoder.from_checkpoint(small_codec, 2)
    assert decoder.allocate() == 0  # so that rows do not start at 0
    samples = chunked(decoder, codes, sizes)
    np.testing.assert_allclose(samples, expected, rtol=0, atol=GOLDEN_TOLERANCE)


def test_an_alpha_of_zero_is_the_identity(tmp_path: Path) -> None:
    config = replace(SMALL, encoder_dim=0)
    tensors = random_tensors(config)
    name = "decoder.model.1.block.2.block.0.alpha"
    tensors[name][0, 0, 0] = 0.0
    folder = write_codec(tmp_path, config, tensors)
    codes = some_codes(config, 3, seed=7)
    expected = WindowDecoder(load_codec(folder)).decode(torch.from_numpy(codes)).numpy()
    samples = StreamingDecoder.from_checkpoint(folder, 1).decode_whole(codes)
    np.testing.assert_allclose(samples, expected, rtol=0, atol=GOLDEN_TOLERANCE)


def test_state_of_s2_pro_takes_what_was_reckoned(decoder: StreamingDecoder) -> None:
    """K and V of a window in every layer, and the convolutions' histories."""
    rings = 2 * 128 * 2 * 2 * 64
    upsample, first = 2 * 64 * 6, 64 * 6
    transposed = 64 + 32 + 16 + 8
    units = (32 + 16 + 8 + 4) * (6 + 18 + 54)
    last = 4 * 6
    floats = rings + upsample + first + transposed + units + last
    assert decoder.state_bytes_per_slot == 4 * floats


# --- misuse


def test_misuse_says_what_is_wrong(decoder: StreamingDecoder) -> None:
    slot = decoder.allocate()
    good = some_codes(decoder.config, 2, seed=0)[None]
    bad: list[tuple[list[int], Any, str]] = [
        ([], good, "one or more different slots"),
        ([slot, slot], np.concatenate([good, good]), "one or more different slots"),
        ([slot], good[0], r"expected codes \[1, frames >= 1, 10\], got \[2, 10\]"),
        ([slot], good[:, :, :9], r"got \[1, 2, 9\]"),
        ([slot], good[:, :0], r"got \[1, 0, 10\]"),
        ([slot], np.concatenate([good, good]), r"got \[2, 2, 10\]"),
        ([slot], good.astype(np.float32), "expected integer codes, got float32"),
        ([slot], good - 5000, "expected codes >= 0, got -"),
    ]
    for slots, codes, message in bad:
        with pytest.raises(ValueError, match=message):
            decoder.decode(slots, codes)
    assert decoder.frames_decoded(slot) == 0
    decoder.free(slot)
    with pytest.raises(SlotError, match="expected an allocated slot"):
        decoder.decode([slot], good)
    with pytest.raises(SlotError):
        decoder.free(slot)


def test_slots_run_out(decoder: StreamingDecoder) -> None:
    slots = [decoder.allocate() for _ in range(decoder.pool.size)]
    with pytest.raises(SlotError, match="all 8 are in use"):
        decoder.allocate()
    for slot in slots:
        decoder.free(slot)
    decoder.pool.check()
    assert decoder.pool.free_count == 8
