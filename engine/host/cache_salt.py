"""The namespace of a voice in SGLang's prefix cache.

Frames are filed under hashes of all their codes (`engine.plugin.frame_ids`), so a hit means the
same codes but for a chance of 1e-6. The voice's own key, a digest of every code of its references,
makes that exact between voices: two voices that agree in codebook 0, or anywhere, share nothing.
Everything else, text, tags, history and its frames, is in the ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from engine.text.prompt import Reference

_DIGEST_BYTES = 16


def voice_salt(references: Sequence[Reference]) -> str:
    """The key of a voice: all codebooks of all its frames. Without references, one fixed key.

    BLAKE2b of little-endian uint16 codes: equal on every machine and in every release. Two voices
    meet with a chance of 2**-65 among 2**32.
    """
    key = blake2b(digest_size=_DIGEST_BYTES, person=b"voice")
    for reference in references:
        key.update(np.ascontiguousarray(reference.codes, "<u2").tobytes())
    return key.hexdigest()
