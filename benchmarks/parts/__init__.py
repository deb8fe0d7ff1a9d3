"""What several benchmarks share: checkpoints, listeners, loads, and the way they report."""
