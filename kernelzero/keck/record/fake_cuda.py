"""A CUDA device for fake tensors on a build of torch that has none; used in the recording process only.

Some methods of torch.Tensor (indexing, `contiguous`, `to`) set the CUDA device in C++ before they dispatch, which a CPU
build refuses even for a fake tensor. Here they go straight to the operator that they would end in. The questions that
host code asks of `torch.cuda` get the answers of the card that the tape is written for; nothing of it runs anything.
"""

import contextlib
import operator
import types

import torch
from torch._subclasses.fake_tensor import FakeTensor

PROPERTIES = types.SimpleNamespace(
    name="NVIDIA H200",
    major=9,
    minor=0,
    multi_processor_count=132,
    total_memory=150 << 30,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    L2_cache_size=62914560,
)
METHODS = (
    "_make_subclass",
    "_make_wrapper_subclass",
    "as_subclass",
    "__getitem__",
    "__setitem__",
    "contiguous",
    "to",
    "cuda",
    "new_tensor",
    "tolist",
    "numpy",
    "__array__",
    "__dlpack__",
)
VALUES = ("tolist", "numpy", "__array__", "__dlpack__")
aten = torch.ops.aten


def originals() -> dict:
    return {name: vars(torch.Tensor).get(name) for name in METHODS}


def restore(saved: dict) -> None:
    for name, method in saved.items():
        if method is None:
            delattr(torch.Tensor, name)
        else:
            setattr(torch.Tensor, name, method)


def index(self, key):
    """Basic indexing as views; whatever is left to tensors of indices as one `aten.index`."""
    key = key if isinstance(key, tuple) else (key,)
    given = sum(1 for item in key if item is not None and item is not Ellipsis)
    out, dim, gathered = self, 0, {}
    for item in key:
        if item is None:
            out, dim = out.unsqueeze(dim), dim + 1
        elif item is Ellipsis:
            dim += self.dim() - given
        elif isinstance(item, slice):
            if (item.start, item.stop, item.step) != (None, None, None):
                out = aten.slice.Tensor(out, dim, item.start, item.stop, 1 if item.step is None else item.step)
            dim += 1
        elif isinstance(item, (torch.Tensor, list, bool)):
            gathered[dim] = item if isinstance(item, torch.Tensor) else torch.tensor(item, device=self.device)
            dim += 1
        else:
            out = out.select(dim, operator.index(item))
    if gathered:
        return aten.index.Tensor(out, [gathered.get(d) for d in range(max(gathered) + 1)])
    return aten.alias.default(self) if out is self else out


def assign(self, key, value) -> None:
    items = key if isinstance(key, tuple) else (key,)
    if any(isinstance(item, (torch.Tensor, list, bool)) for item in items):
        value = (
            value if isinstance(value, torch.Tensor) else torch.full((), value, dtype=self.dtype, device=self.device)
        )
        aten.index_put_.default(self, [item if isinstance(item, torch.Tensor) else None for item in items], value)
    elif isinstance(value, torch.Tensor):
        index(self, key).copy_(value)
    else:
        index(self, key).fill_(value)


def contiguous(self, memory_format=torch.contiguous_format):
    if self.is_contiguous(memory_format=memory_format):
        return self
    return aten.clone.default(self, memory_format=memory_format)


def to(self, *args, **kwargs):
    if args and isinstance(args[0], torch.Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    copy = kwargs.pop("copy", False)
    device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    same = (device is None or device.type == self.device.type) and (dtype is None or dtype == self.dtype)
    if same and not copy and (memory_format is None or self.is_contiguous(memory_format=memory_format)):
        return self
    return aten._to_copy.default(
        self, dtype=dtype, device=device, memory_format=memory_format, non_blocking=non_blocking
    )


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    return torch.tensor(data, dtype=dtype or self.dtype, device=device or self.device)


def install(asked, subclass) -> None:
    """`asked(name)` and `subclass(name)` raise: host code wants values that are not there, or makes a tensor of its own
    kind.
    """
    for name in ("_make_subclass", "_make_wrapper_subclass"):
        setattr(torch.Tensor, name, staticmethod(_plain_only(getattr(torch.Tensor, name), subclass)))
    ours = {
        "__getitem__": index,
        "__setitem__": assign,
        "contiguous": contiguous,
        "to": to,
        "new_tensor": new_tensor,
        "cuda": lambda self, *args, **kwargs: to(self, "cuda"),
    }
    ours["as_subclass"] = lambda self, kind: subclass(kind.__name__)
    ours |= {name: (lambda self, *args, _name=name, **kwargs: asked(f"Tensor.{_name}")) for name in VALUES}
    for name, method in ours.items():
        setattr(torch.Tensor, name, _for_fakes(getattr(torch.Tensor, name), method))
    device = contextlib.nullcontext
    stream = types.SimpleNamespace(cuda_stream=0, synchronize=lambda: None)
    answers = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "synchronize": lambda device=None: None,
        "get_device_properties": lambda device=None: PROPERTIES,
        "get_device_capability": lambda device=None: (9, 0),
        "get_device_name": lambda device=None: PROPERTIES.name,
        "device": device,
        "device_of": device,
        "current_stream": lambda device=None: stream,
        "empty_cache": lambda: None,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)


def _plain_only(original, subclass):
    def make(kind, *args, **kwargs):
        if kind in (torch.Tensor, torch.nn.Parameter, FakeTensor) or (kind.__module__ or "").startswith("torch."):
            return original(kind, *args, **kwargs)
        return subclass(kind.__name__)

    return make


def _for_fakes(original, ours):
    def method(self, *args, **kwargs):
        if isinstance(self, FakeTensor) and (self.device.type == "cuda" or getattr(original, "__name__", "") in VALUES):
            return ours(self, *args, **kwargs)
        return original(self, *args, **kwargs)

    return method
