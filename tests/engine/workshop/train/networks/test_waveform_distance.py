"""The distance of waveforms knows pitch periods' shapes, and not where they begin."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.workshop.train.networks.waveform_distance import SHIFT, WaveformDistance

RATE_HZ = 22050.0
SAMPLES = 8000


def voice(phases: Tensor, hertz: float = 150.0, shift: float = 0.0) -> Tensor:
    """Ten harmonics [1, SAMPLES] with these phases [10], delayed by `shift` samples."""
    time_s = (torch.arange(SAMPLES) - shift) / RATE_HZ
    order = torch.arange(1, 11)[:, None]
    return 0.05 * torch.sin(2 * torch.pi * hertz * order * time_s + phases[:, None]).sum(0)[None]


def test_it_ignores_when_a_period_begins_but_not_what_it_looks_like() -> None:
    distance, together = WaveformDistance(), torch.zeros(10)
    spread = torch.linspace(0, 4, 10).square()
    same = distance(voice(together), voice(together))
    later = distance(voice(together, shift=37.0), voice(together))
    louder = distance(0.5 * voice(together), voice(together))
    other = distance(voice(spread), voice(together))  # the same magnitudes
    assert max(same, later, louder) < 0.05
    assert other > 0.2


def test_it_asks_for_a_steady_pitch() -> None:
    distance, phases = WaveformDistance(), torch.zeros(10)
    off = [distance(voice(phases, hertz), voice(phases)).item() for hertz in (151.0, 154.0, 165.0)]
    assert 0.01 < off[0] < off[1] < off[2]


def test_silence_counts_for_nothing_and_gives_no_wild_gradient() -> None:
    true = torch.zeros(2, SAMPLES)
    made = torch.zeros(2, SAMPLES, requires_grad=True)
    loss = WaveformDistance()(made, true)
    loss.backward()
    assert loss.item() == 0.0
    assert made.grad is not None and torch.isfinite(made.grad).all()


def test_its_gradient_leads_from_noise_towards_the_voice() -> None:
    torch.manual_seed(0)
    true = voice(torch.zeros(10))
    made = (0.05 * torch.randn(1, SAMPLES)).requires_grad_()
    distance = WaveformDistance()
    optimiser = torch.optim.Adam([made], 2e-3)
    first = distance(made, true).item()
    for _ in range(60):
        optimiser.zero_grad()
        loss = distance(made, true)
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.5 * first


def test_the_shortest_sound_it_takes() -> None:
    sound = voice(torch.zeros(10))[:, : 1728 + 2 * SHIFT]
    assert WaveformDistance()(sound, sound) < 0.05
