"""Real-size proof without the weights.

    python -m engine.workshop.dryrun [--gpu h200] [--streams 16]

Builds S2-Pro's 4.56 billion parameters on torch's meta device with the engine's own modules and
loader, holds names, shapes and bytes against what is published, and says what the model would need
on a given GPU. `--materialise DIR` goes further: random weights of full size on disk, read by the
real loader into memory that lies on disk too, and a frame spoken.
"""
