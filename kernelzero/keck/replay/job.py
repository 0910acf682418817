"""The replay: runs a tape on inputs and weights that came as data, kernels by the interpreter.

Confined like the others, since an interpreted kernel is Python; the candidate's host code is not here, nor is any
output of the reference. Before a kernel runs, its source is held to Triton's language and compiled by the real front
end, with the arguments that the tape gives it. Fresh allocations are filled with NaN (integers with a pattern) before
anything can read them.
"""

import linecache
import math
import traceback

import torch
import triton
from triton.runtime.jit import JITFunction

from kernelzero.keck.confine import wire
from kernelzero.keck.judge.reasons import Reason
from kernelzero.keck.language import kernels
from kernelzero.keck.language.operators import ALLOCATIONS, STRICT, is_free, name_of
from kernelzero.keck.replay import interpret
from kernelzero.keck.replay.memory import DeviceLimit, OutOfBounds
from kernelzero.keck.replay.races import Race


class Failure(Exception):
    def __init__(self, reason: Reason, detail: str):
        super().__init__(detail)
        self.reason, self.detail = reason, detail


class Program:
    """The kernels of a tape, built from their sources: for the front end and for the interpreter."""

    def __init__(self, entries: list[dict]):
        self.jits: list[JITFunction] = []
        self.functions: list = []
        self.accepted: set[tuple] = set()
        for index, entry in enumerate(entries):
            self.jits.append(self._jit(index, entry))
        for entry, jit in zip(entries, self.jits, strict=True):
            values = {name: kernels.decode_value(node, self.jits) for name, node in entry["globals"].items()}
            jit.fn.__globals__.update(values)
            kernels.check(entry["source"], values)
        self.namespaces = [
            {name: kernels.decode_value(node, self.jits) for name, node in e["globals"].items()} for e in entries
        ]
        self.functions = [
            interpret.function_of(e["source"], e["name"], n) for e, n in zip(entries, self.namespaces, strict=True)
        ]
        by_jit = dict(zip(map(id, self.jits), self.functions, strict=True))
        for function, namespace in zip(self.functions, self.namespaces, strict=True):
            function.__globals__.update({n: by_jit[id(v)] for n, v in namespace.items() if id(v) in by_jit})

    def _jit(self, index: int, entry: dict) -> JITFunction:
        """A JITFunction of the real package. The source is executed only as a definition: checked first with what it
        names.
        """
        namespace = {name: _placeholder(node) for name, node in entry["globals"].items()}
        if kernels.check(entry["source"], namespace) != entry["name"]:
            raise kernels.NotTriton("another name than its own")
        filename = f"<kernel {index}>"
        linecache.cache[filename] = (len(entry["source"]), None, entry["source"].splitlines(keepends=True), filename)
        scope = {"__name__": f"kernel_{index}", "__builtins__": kernels.safe_builtins(), **namespace}
        exec(compile(entry["source"], filename, "exec"), scope)
        return triton.jit(scope[entry["name"]])

    def accept(self, index: int, arguments: dict, options: dict) -> None:
        """The real front end takes this kernel with these arguments, or Failure."""
        jit = self.jits[index]
        key = (
            index,
            str(
                [
                    (n, v.dtype, v.data_ptr() % 16) if isinstance(v, torch.Tensor) else (n, repr(v))
                    for n, v in arguments.items()
                ]
            ),
            str(options),
        )
        if key in self.accepted:
            return
        try:
            jit.run(*arguments.values(), grid=(1,), warmup=True, **options)
        except Exception as error:
            raise Failure(Reason.COMPILE_ERROR, f"{jit.fn.__name__}: {_first_lines(error)}") from None
        self.accepted.add(key)

    def launch(self, index: int, arguments: dict, grid: list[int]) -> set[int]:
        jit = self.jits[index]
        ranges = sorted({_extent(v) for v in arguments.values() if isinstance(v, torch.Tensor)})
        constexprs = {p.name for p in jit.params if p.is_constexpr}
        try:
            interpret.launch(self.functions[index], jit.arg_names, constexprs, arguments, grid, ranges)
        except OutOfBounds as error:
            raise Failure(
                Reason.OUT_OF_BOUNDS, f"{jit.fn.__name__}: {error} lie outside the tensors it was given"
            ) from None
        except Race as error:
            line = _line(error, jit.fn.__name__)
            raise Failure(Reason.RACE, f"{jit.fn.__name__}{line}: {error}") from None
        except (DeviceLimit, MemoryError):
            raise
        except Exception as error:
            raise Failure(Reason.KERNEL_ERROR, f"{jit.fn.__name__}: {_first_lines(error)}") from None
        return interpret.MEMORY.written


def _placeholder(node: dict):
    """What a name stands for while its kernel is only defined; kernels come later."""
    return kernels.decode_value(node, _Any()) if "kernel" in node else kernels.decode_value(node, [])


class _Any:
    def __getitem__(self, index):
        return None


def _line(error: BaseException, name: str) -> str:
    """Where in the kernel's source an access stood that was refused."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == f"<kernel {name}>"]
    return f", line {lines[-1]} of the kernel" if lines else ""


def _first_lines(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}"


def _extent(tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def poison(tensor) -> None:
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.fill_(math.nan)
    elif tensor.dtype is not torch.bool:
        tensor.view(torch.uint8).fill_(0x5A) if tensor.dim() and tensor.is_contiguous() else tensor.fill_(0x5A)
    else:
        tensor.fill_(True)


class Run:
    """One execution of the tape."""

    def __init__(self, tape: dict, program: Program, policy: str, constants: memoryview):
        self.tape, self.program, self.policy, self.constants = tape, program, policy, constants
        self.values: dict[int, torch.Tensor] = {}
        self.launches = self.torch_launches = self.torch_bytes = 0
        self.by_kernel: set[int] = set()  # storages that hold something a kernel stored

    def decode(self, node):
        if isinstance(node, dict):
            ((kind, body),) = node.items()
            if kind == "t":
                return self.values[body]
            if kind == "torch":
                return getattr(torch, body)
            return torch.device("cpu")
        return [self.decode(item) for item in node] if isinstance(node, list) else node

    def operator(self, node: dict, free: bool) -> None:
        name, overload = node["op"]
        space, _, base = name.partition("::")
        if space != "aten" or base.startswith("__"):
            raise Failure(Reason.UNSUPPORTED, f"operator {name}")
        if not free and self.policy == "strict" and base not in STRICT:
            raise Failure(Reason.TORCH_OPERATOR, f"forward computes with torch: {name}")
        func = getattr(getattr(torch.ops.aten, base), overload or "default")
        kwargs = {k: v for k, v in node["kwargs"].items() if k != "pin_memory"}
        args = self.decode(node["args"])
        try:
            out = func(*args, **{k: self.decode(v) for k, v in kwargs.items()})
        except Exception as error:
            raise Failure(Reason.OPERATOR_ERROR, f"{name}: {_first_lines(error)}") from None
        outs = [t for t in torch.utils._pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
        inputs = [t for t in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if base in ALLOCATIONS:
            for tensor in outs:
                poison(tensor)
        self.values.update(zip(node["out"], outs, strict=True))
        if any(_extent(t)[0] in self.by_kernel for t in inputs):
            self.by_kernel |= {_extent(t)[0] for t in outs}
        if not free and not is_free(func) and name_of(func) != "detach":
            self.torch_launches += 1
            self.torch_bytes += sum(t.numel() * t.element_size() for t in (*inputs, *outs))

    def kernel(self, node: dict) -> None:
        arguments = {
            name: self.values[value["t"]] if "t" in value else kernels.decode_value(value, self.program.jits)
            for name, value in node["arguments"].items()
        }
        for name, value in arguments.items():
            if isinstance(value, torch.Tensor) and (value.dtype is torch.bfloat16 or "float8" in str(value.dtype)):
                raise DeviceLimit(
                    f"argument {name} is {str(value.dtype).removeprefix('torch.')}, "
                    "which is wrong in Triton's interpreter"
                )
        if 0 in node["grid"]:
            return
        self.program.accept(node["launch"], arguments, node["options"])
        self.by_kernel |= self.program.launch(node["launch"], arguments, node["grid"])
        self.launches += 1

    def step(self, node: dict, free: bool) -> None:
        if "launch" in node:
            self.kernel(node)
        elif "constant" in node:
            self.values[node["out"][0]] = wire.to_torch(node["constant"], self.constants)
        else:
            self.operator(node, free)

    def run(self, inputs: list, weights: dict):
        for node in self.tape["init"]:
            self.step(node, True)
        for source in self.tape["sources"]:
            if "input" in source:
                self.values[source["out"]] = inputs[source["input"]]
            elif "weight" in source:
                self.values[source["out"]] = weights[source["weight"]]
            else:
                self.values[source["out"]] = self.values[source["move"]]
        for node in self.tape["forward"]:
            self.step(node, False)


def case(sock, request: dict, index: int, program: Program, tape: dict, blobs: dict) -> None:
    spec = request["cases"][index]
    data = blobs["cases"][spec["at"] : spec["at"] + spec["size"]]
    inputs: list = []
    wire.decode_nest(spec["inputs"], lambda s: inputs.append(wire.to_torch(s, data)))
    weights = {name: wire.to_torch(s, data) for name, _, s in spec["parameters"]}
    originals = [t.clone() for t in inputs], {n: t.clone() for n, t in weights.items()}
    memory = interpret.MEMORY
    memory.loaded = memory.stored = 0
    run = Run(tape, program, request["policy"], blobs["tape"])
    run.run(inputs, weights)
    packer = wire.Packer()
    untouched = []

    def leaf(number):
        tensor = run.values[number]
        if tensor.numel() and _extent(tensor)[0] not in run.by_kernel:
            untouched.append(number)
        return packer.add(tensor)

    outputs = wire.map_nest(tape["output"], leaf)
    changed = [f"input {i}" for i, (a, b) in enumerate(zip(inputs, originals[0], strict=True)) if _differs(a, b)]
    changed += [name for name, t in weights.items() if _differs(t, originals[1][name])]
    wire.send(
        sock,
        {
            "case": index,
            "outputs": outputs,
            "launches": run.launches,
            "torch_launches": run.torch_launches,
            "bytes": memory.loaded + memory.stored,
            "torch_bytes": run.torch_bytes,
            "changed": changed,
            "untouched": len(untouched),
        },
        packer.blob,
    )


def _differs(left, right) -> bool:
    if left.numel() == 0:
        return False
    return not torch.equal(
        left.contiguous().reshape(-1).view(torch.uint8), right.contiguous().reshape(-1).view(torch.uint8)
    )


def run(sock, header: dict, blob) -> None:
    """One frame a case, in order; a failure is the last frame."""
    split = header["tape_bytes"]
    blobs = {"tape": blob[:split], "cases": blob[split:]}
    index = 0
    try:
        with torch.no_grad():
            program = Program(header["tape"]["kernels"])
            for index in range(len(header["cases"])):
                interpret.RACES.watching = index == 0  # addresses do not depend on values, but for gathers
                case(sock, header, index, program, header["tape"], blobs)
    except Failure as failure:
        wire.send(sock, {"failed": failure.reason, "case": index, "detail": failure.detail})
    except kernels.NotTriton as error:
        wire.send(sock, {"failed": Reason.KERNEL_LANGUAGE, "case": index, "detail": f"a kernel uses {error}"})
    except DeviceLimit as error:
        wire.send(sock, {"limit": str(error), "case": index})
    except MemoryError:
        wire.send(sock, {"failed": Reason.OUT_OF_MEMORY, "case": index, "detail": "the replay runs past its memory"})
    except (wire.Closed, OSError):
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, wire.WireError) as error:
        detail = f"the tape does not hold together: {type(error).__name__}: {error}"[:300]
        wire.send(sock, {"failed": Reason.BAD_TAPE, "case": index, "detail": detail})
