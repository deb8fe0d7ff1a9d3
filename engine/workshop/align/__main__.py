"""`python -m engine.workshop.align CHECKPOINT RECORDINGS`: which attention heads follow the text.

RECORDINGS holds `name.wav`, `name.txt` and `name.json`, the words with their times. The line that
it prints last belongs into the checkpoint's config.json; the engine then tells with every frame
which text token it speaks, and word times come from the model itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from engine.errors import CheckpointError


def main(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint in the S2-Pro layout.")],
    recordings: Annotated[Path, typer.Argument(help="name.wav, name.txt and name.json (words).")],
    best: Annotated[int, typer.Option(min=1, help="How many heads to name.")] = 4,
) -> None:
    """Find the attention heads of CHECKPOINT that follow the text, from recordings with known
    word times.
    """
    from engine.checkpoint.folder import Checkpoint
    from engine.workshop.align.heads import score_heads

    try:
        scores = score_heads(Checkpoint.open(checkpoint), recordings)[:best]
    except (CheckpointError, FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    for score in scores:
        print(f"layer {score.layer} head {score.head}: {score.share:.1%} of the frames")
    heads = [[score.layer, score.head] for score in scores]
    print(json.dumps({"voice_gateway": {"alignment_heads": heads}}))


if __name__ == "__main__":
    typer.run(main)
