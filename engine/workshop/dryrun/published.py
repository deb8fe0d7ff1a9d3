"""What is published about `fishaudio/s2-pro`, as far as the files themselves say it.

Sources: the repository's index (`total_size`, `total_parameters`), the load logs and byte counts of
codec.pth that others have published. `s2-pro.json` beside this file is its config.json, without the
fields that nothing reads.
"""

from __future__ import annotations

from pathlib import Path

from engine.checkpoint.config_json import LanguageModelConfig, parse_config

CONFIG_PATH = Path(__file__).with_name("s2-pro.json")

LM_TENSORS = 358
LM_PARAMETERS = 4_561_852_416
LM_BYTES = 9_123_704_832

CODEC_TENSORS = 541
CODEC_FP32_TENSORS = 535
CODEC_FILE_BYTES = 1_871_099_728
# a torch archive pads every tensor to 64 bytes and names it in two places
CODEC_ARCHIVE_BYTES = 242_000


def s2_pro() -> LanguageModelConfig:
    """The published configuration."""
    return parse_config(CONFIG_PATH.read_bytes(), str(CONFIG_PATH))
