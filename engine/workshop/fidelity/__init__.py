"""The fidelity gate: does a checkpoint, as the engine runs it, still say what its reference says?

    python -m engine.workshop.fidelity CHECKPOINT [--against CHECKPOINT] [--golden FOLDER]

Two runs of the same sequences are compared, teacher forced, so that one early difference does not
decide all that follows: the reference in fp32, each sequence in one piece; the candidate in the
dtype that it will serve in, frame by frame over a cache. `marks.py` holds the pass marks.
"""
