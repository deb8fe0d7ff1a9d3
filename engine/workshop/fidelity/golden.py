"""Golden vectors of the reference implementation, where a checkpoint has them.

The folder's layout is that of `tests/golden`; its README describes the files. Sequences come from
`sequences.py`; here a candidate's captures are held against what the files say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from engine.checkpoint.folder import Checkpoint
from engine.codec.decoder import StreamingDecoder
from engine.codec.encoder import Encoder
from engine.codec.weights import load_codec
from engine.errors import CheckpointError
from engine.workshop.fidelity.capture import Capture
from engine.workshop.fidelity.marks import Mark
from engine.workshop.fidelity.measure import Measure
from engine.workshop.fidelity.sequences import Sequence as Said
from engine.workshop.fidelity.sound import snr_db, stream
from engine.workshop.fidelity.tokens import compare_with_vectors

_NEAR_TIE = 1e-4  # lead in cosine below which another code is no error; fp32 sums differ by 1e-5
_INT16 = 32768.0


def golden_measures(
    checkpoint: Checkpoint,
    folder: Path,
    said: Sequence[Said],
    captures: Sequence[Capture],
    marks: Mapping[str, Mark],
    device: str,
) -> list[Measure]:
    """All that the folder can say about a candidate. Raises CheckpointError on a missing file."""
    hidden, agreement = _language(folder, said, captures)
    texts = compare_with_vectors(checkpoint, folder)
    rows = [
        ("golden_hidden", "golden: cosine of the hidden state, worst frame", hidden),
        ("golden_agreement", "golden: same choice, all codebooks", agreement),
        (
            "golden_snr_db",
            "golden: codec in a stream, SNR in dB",
            _decoder(checkpoint, folder, device),
        ),
        (
            "golden_encoder_agreement",
            "golden: codes of a recording",
            _encoder(checkpoint, folder, device),
        ),
        ("golden_tokenizer_mismatches", f"golden: of {texts.strings} texts", len(texts.mismatches)),
    ]
    return [Measure(key, title, float(value), marks[key]) for key, title, value in rows]


def _load(folder: Path, name: str) -> dict[str, NDArray[np.generic]]:
    from safetensors.numpy import load_file

    path = folder / f"{name}.safetensors"
    if not path.is_file():
        raise CheckpointError(f"expected golden vectors in {path}, found no such file")
    return dict(load_file(path))


def _language(
    folder: Path, said: Sequence[Said], captures: Sequence[Capture]
) -> tuple[float, float]:
    golden = _load(folder, "generation")
    cosines, same = [], []
    for saying, capture in zip(said, captures, strict=True):
        expected = torch.from_numpy(golden[f"{saying.name}.hidden"].astype(np.float64))
        cosines.append(F.cosine_similarity(capture.hidden.double(), expected, dim=-1).min())
        codes = torch.from_numpy(np.ascontiguousarray(saying.frames[1:].T))
        same.append((capture.slow.argmax(-1) == codes[:, 0]).float()[:, None])
        same.append((capture.fast.argmax(-1) == codes[:, 1:]).float())
    return float(min(cosines)), float(torch.cat([s.flatten() for s in same]).mean())


def _decoder(checkpoint: Checkpoint, folder: Path, device: str) -> float:
    """Worst SNR of three streams: a short one, one past the attention's window, codes to clamp."""
    decoder = StreamingDecoder(load_codec(checkpoint.path, device), max_slots=1)
    short, long = _load(folder, "codec_short"), _load(folder, "codec_long_decode")
    clamp = _load(folder, "codec_clamp_decode")
    pairs = [
        (short["dec.wav"], stream(decoder, _frames(short["enc.codes"]))),
        (long["wav_stride64"], stream(decoder, _frames(long["codes"]))[::64]),
        (clamp["wav"], stream(decoder, _frames(clamp["codes_unclamped"]))),
    ]
    return min(snr_db(np.asarray(golden, np.float32), ours) for golden, ours in pairs)


def _encoder(checkpoint: Checkpoint, folder: Path, device: str) -> float:
    """Share of codes found, of those that are no near ties. 1 where there is no encoder."""
    import wave

    weights = load_codec(checkpoint.path, device)
    if not weights.config.has_encoder:
        return 1.0
    encoder, same = Encoder(weights), []
    for recording, vectors, prefix in (
        ("audio_ref_short_44k1.wav", "codec_short", "enc."),
        ("audio_ref_long_44k1.wav", "codec_long_encode", ""),
    ):
        with wave.open(str(folder / recording)) as file:
            rate_hz, data = file.getframerate(), file.readframes(file.getnframes())
        codes = encoder.encode(np.frombuffer(data, "<i2").astype(np.float32) / _INT16, rate_hz)
        golden = _load(folder, vectors)
        clear = _frames(golden[f"{prefix}margin"]) > _NEAR_TIE
        same.append((codes == _frames(golden[f"{prefix}codes"]))[clear])
    return float(np.concatenate(same).mean())


def _frames(rows: NDArray[np.generic]) -> NDArray[np.int64]:
    """[N, T] as the files have it -> [T, N]."""
    array: NDArray[np.int64] = np.ascontiguousarray(rows.T)
    return array
