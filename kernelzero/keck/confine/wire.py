"""How a sandboxed process and the trusted one talk: length-capped frames of one JSON header and raw bytes.

Nothing is unpickled. A tensor is a descriptor in the header ({dtype, shape, stride, at, size}) and its elements, dense
and in row-major order, in the bytes; whoever reads one checks it against the bytes there are. Imports no torch: the
judge reads tensors as numpy arrays.
"""

import json
import math
import socket
import struct

ITEM_SIZE = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}
LENGTH = struct.Struct("<QI")
MAX_RANK = 16


class WireError(Exception):
    """The other side sent something that is no frame of ours, or more than it may."""


class Closed(Exception):
    """The other side is gone."""


def pack(header: dict, blob: bytes | bytearray = b"") -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return LENGTH.pack(len(text) + len(blob), len(text)) + text + bytes(blob)


def send(sock: socket.socket, header: dict, blob: bytes | bytearray = b"") -> None:
    sock.sendall(pack(header, blob))


def read_exactly(sock: socket.socket, count: int) -> bytearray:
    data = bytearray(count)
    view, got = memoryview(data), 0
    while got < count:
        step = sock.recv_into(view[got:], min(count - got, 1 << 20))
        if step == 0:
            raise Closed
        got += step
    return data


def receive(sock: socket.socket, cap: int, header_cap: int | None = None) -> tuple[dict, memoryview]:
    """One frame: its header (a dict) and its bytes. Raises Closed, WireError, or what the socket raises (a timeout)."""
    total, text_size = LENGTH.unpack(read_exactly(sock, LENGTH.size))
    if total > cap or text_size > total or (header_cap is not None and text_size > header_cap):
        raise WireError(f"a message of {total} bytes is over the limit of {cap}")
    data = read_exactly(sock, total)
    try:
        header = json.loads(data[:text_size].decode())
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a message: {error}") from None
    if not isinstance(header, dict):
        raise WireError("not a message: no object")
    return header, memoryview(data)[text_size:]


def check_tensor(spec, available: int) -> dict:
    """The descriptor, if it describes a tensor that lies within `available` bytes; WireError otherwise."""
    try:
        dtype, shape, at, size = spec["dtype"], spec["shape"], spec["at"], spec["size"]
    except (TypeError, KeyError):
        raise WireError("a tensor without a descriptor") from None
    whole = (
        isinstance(shape, list) and len(shape) <= MAX_RANK and all(type(n) is int and 0 <= n < 1 << 40 for n in shape)
    )
    if not whole or dtype not in ITEM_SIZE or type(at) is not int or type(size) is not int:
        raise WireError("a tensor with a wrong descriptor")
    if at < 0 or size != math.prod(shape) * ITEM_SIZE[dtype] or at + size > available:
        raise WireError("a tensor that lies outside its message")
    return spec


def to_numpy(spec: dict, blob: memoryview):
    """The elements as a numpy array (bfloat16 and 8-bit floats as their bits). The descriptor is checked."""
    import numpy as np

    check_tensor(spec, len(blob))
    name = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}.get(spec["dtype"], spec["dtype"])
    flat = np.frombuffer(blob, dtype=np.dtype(name), count=math.prod(spec["shape"]), offset=spec["at"])
    return flat.reshape(spec["shape"])


def to_torch(spec: dict, blob: memoryview):
    """The tensor, with the strides of the descriptor where it names some. The descriptor is checked."""
    import torch

    check_tensor(spec, len(blob))
    dtype, shape = getattr(torch, spec["dtype"]), spec["shape"]
    if math.prod(shape) == 0:
        dense = torch.empty(shape, dtype=dtype)
    else:
        chunk = bytearray(blob[spec["at"] : spec["at"] + spec["size"]])
        dense = torch.frombuffer(chunk, dtype=dtype).reshape(shape)
    stride = spec.get("stride")
    if stride is None or tuple(stride) == dense.stride() or len(stride) != len(shape):
        return dense.clone()  # memory of torch's own: aligned as on a device
    strided = torch.empty_strided(shape, stride, dtype=dtype)
    return strided.copy_(dense)


class Packer:
    """Collects tensors into one blob; `add` returns the descriptor. Runs where torch is."""

    def __init__(self):
        self.blob = bytearray()

    def add(self, tensor) -> dict:
        import torch

        dense = tensor.detach().contiguous()
        data = dense.reshape(-1).view(torch.uint8).numpy().tobytes() if dense.numel() else b""
        spec = {
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "stride": list(tensor.stride()),
            "at": len(self.blob),
            "size": len(data),
        }
        if any(s == 0 and n > 1 for s, n in zip(tensor.stride(), tensor.shape, strict=True)):
            spec["stride"] = list(dense.stride())  # an expanded tensor shares elements; it is passed on dense
        self.blob += data
        return spec


class NotData(Exception):
    """A value that is neither a tensor nor plain data."""


def encode_nest(value, leaf):
    """Lists, tuples, dicts, scalars and tensors as JSON; `leaf(tensor)` says what stands for a tensor."""
    import torch

    if isinstance(value, torch.Tensor):
        return {"t": leaf(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"s": value}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [encode_nest(item, leaf) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[str(key), encode_nest(item, leaf)] for key, item in value.items()]}
    if isinstance(value, (torch.dtype, torch.device, torch.Size)):
        return {"torch": [type(value).__name__, str(value).removeprefix("torch.")]}
    raise NotData(f"a value of type {type(value).__name__}")


def map_nest(node, leaf):
    """The same nest with `leaf(...)` in place of what stood for each tensor."""
    ((kind, body),) = node.items()
    if kind == "t":
        return {"t": leaf(body)}
    if kind in ("list", "tuple"):
        return {kind: [map_nest(item, leaf) for item in body]}
    if kind == "dict":
        return {kind: [[key, map_nest(item, leaf)] for key, item in body]}
    return node


def leaves(node) -> list:
    """What stands for the tensors of a nest, in order."""
    found: list = []
    map_nest(node, found.append)
    return found


def decode_nest(node, leaf):
    """The inverse of `encode_nest`; raises WireError on anything else."""
    if not isinstance(node, dict) or len(node) != 1:
        raise WireError("not a nest of values")
    ((kind, body),) = node.items()
    if kind == "t":
        return leaf(body)
    if kind == "s" and (body is None or isinstance(body, (bool, int, float, str))):
        return body
    if kind in ("list", "tuple") and isinstance(body, list):
        items = [decode_nest(item, leaf) for item in body]
        return items if kind == "list" else tuple(items)
    if kind == "dict" and isinstance(body, list):
        return {key: decode_nest(item, leaf) for key, item in body}
    if kind == "torch" and isinstance(body, list) and body[0] in ("dtype", "device"):
        import torch

        return getattr(torch, body[1]) if body[0] == "dtype" else torch.device(body[1])
    raise WireError("not a nest of values")
