"""GPUs that a plan can be made for: vendors' data sheets, dense bf16 with fp32 accumulation.

What vendors call GB of memory is GiB, less a little; what they call GB/s is 10^9 bytes a second.
"""

from __future__ import annotations

from dataclasses import dataclass

_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device. The two rates are peaks, which no program reaches: bounds, not forecasts."""

    name: str
    memory_gib: float
    bandwidth_gb_s: float
    bf16_tflops: float

    @property
    def memory_bytes(self) -> int:
        """All of its memory."""
        return int(self.memory_gib * _GIB)


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("b200", 180, 7700, 2250),
        Gpu("h200", 140, 4800, 989),
        Gpu("h100", 80, 3350, 989),
        Gpu("h100-pcie", 80, 2000, 756),
        Gpu("a100-80", 80, 2039, 312),
        Gpu("a100-40", 40, 1555, 312),
        Gpu("l40s", 48, 864, 362),
        Gpu("l4", 24, 300, 121),
        Gpu("a10", 24, 600, 125),
        Gpu("rtx5090", 32, 1792, 210),
        Gpu("rtx4090", 24, 1008, 165),
        Gpu("rtx3090", 24, 936, 71),
    )
}


def find_gpu(name: str) -> Gpu:
    """Look a GPU up by name. Raises ValueError that lists the known ones."""
    gpu = GPUS.get(name.lower())
    if gpu is None:
        raise ValueError(f"gpu: expected one of {', '.join(GPUS)}, got {name!r}")
    return gpu
