"""Training for this architecture: corpus, codec, Dual-AR, evaluation, export, fine-tuning."""
