"""What the zygote does once before it forks: one reference, one recording and one replay of a small kernel, in process.

It pays the lazy imports and first uses (the front end's first compile takes 0.04 s, the fifth 0.006 s) for all
children.
"""

import socket
import sys
import threading

import torch

from kernelzero.keck.confine import wire
from kernelzero.keck.pool.deferred import defer_dynamo
from kernelzero.keck.record import driver, fake_cuda
from kernelzero.keck.record import job as record
from kernelzero.keck.reference import job as reference
from kernelzero.keck.replay import interpret
from kernelzero.keck.replay import job as replay

MODULE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return torch.softmax(torch.relu(self.linear(x)), dim=-1)


def get_inputs():
    return [torch.randn(4, 8)]


def get_init_inputs():
    return []
"""
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, b_ptr, o_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    w = tl.load(w_ptr + cols[:, None] * n + cols[None, :])
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0)
    acc = tl.sum(w * x[None, :], axis=1) + tl.load(b_ptr + cols)
    for i in range(0, 2):
        acc = tl.where(acc > 0, acc, 0.0) + i * eps
    m = tl.exp(acc - tl.max(acc, axis=0))
    tl.store(o_ptr + row * n + cols, m / tl.sum(m, axis=0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.shape[-1]
        grid = lambda meta: (triton.cdiv(x.numel(), n),)
        kernel[grid](x, self.linear.weight, self.linear.bias, out, n, 0.0, BLOCK=triton.next_power_of_2(n))
        return out.view(4, 8)
"""


def _collect(run, header: dict, blob=b"") -> list:
    """Runs a job's function in this process over a socket pair; its frames."""
    ours, theirs = socket.socketpair()
    frames: list = []

    def read() -> None:
        try:
            while True:
                frames.append(wire.receive(ours, 1 << 30))
        except wire.Closed:
            return

    reader = threading.Thread(target=read)
    reader.start()
    run(theirs, header, blob)
    theirs.close()
    reader.join()
    ours.close()
    return frames


def exercise() -> None:
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    defer_dynamo()
    driver.install()
    interpret.prepare()
    kept = JITFunction.run, Autotuner._bench
    methods, cuda = fake_cuda.originals(), dict(vars(torch.cuda))
    for _ in range(2):
        frames = _collect(reference.run, {"source": MODULE, "cases": [[0, 1.0, "drawn"]]})
        answer, data = frames[0]
        assert "failed" not in answer, answer
        request = {
            "source": CANDIDATE,
            "init": answer["init"],
            "inputs": answer["inputs"],
            "shared": [],
            "policy": "strict",
        }
        ((recorded, constants),) = _collect(record.run, request)
        assert "tape" in recorded, recorded
        JITFunction.run, Autotuner._bench = kept
        fake_cuda.restore(methods)
        vars(torch.cuda).update(cuda)
        spec = {"inputs": answer["inputs"], "parameters": answer["parameters"], "at": 0, "size": len(data)}
        frames = _collect(
            replay.run,
            {"tape": recorded["tape"], "tape_bytes": len(constants), "policy": "strict", "cases": [spec]},
            bytes(constants) + bytes(data),
        )
        assert "failed" not in frames[0][0], frames[0][0]
    for name in ("reference", "candidate"):
        sys.modules.pop(name, None)
