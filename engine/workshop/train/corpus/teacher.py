"""The teacher: hibari-tts (Apache-2.0), its durations, and voices made from it by signal
processing.

The network predicts a spectral envelope, noise and F0 for each 12.5 ms; hibari's host code turns
them into sound. Between the two there is room: F0 can be moved without the formants, the
harmonics replaced by noise (whisper), and playing the result at another rate moves the formants.
So one network gives many speakers, all with exact phone times. A training-time dependency only.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from engine.text.frontend import phones

Samples = NDArray[np.float32]

TEACHER_RATE_HZ = 24000
F0_STEP_SAMPLES = 128
_UNIT_SAMPLES = 600  # durations come in units of 25 ms
_F0_SAMPLES = 300  # the network's F0, 80 values a second
_VOICED_HZ = 40.0  # below, hibari makes no pulses
_DURATIONS = "/Clip_output_0"  # hibari-tts 0.2.1: durations after rounding, one a phoneme
_LEAD_UNITS, _TAIL_UNITS = 3, 8  # silence kept at the ends


@dataclass(frozen=True, slots=True)
class Voice:
    """A speaker made from the teacher's: F0 and formants as factors of the teacher's own."""

    pitch: float = 1.0
    formant: float = 1.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a sentence is said."""

    speed: float = 1.0
    gain: float = 1.0
    whisper: bool = False


STYLE_DELIVERY = {
    "": Delivery(),
    "[fast]": Delivery(speed=1.3),
    "[slow]": Delivery(speed=0.75),
    "[loud]": Delivery(gain=1.7),
    "[whisper]": Delivery(speed=0.95, gain=0.8, whisper=True),
}


def lead_samples(voice: Voice, rate_hz: int) -> int:
    """Samples of silence before the first phone of an utterance in this voice."""
    return round(_LEAD_UNITS * _UNIT_SAMPLES * rate_hz / voice.formant / TEACHER_RATE_HZ)


@dataclass(frozen=True, slots=True)
class Speech:
    """`tokens`: phone tokens. `ends`: sample at which each token's sound ends, [len(tokens)].

    The last token owns the trailing silence; `lead_samples` of silence come before the first.
    `f0_hz`: pitch at the end of each whole step of F0_STEP_SAMPLES, 0 where there is no voice.
    """

    samples: Samples
    tokens: list[str]
    ends: NDArray[np.int64]
    lead_samples: int
    f0_hz: Samples


@dataclass(frozen=True, slots=True)
class _Made:
    """What the network and its synthesis gave, at the teacher's rate; `f0_hz` as it will sound."""

    wave: Samples
    phonemes: str
    units: NDArray[np.float32]
    f0_hz: Samples


def _f0_at(f0_hz: Samples, at_samples: NDArray[np.floating]) -> Samples:
    """The network's F0 at places of its waveform; 0 where the nearest value has no voice."""
    place = at_samples / _F0_SAMPLES - 0.5  # a value stands in the middle of its samples
    nearest = np.clip(np.rint(place).astype(int), 0, len(f0_hz) - 1)
    voiced = f0_hz > _VOICED_HZ
    if not voiced.any():
        return np.zeros(len(place), np.float32)
    at = np.arange(len(f0_hz))
    bridged = np.interp(at, at[voiced], f0_hz[voiced])
    return np.where(voiced[nearest], np.interp(place, at, bridged), 0.0).astype(np.float32)


class Teacher:
    """hibari's default voice, with durations. `rate_hz`: the rate of what `speak` returns."""

    def __init__(self, rate_hz: int, threads: int = 1) -> None:
        import hibari.tts
        import onnx
        import onnxruntime

        self.rate_hz = rate_hz
        self._tts: Any = hibari.tts.Hibari(threads=threads)
        model = onnx.load(self._tts.model_path)
        model.graph.output.append(
            onnx.helper.make_tensor_value_info(_DURATIONS, onnx.TensorProto.FLOAT, None)
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        options.log_severity_level = 3
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "teacher.onnx"
            onnx.save(model, path)
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )

    def phonemes(self, text: str) -> list[str]:
        """The teacher's own reading of a text, one phoneme string a sentence."""
        result: list[str] = self._tts.phonemize(text)
        return result

    def lexicon_words(self) -> list[str]:
        """Words of the teacher's main lexicon: lower case, letters only, 3 to 12 of them."""
        lexicon = self._tts.g2p.lexicon.golds.d
        return sorted(
            w for w in lexicon if 3 <= len(w) <= 12 and w.isascii() and w.isalpha() and w.islower()
        )

    def speak(
        self, phonemes: str, voice: Voice = Voice(), delivery: Delivery = Delivery(), seed: int = 0
    ) -> Speech:
        """Synthesise one phoneme string; the same seed gives the same samples."""
        from hibari import dsp

        phonemes = "".join(c for c in phonemes if c in self._tts.vocab)
        ids = self._tts.ids(phonemes)
        speed = np.float32(delivery.speed / voice.formant)
        *parts, units = self._session.run(
            None, {"ids": np.asarray([ids], np.int64), "speed": np.asarray([speed], np.float32)}
        )
        lh, theta, ln, lr, phi, f0 = (part[0] for part in parts)
        rng = np.random.default_rng(seed)
        if delivery.whisper:
            # Breath has the envelope of the harmonics without their lowest octave and no
            # periodicity.
            tilt = np.linspace(-1.5, 0.5, lh.shape[0], dtype=np.float32)[:, None]
            ln = np.logaddexp(ln, lh + tilt)
            lh, f0 = np.full_like(lh, -12.0), np.zeros_like(f0)
            lr = np.full_like(lr, -12.0)
        wave = dsp.synth(lh, theta, ln, lr, phi, f0 * (voice.pitch / voice.formant), rng)
        made = _Made(wave, phonemes, units.reshape(-1), f0 * voice.pitch)
        return self._trim(made, voice.formant, delivery.gain)

    def _trim(self, made: _Made, formant: float, gain: float) -> Speech:
        wave, units = made.wave, made.units
        lead = min(_LEAD_UNITS, int(units[0]))
        tail = min(_TAIL_UNITS, int(units[-1] + units[-2]))
        start = int(units[0] - lead) * _UNIT_SAMPLES
        spare = int(units[-1] + units[-2]) - tail
        wave = wave[start : len(wave) - spare * _UNIT_SAMPLES]
        scale = self.rate_hz / formant / TEACHER_RATE_HZ
        samples = soxr.resample(wave, TEACHER_RATE_HZ, self.rate_hz / formant).astype(np.float32)
        steps = np.arange(1, len(samples) // F0_STEP_SAMPLES + 1)
        f0_hz = _f0_at(made.f0_hz, start + steps * F0_STEP_SAMPLES / scale)
        tokens, owner = phones.parse(made.phonemes)
        ends_24k = (lead + np.cumsum(units[1:-1])) * _UNIT_SAMPLES
        ends = np.zeros(len(tokens), np.int64)
        for index, end in zip(owner, ends_24k, strict=True):
            if index >= 0:
                ends[index] = round(float(end) * scale)
        ends[-1] = len(samples)
        return Speech(
            np.clip(samples * gain, -1.0, 1.0),
            tokens,
            ends,
            round(lead * _UNIT_SAMPLES * scale),
            f0_hz,
        )
