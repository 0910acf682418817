"""The comparison. Runs in the trusted process, on data: no code of the candidate's or the reference's is here.

Order: arrangement of the outputs, shape, dtype, changed inputs, whether a kernel made them, non-finite values, then the
error against float64. Bound of an element y of a floating-point output, with the oracle y64 and the eager result in its
own dtype:

    bound = max(EAGER_FACTOR * largest error of eager against float64,  UNIT[dtype] * (spread + |y64|))

spread is the standard deviation of y64 over the output (its largest magnitude when the output is constant or has one
element). So the bound scales with what the output tells apart: zeros cannot pass because the values are small. Eager's
own error keeps ill-conditioned modules passable (with special values also the distance by which the oracle moves when the
inputs are off by their last bit); UNIT keeps another order of summation passable and half precision out.
Integers and booleans must be equal, NaN and the infinities must stand where eager has them.
"""

from dataclasses import dataclass

import numpy as np

from kernelzero.keck.confine import wire
from kernelzero.keck.judge.reasons import Reason

EAGER_FACTOR = 8.0
UNIT = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
NO_ORACLE_FACTOR = 4.0
NEAR_BOUND = 0.8


@dataclass(frozen=True)
class Expected:
    """One output tensor of the reference: `bound` holds the tolerance of each element; None for exact dtypes."""

    shape: tuple
    dtype: str
    value: np.ndarray
    oracle: np.ndarray | None
    bound: np.ndarray | None
    spread: float = 0.0
    eager: float = 0.0  # the largest error of eager in units of the bound without eager's own part
    anything: np.ndarray | None = None  # where any value is taken


@dataclass(frozen=True)
class Finding:
    """reason '' when right; error in units of the bound; place: the fields of a `Difference` that a comparison knows."""

    reason: str = ""
    detail: str = ""
    error: float | None = None
    place: dict | None = None


def tolerance_text(dtypes: list[str]) -> str:
    floats = sorted({d for d in dtypes if d in UNIT})
    parts = [
        f"{d}: max({EAGER_FACTOR:g} x eager's error, {UNIT[d]:g} x (spread + |y|)) against float64" for d in floats
    ]
    return "; ".join(parts + (["exact for the other dtypes"] if len(floats) < len(set(dtypes)) else []))


def expectations(header: dict, blob: memoryview, drawn: list[Expected] | None = None) -> list[Expected]:
    """What the reference's frame of one case says of its outputs. drawn: those of a drawn case, whose spread a case of special values keeps as
    its least (a module of equal rows may put out zeros only).
    """
    specs = wire.leaves(header["outputs"])
    specs64 = wire.leaves(header["outputs64"]) if header.get("outputs64") else [None] * len(specs)
    if len(specs64) != len(specs):
        specs64 = [None] * len(specs)
    floors = [e.spread for e in drawn] if drawn and len(drawn) == len(specs) else [0.0] * len(specs)
    open_nan = header.get("values") == "infinite"
    moved = header.get("moved") or [0.0] * len(specs)
    if len(moved) != len(specs) or not all(isinstance(m, float) and 0.0 <= m < float("inf") for m in moved):
        raise wire.WireError("no number for each output")
    return [_expected(s, s64, blob, *more, open_nan) for s, s64, *more in zip(specs, specs64, floors, moved, strict=True)]


def tells(expected: list[Expected], values: str) -> bool:
    """Whether a case of special values says anything: eager has float64's NaN and infinities, and stays within the bound without its own part.

    Ties and cuts (`equal`, `zeros`, `infinite`) say nothing where an output is exact, as the index of a maximum is.
    """
    if any(e.bound is None for e in expected):
        return values not in ("equal", "zeros", "infinite")
    return all(e.oracle is not None and e.oracle is not e.value and e.eager <= 1.0 for e in expected)


def _expected(spec: dict, spec64: dict | None, blob: memoryview, floor: float, moved: float, open_nan: bool) -> Expected:
    shape, dtype, value = tuple(spec["shape"]), spec["dtype"], wire.to_numpy(spec, blob)
    if dtype not in UNIT or dtype == "bfloat16":
        return Expected(shape, dtype, value, None, None)
    own = value.astype(np.float64)
    usable = spec64 is not None and tuple(spec64["shape"]) == shape and spec64["dtype"] == "float64"
    oracle = wire.to_numpy(spec64, blob) if usable else own
    unit = UNIT[dtype] * (1.0 if usable else NO_ORACLE_FACTOR)
    finite = np.isfinite(own) & np.isfinite(oracle)
    anything = np.isnan(oracle) if open_nan else None
    same = usable and np.array_equal(np.isnan(own), np.isnan(oracle)) and np.array_equal(np.isinf(own) * np.sign(own), np.isinf(oracle) * np.sign(oracle))
    if not finite.any():
        return Expected(shape, dtype, value, oracle, np.zeros(shape), floor, 0.0 if same else np.inf, anything)
    known = oracle[finite]
    spread = float(known.std())
    largest = float(np.abs(known).max())
    if known.size == 1 or spread <= 1e-9 * largest:
        spread = largest
    spread = max(spread, floor)
    eager = float(np.abs(own[finite] - known).max())
    room = unit * (spread + np.abs(np.where(finite, oracle, 0.0))) + EAGER_FACTOR * moved
    missed = float((np.abs(own[finite] - known) / np.maximum(room[finite], 1e-300)).max()) if same else np.inf
    return Expected(shape, dtype, value, oracle, np.maximum(EAGER_FACTOR * eager, room), spread, missed, anything)


def _place(wrong: np.ndarray, want: np.ndarray, got: np.ndarray, error=None, bound=None, ratio=None) -> dict:
    """The first wrong element in row-major order. wrong: a mask of the output's shape; error, bound, ratio: arrays of it."""
    first = int(wrong.reshape(-1).argmax())
    worst = first if ratio is None else int(ratio.reshape(-1).argmax())

    def index(flat: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(flat, wrong.shape))

    def value(array):
        return None if array is None else array.reshape(-1)[first].item()

    return {"shape": tuple(wrong.shape), "index": index(first), "worst": index(worst), "wrong": int(wrong.sum()),
            "expected": value(want), "got": value(got), "error": value(error), "bound": value(bound)}


def compare_value(want: Expected, got: np.ndarray, where: str) -> Finding:
    """One output whose shape and dtype are right."""
    if want.bound is None:
        mask = want.value != got
        wrong = int(mask.sum())
        if wrong:
            return Finding(
                Reason.WRONG_VALUES,
                f"{where}: {wrong} of {got.size} {want.dtype} elements differ",
                float("inf"),
                _place(mask, want.value, got),
            )
        return Finding(error=0.0)
    if want.anything is not None and want.anything.any():
        got = np.where(want.anything, want.value, got)
    for name, test in (("NaN", np.isnan), ("inf", np.isposinf), ("-inf", np.isneginf)):
        mask = test(want.value) != test(got)
        wrong = int(mask.sum())
        if wrong:
            return Finding(
                Reason.NON_FINITE,
                f"{where}: {name} at {wrong} of {got.size} elements where the reference has none, "
                "or the other way round",
                float("inf"),
                _place(mask, want.value, got),
            )
    finite = np.isfinite(got) & np.isfinite(want.oracle)
    if not finite.any():
        return Finding(error=0.0)
    bound = want.bound
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = np.where(finite, np.abs(got.astype(np.float64) - want.oracle), 0.0)
        ratio = np.where(error == 0.0, 0.0, error / bound)
    worst = float(ratio.max())
    if worst > 1.0:
        at = np.unravel_index(int(ratio.argmax()), ratio.shape)
        return Finding(
            Reason.WRONG_VALUES,
            f"{where}: error {error[at]:.3g} against a bound of {bound[at]:.3g}, "
            f"{int((ratio > 1).sum())} of {got.size} elements past it",
            worst,
            _place(ratio > 1, want.oracle, got, error, bound, ratio),
        )
    return Finding(error=worst)


def compare(reference: dict, expected: list[Expected], answer: dict, blob: memoryview) -> Finding:
    """The replay's frame of one case against the reference's. `answer` is data of a confined process: malformed is a
    WireError.
    """
    problem = _arrangement(reference["outputs"], answer["outputs"], "output")
    if problem:
        return Finding(Reason.STRUCTURE, problem)
    specs = [wire.check_tensor(spec, len(blob)) for spec in wire.leaves(answer["outputs"])]
    for index, (want, spec) in enumerate(zip(expected, specs, strict=True)):
        where = f"output {index}" if len(specs) > 1 else "the output"
        if tuple(spec["shape"]) != want.shape:
            return Finding(Reason.SHAPE, f"{where} has shape {tuple(spec['shape'])}, the reference's {want.shape}")
        if spec["dtype"] != want.dtype:
            return Finding(Reason.DTYPE, f"{where} is {spec['dtype']}, the reference's {want.dtype}")
    if answer["changed"] and not reference.get("inputs_changed"):
        return Finding(Reason.INPUT_MODIFIED, f"it changed {', '.join(str(c) for c in answer['changed'][:3])} in place")
    worst = 0.0
    for index, (want, spec) in enumerate(zip(expected, specs, strict=True)):
        finding = compare_value(want, wire.to_numpy(spec, blob), f"output {index}" if len(specs) > 1 else "the output")
        if finding.reason:
            place = None if finding.place is None else {"output": index, **finding.place}
            return Finding(finding.reason, finding.detail, finding.error, place)
        worst = max(worst, finding.error or 0.0)
    return Finding(error=worst)


def _arrangement(want, got, where: str) -> str:
    """'' when both nests are built alike and their plain values are equal."""
    if not isinstance(got, dict) or len(got) != 1:
        raise wire.WireError("not a nest of values")
    (kind, body), (other, mine) = *want.items(), *got.items()
    names = {
        "t": "a tensor",
        "s": "a plain value",
        "list": "a list",
        "tuple": "a tuple",
        "dict": "a dict",
        "torch": "a torch object",
    }
    if kind != other:
        return f"{where} is {names.get(other, other)}, the reference's {names[kind]}"
    if kind in ("list", "tuple", "dict"):
        if len(body) != len(mine):
            return f"{where} has {len(mine)} items, the reference's {len(body)}"
        for index, (a, b) in enumerate(zip(body, mine, strict=True)):
            if kind == "dict":
                if a[0] != b[0]:
                    return f"{where} has the key {b[0]!r} in place of {a[0]!r}"
                a, b = a[1], b[1]
            problem = _arrangement(a, b, f"{where}[{index}]")
            if problem:
                return problem
    elif kind in ("s", "torch") and body != mine:
        return f"{where} is {mine!r}, the reference's {body!r}"
    return ""


def passed_by(cases: list[list[Expected]]) -> str:
    """Which constant answer would pass on every case: 'zeros', 'the mean', 'the first answer', or '' for none."""
    outputs = [e for case in cases for e in case]
    if not outputs or all(e.value.size == 0 for e in outputs):
        return ""
    if all(not compare_value(e, np.zeros_like(e.value), "").reason for e in outputs):
        return "zeros"
    if all(not compare_value(e, _mean(e), "").reason for e in outputs if e.value.size > 1) and any(
        e.value.size > 1 for e in outputs
    ):
        return "the mean"
    first = cases[0]
    same_shape = all(
        len(c) == len(first) and all(a.shape == b.shape for a, b in zip(c, first, strict=True)) for c in cases
    )
    if (
        len(cases) > 1
        and same_shape
        and all(
            not compare_value(e, f.value, "").reason for case in cases[1:] for e, f in zip(case, first, strict=True)
        )
    ):
        return "the first answer"
    return ""


def _mean(expected: Expected) -> np.ndarray:
    if expected.oracle is None:
        return np.full_like(expected.value, expected.value.reshape(-1)[0])
    finite = expected.oracle[np.isfinite(expected.oracle)]
    return np.full(expected.shape, finite.mean() if finite.size else 0.0)
