"""The `voice-gateway` command: what a person types and reads."""
