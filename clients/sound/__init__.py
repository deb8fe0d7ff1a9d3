"""From packets to what is heard: decoded, mixed, played, written to files."""
