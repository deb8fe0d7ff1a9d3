"""Which requests may share KV: the extra key under which SGLang's prefix cache files a request.

The cache matches prefixes by token ids inside a namespace, the request's extra key. The KV of a
frame, however, depends on all its codes, and its token id shows codebook 0 only: two voices can
agree in every id and still sound different. A namespace must therefore settle every code that the
ids leave open. Text, tags, layout and the place of each run are in the ids already and stay out of
the key.

Three cases, and what each may share:

* **Voice** (`voice_salt`): no history. The key covers all codebooks of all reference frames, in
  order. Every request with this voice shares the system message and the codes in it, the long
  part.
* **Dialogue** (`dialogue_salt`): history that grows. The second request repeats the first one's
  prompt and adds the frames that the first one made; it can find both only under the first one's
  key, so the codes of the history cannot be in the key: the first request does not know them yet.
  Under the voice's key alone, two dialogues that say the same text would meet, and for as many
  frames as they agree in codebook 0 (one suffices) the later would read the other's KV, whatever
  the residual codes. The name of the dialogue in the key keeps them apart, at the price of one
  copy of the voice's prefix per dialogue; whoever warms the voice for a dialogue names it, too.
  Inside a dialogue the ids decide, which is exact as long as its history only grows and a text is
  spoken once after the same history. When old turns are dropped, or a text is spoken anew after
  the same history (it was cut before its first sound, or failed), the caller counts `attempt` up;
  else new codes could meet the KV of old ones with the same text.
* **Neither** (`history_salt`): history, but no name for the dialogue. The key covers the codes of
  the history too. Exact without any promise of the caller; only a repetition of the same prompt
  hits.

`cache_salt` picks. Frames that a request makes are filed under its own key. A key that only covers
the prompt's codes does not cover them: a request that is retracted and continues must not match
the cache beyond its prompt, unless its key names the dialogue.

Keys are BLAKE2b of little-endian uint16 codes: equal on every machine and in every release, about
5 us for a ten-second voice. Two different inputs meet with a chance of 2**-65 among 2**32 keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from engine.prompt import Codes, Reference, Turn

_DIGEST_BYTES = 16


def voice_salt(references: Sequence[Reference]) -> str:
    """The key of a voice: all codebooks of all its frames. Without references, one fixed key."""
    return _digest(b"voice", _bytes_of([reference.codes for reference in references]))


def dialogue_salt(references: Sequence[Reference], dialogue: str, attempt: int = 0) -> str:
    """The key of one dialogue with one voice: every request of the dialogue shares it.

    `attempt` counts how often the history was cut or a text spoken anew after it; see above.
    """
    name = dialogue.encode(errors="surrogatepass")
    voice = voice_salt(references).encode()
    return _digest(b"dialogue", voice, name, str(attempt).encode())


def history_salt(references: Sequence[Reference], history: Sequence[Turn]) -> str:
    """The key of a prompt whose history has no dialogue's name: covers every code in it."""
    voice = voice_salt(references).encode()
    return _digest(b"history", voice, _bytes_of([turn.codes for turn in history]))


def cache_salt(
    references: Sequence[Reference],
    history: Sequence[Turn] = (),
    dialogue: str = "",
    attempt: int = 0,
) -> str:
    """The widest key that is safe: the dialogue's if it has a name, else the history's or voice's.

    The first request of a dialogue must name it too, or the second will not find its frames.
    """
    if dialogue:
        return dialogue_salt(references, dialogue, attempt)
    return history_salt(references, history) if history else voice_salt(references)


def _bytes_of(runs: Sequence[Codes]) -> bytes:
    """All frames of all runs in order; the ids show where one run ends, the key need not."""
    if not runs:
        return b""
    codes = np.concatenate(runs)
    return len(codes).to_bytes(8, "little") + codes.astype("<u2").tobytes()


def _digest(kind: bytes, *parts: bytes) -> str:
    """Hex digest of the parts; each is preceded by its length, so no two lists look alike."""
    key = blake2b(digest_size=_DIGEST_BYTES, person=kind)
    for part in parts:
        key.update(len(part).to_bytes(8, "little"))
        key.update(part)
    return key.hexdigest()
