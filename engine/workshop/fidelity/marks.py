"""The pass marks, fixed before any checkpoint is judged, each with its reason.

One set for each way in which the candidate may differ from the reference: nothing but the order of
summation ("float32"), roundings to bf16 ("bfloat16"), or 8-bit weights ("quantised"; one set for
all schemes, so that a scheme cannot bring its own excuse). Marks on choices and probabilities judge
what is heard; marks on cosines show where it begins. All were set from the arithmetic given in the
reasons, then tried on random checkpoints, the hardest case: their logits have a standard deviation
of 8, so that a small relative error moves a probability far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Profile = Literal["float32", "bfloat16", "quantised"]


@dataclass(frozen=True, slots=True)
class Mark:
    """`bound` is the least ("least") or the greatest ("most") value that passes."""

    bound: float
    side: Literal["least", "most"]
    reason: str

    def passed(self, value: float) -> bool:
        """NaN never passes."""
        return value >= self.bound if self.side == "least" else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.side == 'least' else '≤'} {self.bound:g}"


def _least(bound: float, reason: str) -> Mark:
    return Mark(bound, "least", reason)


def _most(bound: float, reason: str) -> Mark:
    return Mark(bound, "most", reason)


# layer_loss: 1 - cosine, divided by the number of layers that made it. Independent errors add as
# variances, so the loss grows in proportion to depth and one number serves 3 layers and 36.
# regret_nats: how much less probable, under the reference, the candidate's choice is than the
# reference's own; 0 where they agree.
# divergence_nats: Kullback-Leibler, a draw, of the codebook where it is greatest. By Pinsker's
# inequality at most sqrt(divergence / 2) of the draws come out otherwise for the same noise.
_EXACT = {
    "layer_loss": _most(1e-9, "half the square of an error of 4e-5: fp32 in any order, not TF32"),
    "hidden_cosine": _least(1 - 1e-7, "the worst frame of all, after as many layers as there are"),
    "regret_nats": _most(
        1e-3, "logits may differ by 1e-4 (golden vectors), a choice by a near tie"
    ),
    "agreement": _least(0.998, "a margin under 1e-4 is a tie: about one in 10,000 choices has one"),
    "divergence_nats": _most(1e-8, "logits within 1e-4 give at most half their square"),
}
_BF16 = {
    "layer_loss": _most(
        1e-4, "ten roundings a layer to 8 bits, 1e-3 each (rms), amplified about three times"
    ),
    "hidden_cosine": _least(0.995, "the worst frame may be ten times worse than the mean"),
    "regret_nats": _most(0.25, "twice the reference's own bf16 error on a logit (0.13 rms)"),
    "agreement": _least(
        0.92,
        "the reference's own bf16 agrees in 95 %; less three standard deviations of 400 frames",
    ),
    "divergence_nats": _most(
        0.01, "half the square of 0.13, the reference's own bf16 error; 7 % of draws at most"
    ),
}
_QUANTISED = {
    "layer_loss": _most(
        2.5e-3,
        "e4m3's step is 2.6 % rms, 3.4e-4 a matrix and seven matrices a layer; more is a bug "
        "(a lost scale, a swapped row), less is judged by what follows",
    ),
    "hidden_cosine": _least(0.97, "the worst frame; below it the sound of that frame is another"),
    "regret_nats": _most(0.7, "the first frame's choice is at least half as probable as the best"),
    "agreement": _least(0.88, "half as many choices again may change as bf16 itself may change"),
    "divergence_nats": _most(0.05, "at most 16 % of draws come out otherwise, bf16's 7 % included"),
}
_COMMON = {
    "stream_snr_db": _least(
        80.0, "16-bit samples have 98 dB at full scale, so 80 for speech 18 dB below it"
    ),
    "tokenizer_mismatches": _most(0.0, "text is discrete: one wrong id is a wrong word"),
}
_GOLDEN_COMMON = {
    "golden_snr_db": _least(
        80.0, "as for the stream: the codec is fp32 whatever the language model is"
    ),
    "golden_encoder_agreement": _least(
        1.0, "fp32 with TF32 off finds every code whose lead over the second is above 1e-4"
    ),
    "golden_tokenizer_mismatches": _most(0.0, "text is discrete"),
}
_GOLDEN: Mapping[Profile, dict[str, Mark]] = {
    "float32": {
        "golden_hidden": _least(1 - 1e-7, "the vectors' tolerance is 2e-5 on values of size 1"),
        "golden_agreement": _least(
            1.0, "the smallest margin stored is 3.2e-3: no token may differ"
        ),
    },
    "bfloat16": {
        "golden_hidden": _BF16["hidden_cosine"],
        "golden_agreement": _least(0.90, "as above, but over 150 frames only"),
    },
    "quantised": {
        "golden_hidden": _QUANTISED["hidden_cosine"],
        "golden_agreement": _least(0.85, "as above, but over 150 frames only"),
    },
}
_MODEL: Mapping[Profile, dict[str, Mark]] = {
    "float32": _EXACT,
    "bfloat16": _BF16,
    "quantised": _QUANTISED,
}
MARKS: Mapping[Profile, Mapping[str, Mark]] = MappingProxyType(
    {p: _MODEL[p] | _COMMON | _GOLDEN[p] | _GOLDEN_COMMON for p in _MODEL}
)

# of all sayings together; with fewer, chance alone may fail the marks on agreement
MIN_FRAMES = 300

# the same fuzzed strings for everybody, and no fewer than these
MIN_STRINGS = 4000
