"""The small configuration of the training tests: it makes checkpoints of any size."""

from __future__ import annotations

from tests.engine.workshop.train.conftest import config as config
