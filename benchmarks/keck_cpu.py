"""Candidates a second through Keck on the CPU, by kind and size of kernel, and where the time goes.

    python benchmarks/keck_cpu.py [--workers 2] [--count 40] [--kinds elementwise,softmax]

Every candidate is a source of its own (a constant differs), eight to a module, each judged on three cases (seeds 0, 1,
2 with scales 1 and 3). 'reference' is the wait for a module's reference, shared by its candidates; the rest is time in
a stage with all workers busy. Prints what it measured on this machine at this moment, nothing else.
"""

import argparse
import time

from kernelzero.keck import Task, Verifier

TORCH = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
HEAD = TORCH + "import triton\nimport triton.language as tl\n\n\n"
MODULE = """class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, {args}):
        return {expr} * {factor}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""
ELEMENTWISE = """@triton.jit
def kernel(x_ptr, o_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    y = tl.maximum(x, 0.0) * tl.sigmoid(x)
    tl.store(o_ptr + i, y * factor, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = x.numel()
        kernel[(triton.cdiv(n, {block}),)](x, out, n, {factor}, BLOCK={block})
        return out
"""
ROWS = """@triton.jit
def kernel(x_ptr, o_ptr, n, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other={other})
{body}

class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty({shape}, device=x.device, dtype=x.dtype)
        kernel[(x.shape[0],)](x, out, x.shape[1], {factor}, BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
"""
REDUCTION = "    tl.store(o_ptr + row, tl.sum(x, axis=0) * factor)\n"
SOFTMAX = """    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(o_ptr + row * n + cols, e / tl.sum(e, axis=0) * factor, mask=mask)
"""
NORM = """    mean = tl.sum(x, axis=0) / n
    d = tl.where(mask, x - mean, 0.0)
    y = d / tl.sqrt(tl.sum(d * d, axis=0) / n + 1e-5)
    tl.store(o_ptr + row * n + cols, y * factor, mask=mask)
"""
MATMUL = """@triton.jit
def kernel(a_ptr, b_ptr, o_ptr, M, N, K, factor, T: tl.constexpr):
    rows = tl.program_id(0) * T + tl.arange(0, T)
    cols = tl.program_id(1) * T + tl.arange(0, T)
    acc = tl.zeros((T, T), dtype=tl.float32)
    for k in range(0, K, T):
        ks = k + tl.arange(0, T)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(o_ptr + rows[:, None] * N + cols[None, :], acc * factor, mask=(rows[:, None] < M) & (cols[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        M, K = a.shape
        N = b.shape[1]
        out = torch.empty((M, N), device=a.device, dtype=a.dtype)
        kernel[(triton.cdiv(M, {tile}), triton.cdiv(N, {tile}))](a, b, out, M, N, K, {factor}, T={tile})
        return out
"""
SIZES = {
    "elementwise": ((16, 64), (128, 128), (512, 512)),
    "reduction": ((16, 64), (64, 256)),
    "softmax": ((16, 64), (64, 256)),
    "norm": ((16, 64), (64, 256)),
    "matmul": ((32, 32), (64, 128), (128, 256)),
}


def task(kind: str, size: tuple[int, int], index: int) -> Task:
    """The index-th candidate of a kind; eight in a row share a module."""
    rows, cols = size
    factor = f"{1.0 + (index // 8) / 64}"
    x = f"torch.randn({rows}, {cols})"
    module, body = {
        "elementwise": (
            ("x", "torch.relu(x) * torch.sigmoid(x)", x),
            ELEMENTWISE.format(factor=factor, block=min(1024, rows * cols)),
        ),
        "reduction": (
            ("x", "torch.sum(x, dim=1)", x),
            ROWS.format(body=REDUCTION, factor=factor, other="0.0", shape="x.shape[0]"),
        ),
        "softmax": (
            ("x", "torch.softmax(x, dim=1)", x),
            ROWS.format(body=SOFTMAX, factor=factor, other='-float("inf")', shape="x.shape"),
        ),
        "norm": (
            ("x", f"F.layer_norm(x, ({cols},))", x),
            ROWS.format(body=NORM, factor=factor, other="0.0", shape="x.shape"),
        ),
        "matmul": (
            ("a, b", "torch.matmul(a, b)", f"{x}, torch.randn({cols}, {rows})"),
            MATMUL.format(factor=factor, tile=32),
        ),
    }[kind]
    args, expr, inputs = module
    source = f"{TORCH}\n\n" + MODULE.format(
        args=args, expr=expr, inputs=inputs, factor=factor
    )
    return Task(source, f"{HEAD}VARIANT = {index}\n\n\n{body}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--kinds", default=",".join(SIZES))
    options = parser.parse_args()
    with Verifier(workers=options.workers) as verifier:
        start = time.perf_counter()
        first = verifier.verify([task("softmax", (16, 64), 10_000)])[0]
        print(
            f"warm start {time.perf_counter() - start:.2f} s; isolation {verifier.isolation()}; correct {first.correct}"
        )
        print(f"{'kind':12} {'size':>10} {'a second':>9} {'correct':>8}   ms in: reference record replay judge")
        for kind in options.kinds.split(","):
            for size in SIZES[kind]:
                tasks = [task(kind, size, i) for i in range(options.count)]
                start = time.perf_counter()
                verdicts = verifier.verify(tasks)
                wall = time.perf_counter() - start
                mean = {
                    k: 1e3 * sum(v.stages_s.get(k, 0.0) for v in verdicts) / len(verdicts)
                    for k in ("reference", "record", "replay", "judge")
                }
                print(
                    f"{kind:12} {'x'.join(map(str, size)):>10} {len(tasks) / wall:9.1f}"
                    f" {sum(v.correct for v in verdicts):5}/{len(tasks)}"
                    f"   {' '.join(f'{k} {v:.1f}' for k, v in mean.items())}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
