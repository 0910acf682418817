"""The reference's process: draws inputs and weights, runs the module in eager and in float64, counts what eager does.

Runs the module's own code (it may be the Proposer's), so it is one of the confined jobs; what leaves is data. One case
is one seed and one scale: the seed is set before the inputs are drawn and again before the model is built, so a case
does not depend on the cases before it. Floating-point inputs are multiplied by the scale.
"""

import copy
import linecache
import sys
import traceback
import types

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelzero.keck.confine import wire
from kernelzero.keck.judge.reasons import Reason
from kernelzero.keck.language.operators import is_free
from kernelzero.keck.reference.values import last_bit_off, special


class Failure(Exception):
    def __init__(self, reason: Reason, detail: str):
        super().__init__(detail)
        self.reason, self.detail = reason, detail


def load(source: str, name: str) -> dict:
    """The namespace of a source, run as a module of that name; `inspect` finds its lines."""
    module = types.ModuleType(name)
    filename = f"<{name}>"
    module.__file__ = filename
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    sys.modules[name] = module
    exec(compile(source, filename, "exec"), module.__dict__)
    return module.__dict__


def explain(error: BaseException, name: str) -> str:
    """One line: type, message and the line of the source that raised it."""
    line = next(
        (f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if f.filename == f"<{name}>"), None
    )
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" + (f" (line {line})" if line else "")


class Count(TorchDispatchMode):
    """Launches and bytes operator by operator: an operator reads its tensor arguments and writes its results; views are
    free.
    """

    def __init__(self):
        super().__init__()
        self.launches = self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not is_free(func):
            tensors = [t for t in torch.utils._pytree.tree_leaves((args, kwargs, out)) if isinstance(t, torch.Tensor)]
            self.launches += 1
            self.bytes += sum(t.numel() * t.element_size() for t in tensors)
        return out


def to_double(value):
    return torch.utils._pytree.tree_map(
        lambda t: t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t, value
    )


def clone(value):
    return torch.utils._pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, value)


def same_bits(left, right) -> bool:
    a, b = torch.utils._pytree.tree_leaves(left), torch.utils._pytree.tree_leaves(right)
    return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))


def _same(x, y) -> bool:
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):
        return x == y
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    return x.numel() == 0 or torch.equal(
        x.contiguous().reshape(-1).view(torch.uint8), y.contiguous().reshape(-1).view(torch.uint8)
    )


def draw(namespace: dict, seed: int, scale: float):
    torch.manual_seed(seed)
    inputs = namespace["get_inputs"]()
    if not isinstance(inputs, (list, tuple)):
        raise Failure(Reason.FORWARD_ARGUMENTS, "get_inputs does not return a list")
    scaled = [
        x * scale if isinstance(x, torch.Tensor) and x.is_floating_point() and scale != 1.0 else x for x in inputs
    ]
    torch.manual_seed(seed)
    init = namespace["get_init_inputs"]()
    return scaled, list(init)


def call64(model, inputs):
    """The oracle: the same module with float64 weights, inputs and default dtype; None where it cannot run so."""
    torch.set_default_dtype(torch.float64)
    try:
        return copy.deepcopy(model).double()(*to_double(clone(inputs)))
    except Exception:
        return None
    finally:
        torch.set_default_dtype(torch.float32)


def moved(model, inputs, out64, seed: int) -> list | None:
    """How far each output of the oracle moves when every input is off by its last bit: what any order of rounding may cost there."""
    if out64 is None:
        return None
    torch.manual_seed(seed)
    other = call64(model, last_bit_off(inputs))
    if other is None:
        return None
    pairs = zip(torch.utils._pytree.tree_leaves(out64), torch.utils._pytree.tree_leaves(other), strict=True)
    return [_largest((a - b).abs()) if isinstance(a, torch.Tensor) and a.is_floating_point() else 0.0 for a, b in pairs if isinstance(a, torch.Tensor)]


def _largest(difference) -> float:
    finite = difference[torch.isfinite(difference)]
    return float(finite.max()) if finite.numel() else 0.0


def run_case(namespace: dict, seed: int, scale: float, values: str, count: bool) -> tuple[dict, bytes]:
    packer = wire.Packer()
    inputs, init = draw(namespace, seed, scale)
    if values != "drawn":
        inputs = special(inputs, values)
    torch.manual_seed(seed)
    model = namespace["Model"](*init)
    model.eval()
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    names = set(dict(model.named_parameters()))
    persistent = set(model.state_dict())
    header = {
        "seed": seed,
        "scale": scale,
        "values": values,
        "inputs": wire.encode_nest(list(inputs), packer.add),
        "init": wire.encode_nest(init, packer.add),
        "parameters": [[name, _kind(name, names, persistent), packer.add(t)] for name, t in state.items()],
    }
    first, counter = clone(inputs), Count()
    torch.manual_seed(seed)
    if count:
        with counter:
            out = model(*first)
    else:
        out = model(*first)
    header["outputs"] = wire.encode_nest(out, lambda t: packer.add(_plain(t)))
    header["inputs_changed"] = not same_bits(first, inputs)
    torch.manual_seed(seed)
    header["repeat_equal"] = same_bits(model(*clone(inputs)), out)
    torch.manual_seed(seed)
    out64 = call64(model, inputs)
    header["outputs64"] = None if out64 is None else wire.encode_nest(out64, lambda t: packer.add(_plain(t)))
    header["moved"] = moved(model, inputs, out64, seed) if values != "drawn" else None
    header["launches"], header["bytes"] = counter.launches, counter.bytes
    return header, packer.blob


def _kind(name: str, parameters: set, persistent: set) -> str:
    return "parameter" if name in parameters else "buffer" if name in persistent else "temporary"


def _plain(tensor):
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout != torch.strided:
        raise Failure(Reason.OUTPUT_TYPE, f"an output is a {type(tensor).__name__}, no plain tensor")
    return tensor


def run(sock, header: dict, blob) -> None:
    """Answers with one frame a case, or with one that says why not."""
    name = "reference"
    try:
        with torch.no_grad():
            namespace = load(header["source"], name)
            for wanted in ("Model", "get_inputs", "get_init_inputs"):
                if not callable(namespace.get(wanted)):
                    raise Failure(Reason.UNDEFINED_NAME, f"the module defines no {wanted}")
            for index, (seed, scale, values) in enumerate(header["cases"]):
                try:
                    answer, data = run_case(namespace, seed, scale, values, count=index == 0)
                except (RuntimeError, ValueError, IndexError, AssertionError):
                    if values == "drawn":
                        raise
                    answer, data = {"without": values}, b""  # the module does not take such inputs
                wire.send(sock, answer, data)
    except MemoryError:
        wire.send(sock, {"failed": Reason.OUT_OF_MEMORY, "detail": "the module runs past its memory"})
    except Failure as failure:
        wire.send(sock, {"failed": failure.reason, "detail": failure.detail})
    except wire.NotData as error:
        wire.send(sock, {"failed": Reason.OUTPUT_TYPE, "detail": str(error)})
    except (wire.Closed, OSError):
        raise
    except SyntaxError as error:
        wire.send(sock, {"failed": Reason.SYNTAX_ERROR, "detail": explain(error, name)})
    except Exception as error:
        reason = Reason.OUT_OF_MEMORY if "can't allocate memory" in str(error) else Reason.FORWARD_ERROR
        wire.send(sock, {"failed": reason, "detail": explain(error, name)})
