"""Voices: names, folders, and what is wrong with a bad one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.api import InvalidRequestError, UnknownVoiceError
from engine.host.voices import VoiceStore


def encode(audio: bytes) -> np.ndarray:
    if audio == b"noise":
        raise ValueError("expected at least 0.5 s, got 0.1 s")
    return np.full((2, 4), audio[0], np.uint16)


@pytest.fixture
def store() -> VoiceStore:
    return VoiceStore(encode, num_codebooks=4)


def test_the_default_voice_has_no_reference(store: VoiceStore) -> None:
    assert store.names == ("default",)
    assert store.references("default") == ()


def test_a_voice_is_added_replaced_and_removed(store: VoiceStore) -> None:
    store.add("ann", b"a", " Hello. ")
    store.add("ann", b"b", "Hello.")
    (reference,) = store.references("ann")
    assert (reference.text, int(reference.codes[0, 0])) == ("Hello.", ord("b"))
    store.remove("ann")
    with pytest.raises(UnknownVoiceError, match="expected one of default, got 'ann'"):
        store.references("ann")


@pytest.mark.parametrize(
    ("name", "audio", "transcript", "message"),
    [
        ("default", b"a", "Hi", "not 'default', got 'default'"),
        ("../x", b"a", "Hi", "got '../x'"),
        ("", b"a", "Hi", "got ''"),
        ("a" * 65, b"a", "Hi", "1 to 64"),
        ("ann", b"a", " ", "transcript: expected what the recording says"),
        ("ann", b"noise", "Hi", "voice ann: expected at least 0.5 s"),
    ],
)
def test_a_bad_voice_is_refused(
    store: VoiceStore, name: str, audio: bytes, transcript: str, message: str
) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        store.add(name, audio, transcript)
    assert store.names == ("default",)


def test_the_default_voice_stays(store: VoiceStore) -> None:
    with pytest.raises(InvalidRequestError, match="cannot be removed"):
        store.remove("default")
    with pytest.raises(UnknownVoiceError):
        store.remove("nobody")


def test_a_folder_of_recordings_and_codes(store: VoiceStore, tmp_path: Path) -> None:
    (tmp_path / "ann.wav").write_bytes(b"a")
    (tmp_path / "ann.txt").write_text("Ann speaks.")
    (tmp_path / "bob.wav").write_bytes(b"b")
    np.save(tmp_path / "bob.npy", np.full((3, 4), 7, np.uint16))
    (tmp_path / "bob.txt").write_text("Bob speaks.")
    (tmp_path / "README.md").write_text("not a voice")
    store.load_folder(tmp_path)
    assert store.names == ("default", "ann", "bob")
    assert store.references("bob")[0].codes.shape == (3, 4)  # codes are preferred


def test_a_voice_without_transcript_is_named(store: VoiceStore, tmp_path: Path) -> None:
    (tmp_path / "ann.wav").write_bytes(b"a")
    with pytest.raises(InvalidRequestError, match="expected a transcript .*ann.txt"):
        store.load_folder(tmp_path)


@pytest.mark.parametrize("codes", [np.zeros((3, 5), np.uint16), np.zeros((3, 4), np.int64)])
def test_codes_of_another_checkpoint_are_refused(
    store: VoiceStore, tmp_path: Path, codes: np.ndarray
) -> None:
    np.save(tmp_path / "ann.npy", codes)
    (tmp_path / "ann.txt").write_text("Ann speaks.")
    with pytest.raises(InvalidRequestError, match=r"expected uint16 \[frames, 4\]"):
        store.load_folder(tmp_path)
