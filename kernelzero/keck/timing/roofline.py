"""Speed where nothing can be timed: bytes over a bandwidth plus launches times a cost. Deterministic.

The constants describe no card. They are a GPU scaled down to the sizes that an interpreter can run: what counts is the
ratio of one pass over the data to one launch. On an H200 (3.35e12 B/s, about 2 us a launch) a read and a write of a
1300 x 1300 fp32 tensor cost about as much as two launches; here the same holds of a 16 x 64 one (8,192 bytes: 82 ns; a
launch: 40 ns). So at the sizes of the tiny profile a second pass over the data and a second launch both show, and
neither drowns the other.

What is counted: of a kernel, every byte that its loads and stores touch, masked lanes left out, a load of the same
address by two programs twice (there is no cache in this model); of the eager reference, each operator reads its tensor
arguments and writes its results once, one launch an operator, views and allocations free. So a tiled matmul is charged
for its reloads and its reference is not: a speedup of a matmul on the CPU says little.
"""

from kernelzero.keck.judge.verdict import Measurement

BANDWIDTH_BYTES_S = 100e9
LAUNCH_S = 40e-9


def seconds(launches: int, bytes_moved: int) -> float:
    """The estimate for one call."""
    return launches * LAUNCH_S + bytes_moved / BANDWIDTH_BYTES_S


def measurement(
    launches: int,
    bytes_moved: int,
    reference_launches: int,
    reference_bytes: int,
    versions: dict,
    own_launches: int | None = None,
    own_bytes: int | None = None,
) -> Measurement:
    """Estimates for eager and for the candidate. own_*: the part of the candidate's that its own kernels do (default: all)."""
    reference_s = seconds(reference_launches, reference_bytes)
    kernel_s = seconds(launches, bytes_moved)
    own_s = seconds(launches if own_launches is None else own_launches, bytes_moved if own_bytes is None else own_bytes)
    speedup = reference_s / kernel_s if kernel_s > 0 else 1.0
    return Measurement(
        timer="roofline",
        reference_s=reference_s,
        kernel_s=kernel_s,
        speedup=speedup,
        launches=launches,
        bytes_moved=bytes_moved,
        reference_launches=reference_launches,
        reference_bytes=reference_bytes,
        own_share=own_s / kernel_s if kernel_s > 0 else 1.0,
        device="cpu",
        versions=versions,
    )
