"""The recorder: a dispatch mode that writes down every torch operator, and the launches that the driver hands it.

Every tensor is a number; an entry of the tape says which operator or kernel was called with which tensors and values,
and which tensors came of it. Tensors are fake: they have shapes, strides and a device, and no values.
"""

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from kernelzero.keck.confine import wire
from kernelzero.keck.language import operators

MAX_NODES = 20000
MAX_CONSTANT = 1 << 20


class NeedsValues(Exception):
    """The program asked for a value of a tensor."""


class Unsupported(Exception):
    """Something that the tape cannot hold; the message says what."""


class Subclass(Exception):
    """The program made a tensor subclass."""


class Recorder(TorchDispatchMode):
    """nodes: the tape, in order. section: 'init' while the model is built, then 'forward'."""

    def __init__(self):
        super().__init__()
        self.nodes: list[dict] = []
        self.section = "init"
        self.ids: dict[int, int] = {}
        self.alive: list = []  # keeps every tensor, so that no id() is used twice
        self.needs_values = ""
        self.subclass = ""
        self.packer = wire.Packer()
        self.count = 0

    def new_id(self, tensor) -> int:
        self.ids[id(tensor)] = self.count
        self.alive.append(tensor)
        self.count += 1
        return self.count - 1

    def add(self, node: dict) -> None:
        if len(self.nodes) >= MAX_NODES:
            raise Unsupported(f"more than {MAX_NODES} operators and launches")
        node["section"] = self.section
        self.nodes.append(node)

    def tensor(self, tensor) -> int:
        """The number of a tensor. A real one is a constant of the candidate's: its values go on the tape."""
        known = self.ids.get(id(tensor))
        if known is not None:
            return known
        if isinstance(tensor, FakeTensor) or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise Unsupported(f"a {type(tensor).__name__} that no recorded operator made")
        if tensor.numel() * tensor.element_size() > MAX_CONSTANT:
            raise Unsupported("a constant of over a megabyte")
        number = self.new_id(tensor)
        from torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes():
            self.add({"constant": self.packer.add(tensor), "out": [number], "storage": [self.storage(tensor)]})
        return number

    @staticmethod
    def storage(tensor) -> int:
        return tensor.untyped_storage()._cdata

    def encode(self, value):
        if isinstance(value, torch.Tensor):
            return {"t": self.tensor(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (list, tuple)):
            return [self.encode(item) for item in value]
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return {"torch": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": value.type}
        raise Unsupported(f"an operator argument of type {type(value).__name__}")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        try:
            node = {
                "op": [func._schema.name, func._overloadname],
                "args": self.encode(list(args)),
                "kwargs": {key: self.encode(value) for key, value in kwargs.items()},
            }
            reads = [
                self.storage(t) for t in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)
            ]
            out = func(*args, **kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException):
            self.needs_values = self.needs_values or f"torch.{operators.name_of(func)}".replace(
                "_local_scalar_dense", "Tensor.item"
            )
            raise NeedsValues(self.needs_values) from None
        outs = [t for t in torch.utils._pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
        if not outs and not func._schema.is_mutable:
            return out
        node["out"] = [self.ids[id(t)] if id(t) in self.ids else self.new_id(t) for t in outs]
        node["reads"], node["storage"] = reads, [self.storage(t) for t in outs]
        node["random"] = torch.Tag.nondeterministic_seeded in func.tags
        self.add(node)
        return out


def needed_init(nodes: list[dict], wanted: set[int], weights: set[int]) -> tuple[list[dict], str]:
    """The entries of __init__ that forward depends on, and '' or what makes them stale.

    wanted: numbers that forward reads. weights: storages of parameters and shared buffers: the reference's values
    replace theirs after __init__, so what was computed from them there (or drawn at random) is not what a checkpoint
    gives.
    """
    init = [n for n in nodes if n["section"] == "init"]
    if not wanted & {number for n in init for number in n["out"]}:
        return [], ""
    stale = set(weights)
    keep = []
    for node in init:
        if node.get("random") or stale & set(node.get("reads", ())):
            stale |= set(node["storage"]) | (set(node.get("reads", ())[:1]) if node["op"][0].endswith("_") else set())
        else:
            keep.append(node)
    bad = wanted & {number for n in init for number, s in zip(n["out"], n["storage"], strict=True) if s in stale}
    if bad:
        return [], "forward uses a tensor that __init__ computed from the weights or drew at random"
    return keep, ""
