"""Inputs of special values, as `judge.cases.VALUES` names them: what becomes of each floating-point input. Values only; imports torch."""

import torch


def _signed_zeros(x):
    signs = torch.ones(x.numel(), dtype=x.dtype)
    signs[1::2] = -1.0
    return (torch.zeros_like(signs) * signs).reshape(x.shape)


def _infinite(x):
    flat = x.clone().reshape(-1)
    if flat.numel() > 2:
        flat[flat.numel() // 3] = torch.inf
        flat[flat.numel() - 1] = -torch.inf
    return flat.reshape(x.shape)


MAKE = {
    "large": lambda x: x * 100.0,
    "tiny": lambda x: x * 1e-3,
    "offset": lambda x: x + 100.0,
    "negative": lambda x: (x.abs() + 1.0) * -1e4,
    "positive": lambda x: (x.abs() + 1.0) * 1e4,
    "equal": lambda x: x[..., :1].expand(x.shape).clone() if x.dim() else x,
    "zeros": _signed_zeros,
    "sorted": lambda x: x.reshape(-1).sort().values.reshape(x.shape),
    "infinite": _infinite,
}


def special(inputs: list, values: str) -> list:
    """The inputs with every floating-point tensor changed, in nests too; strides are kept."""

    def change(x):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point() or not x.numel():
            return x
        made = MAKE[values](x)
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype).copy_(made) if made.stride() != x.stride() and 0 not in x.stride() else made

    return torch.utils._pytree.tree_map(change, inputs)


def last_bit_off(inputs: list) -> list:
    """Every finite floating-point element moved to a neighbour, up or down at random (the caller seeds)."""

    def change(x):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        up = torch.rand(x.shape) < 0.5
        towards = torch.where(up, torch.tensor(torch.inf, dtype=x.dtype), torch.tensor(-torch.inf, dtype=x.dtype))
        return torch.where(torch.isfinite(x), torch.nextafter(x, towards), x)

    return torch.utils._pytree.tree_map(change, inputs)
