"""Which cases a candidate is judged on, as one table: seed x scale x values, each on one call at the given size.

Drawn cases come first: what `get_inputs` gives for a seed, floating-point inputs times a scale. A candidate that is right on those meets the
special values (`VALUES`), made of the first drawn case; of them only those on which eager itself stays close to float64 say anything, the
others are left out. Other sizes and further calls on one module will be columns of this table.
"""

from dataclasses import dataclass

MIN_CASES = 3
DRAWN = "drawn"
# name -> what becomes of the floating-point inputs; reference/values.py makes them
VALUES = {
    "large": "times 100: exponentials overflow without their maximum subtracted, half-precision intermediates too",
    "tiny": "times 1e-3: an eps decides",
    "offset": "plus 100: a variance as a difference of means cancels",
    "negative": "minus 1e4 times (1 + the absolute value): a zero, or a stand-in for minus infinity, in a padding lane wins a maximum",
    "positive": "1e4 times (1 + the absolute value): the same of a minimum",
    "equal": "every row holds its first element: no variance",
    "zeros": "zeros of both signs",
    "sorted": "ascending: running sums and first-wins decisions",
    "infinite": "one infinity of each sign in single places; where float64 gives NaN any answer is taken",
}


@dataclass(frozen=True)
class Case:
    """One row of the table. values: 'drawn' or a key of VALUES."""

    seed: int
    scale: float
    values: str = DRAWN

    def __str__(self) -> str:
        return f"seed {self.seed}, scale {self.scale:g}" + ("" if self.values == DRAWN else f", values {self.values}")


def cases_of(seeds: tuple[int, ...], scales: tuple[float, ...]) -> list[Case]:
    """The drawn cases: at least three pairs where there are as many, each seed with the next scale; every seed and scale occurs."""
    count = max(MIN_CASES, len(seeds), len(scales))
    pairs = [(seeds[i % len(seeds)], scales[i % len(scales)]) for i in range(count)]
    for seed in seeds:  # equal lengths walk in step: fill up with pairs that have not occurred
        pairs += [(seed, scale) for scale in scales]
    return [Case(seed, scale) for seed, scale in dict.fromkeys(pairs)][:count]


def special_cases(first: Case) -> list[Case]:
    """The cases of special values, made of the inputs of the first drawn one."""
    return [Case(first.seed, first.scale, values) for values in VALUES]
