"""Evaluates kernel lines on numpy arrays: decides which chains make sense and which planted mistakes can be seen.

It is a filter for the generator, fast enough to look at every chain (about 0.2 ms), and no verifier: whether a kernel
is right is for Triton's interpreter to say (tests/corpus). Lanes beyond the row's end are part of the arrays, as in a
kernel, so a missing mask shows. Products are computed here by numpy from the name of the mistake, not from the
kernel's lines.
"""

from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from kernelzero.corpus.grammar import Use
from kernelzero.corpus.kernels import _AFFINE, Part
from kernelzero.corpus.operators import Kind

ROWS = 8
ROUNDING = 4e-6  # of the spread: what float32 may cost a chain; verifiers allow about 2e-5
VISIBLE = 3e-4  # of the result's spread: a mistake below it is not planted (the tanh form of gelu lies at about 8e-4)


def _erf(x):
    """Abramowitz and Stegun 7.1.26, error below 1.5e-7: enough to tell right from wrong."""
    a = np.abs(x)
    t = 1.0 / (1.0 + 0.3275911 * a)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1.0 - poly * np.exp(-a * a))


_TL = SimpleNamespace(
    maximum=np.maximum, minimum=np.minimum, where=np.where, exp=np.exp, exp2=np.exp2, log=np.log, sqrt=np.sqrt,
    abs=np.abs, erf=_erf, rsqrt=lambda x: 1.0 / np.sqrt(x), sigmoid=lambda x: 1.0 / (1.0 + np.exp(-x)),
    sum=lambda x, axis: np.sum(x, axis=-1, keepdims=True), max=lambda x, axis: np.max(x, axis=-1, keepdims=True),
    min=lambda x, axis: np.min(x, axis=-1, keepdims=True), load=lambda pointer, mask, other: pointer,
)


class _Pointer(np.ndarray):
    """An array that stays itself when offsets are added to it, as the argument of `load`."""

    def __add__(self, offsets):
        return np.asarray(self)


@lru_cache(maxsize=4096)
def _compiled(body: str):
    return compile(body, "<kernel lines>", "exec")


@lru_cache(maxsize=64)
def _inputs(seed: int, scale: float, columns: int, dtype: str):
    """x (ROWS, columns padded to a power of two), z like it, w (columns, columns), b, the mask."""
    rng = np.random.default_rng(seed)
    block = 1 << (columns - 1).bit_length()
    mask = np.arange(block)[None, :] < columns
    x, z = (np.where(mask, rng.standard_normal((ROWS, block)) * scale, 0.0).astype(dtype) for _ in range(2))
    w = rng.standard_normal((columns, columns)).astype(dtype)
    b = rng.uniform(-1, 1, columns).astype(dtype) / np.sqrt(columns).astype(dtype)
    return x, z, w, b, mask


def evaluate(
    parts: tuple[Part, ...], columns: int, seed: int = 0, scale: float = 1.0, dtype: str = "float64"
) -> np.ndarray:
    """The result of the lines on random input: (ROWS, columns), or (ROWS, 1) after a reduction."""
    x, z, w, b, mask = _inputs(seed, scale, columns, dtype)
    env = {
        "tl": _TL, "x": x, "mask": mask, "n": columns, "BLOCK": x.shape[1], "offs": 0, "cols": 0,
        "z_ptr": z.view(_Pointer),
        "g_ptr": np.ones(1, dtype).view(_Pointer), "h_ptr": np.zeros(1, dtype).view(_Pointer),
    }
    with np.errstate(all="ignore"):
        for part in parts:
            if part.kind is Kind.PRODUCT:
                size = scale if part.use.name == "matmul" else columns**-0.5
                env["x"] = _multiply(env["x"], w * size, b, columns, part)
            else:
                body = part.body + ("\n" + _AFFINE if part.kind is Kind.AFFINE else "")
                exec(_compiled(body), env)  # lines of the grammar, never of a model
    result = env["x"]
    return result[:, :columns] if result.shape[1] > 1 else result


def _multiply(x, w, b, columns: int, part: Part):
    inner = x[:, : columns - (part.body == "short_k")]
    w = (w.T if part.body == "transposed" else w)[: inner.shape[1]]
    result = np.zeros_like(x)
    result[:, :columns] = inner @ w + (b if part.use.name == "linear" and part.body != "no_bias" else 0.0)
    return result


def _right(uses: tuple[Use, ...]) -> tuple[Part, ...]:
    return tuple(Part(use, use.fill(use.operator.right[0])) for use in uses)


def differs(result: np.ndarray, other: np.ndarray, threshold: float = VISIBLE) -> bool:
    """Whether `other` is not `result`, by the largest error against the result's spread; NaN differs."""
    if result.shape != other.shape:
        return True
    return not np.max(np.abs(result - other)) <= threshold * np.std(result)


@lru_cache(maxsize=65536)
def sensible(uses: tuple[Use, ...]) -> bool:
    """Whether the chain is finite and accurate in float32 at scales 1 and 3, not constant, follows its input, needs
    every operator, and does not clip most results to one value (under relu the sums of 4 rows may all be 0)."""
    parts = _right(uses)
    results = []
    for seed, scale in ((0, 1.0), (1, 1.0), (2, 3.0)):
        exact = evaluate(parts, 24, seed, scale)
        rounded = evaluate(parts, 24, seed, scale, "float32")
        if not np.all(np.isfinite(rounded)) or np.max(np.abs(exact)) > 1e6 or np.std(exact) < 1e-3:
            return False
        if np.max(np.abs(exact - rounded)) > ROUNDING * np.std(exact):
            return False
        # a constant would nearly pass for it
        if np.std(exact) < 0.02 * np.max(np.abs(exact)):
            return False
        results.append(exact)
    if not differs(results[0], results[1], 1e-2) or _most_common(results) > (0.15 if results[0].shape[1] == 1 else 0.7):
        return False
    return all(
        differs(results[0], evaluate(parts[:i] + parts[i + 1 :], 24), 1e-2) for i in range(len(parts)) if len(parts) > 1
    )


def _most_common(results: list[np.ndarray]) -> float:
    """Share of the most frequent value."""
    values = np.concatenate([result.ravel() for result in results])
    return np.unique(np.round(values, 6), return_counts=True)[1].max() / values.size


@lru_cache(maxsize=65536)
def visible(parts: tuple[Part, ...], padded: bool) -> bool:
    """Whether the wrong lines among `parts` change the result on each of three inputs: seldom wrong is flaky."""
    columns = 24 if padded else 32
    right = _right(tuple(part.use for part in parts))
    cases = ((0, 1.0), (1, 1.0), (2, 3.0))
    return all(differs(evaluate(right, columns, *case), evaluate(parts, columns, *case)) for case in cases)
