"""Programs to start from: each runs, and shows one way to give an agent a voice."""
