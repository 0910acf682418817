"""Which APIs occur together: counts over a corpus of API sets, updated with accepted modules, sampled with a seed.

A set of size k is drawn so: its first API with weight c_i + alpha; each further API j, given those chosen S, with
weight
    prod over i in S of ((c_ij + alpha) / (c_i + alpha * V)) ** (1 / |S|)
where c_i counts sets that hold i, c_ij sets that hold both, V the size of the support, and alpha is the smoothing:
pairs never seen together stay possible, rarely. The size itself is drawn from the sizes seen. One seed, one
sequence: everything is kept in sorted order. Higher orders than pairs are not modelled.
"""

from collections.abc import Iterable

import numpy as np

from kernelzero.apis.extract import api_set
from kernelzero.apis.vocabulary import check_api_set
from kernelzero.errors import UserError


class CoOccurrence:
    """Counts (floats, so that updates may be weighted). support: names that may be drawn beside those seen."""

    def __init__(self, alpha: float = 0.1, support: Iterable[str] = ()):
        if not alpha > 0:
            raise UserError(f"the smoothing alpha is {alpha}: give a number above 0")
        self.alpha = float(alpha)
        self.single: dict[str, float] = dict.fromkeys(check_api_set(support) if support else (), 0.0)
        self.pairs: dict[tuple[str, str], float] = {}
        self.sizes: dict[int, float] = {}

    @classmethod
    def from_sets(
        cls, sets: Iterable[tuple[str, ...]], alpha: float = 0.1, support: Iterable[str] = ()
    ) -> "CoOccurrence":
        """Estimated from API sets; empty ones are left out."""
        return cls(alpha, tuple(support)).update_sets(sets)

    @classmethod
    def from_sources(cls, sources: Iterable[str], alpha: float = 0.1, support: Iterable[str] = ()) -> "CoOccurrence":
        """Estimated from module sources, by their API sets."""
        return cls(alpha, tuple(support)).update(sources)

    def update(self, sources: Iterable[str], weight: float = 1.0) -> "CoOccurrence":
        """Adds the API sets of accepted modules to the counts, in place; returns self."""
        return self.update_sets((api_set(source) for source in sources), weight)

    def update_sets(self, sets: Iterable[tuple[str, ...]], weight: float = 1.0) -> "CoOccurrence":
        """Adds API sets to the counts, in place; returns self."""
        for apis in sets:
            if not apis:
                continue
            names = check_api_set(apis)
            self.sizes[len(names)] = self.sizes.get(len(names), 0.0) + weight
            for position, name in enumerate(names):
                self.single[name] = self.single.get(name, 0.0) + weight
                for other in names[position + 1 :]:
                    self.pairs[name, other] = self.pairs.get((name, other), 0.0) + weight
        return self

    @property
    def apis(self) -> tuple[str, ...]:
        """The support, sorted: every API that can be drawn."""
        return tuple(sorted(self.single))

    def pair(self, a: str, b: str) -> float:
        """How many sets hold both."""
        return self.pairs.get((a, b) if a < b else (b, a), 0.0)

    def conditional(self, chosen: tuple[str, ...]) -> dict[str, float]:
        """Probability of each API outside `chosen` to be the next, by the formula above."""
        others = [name for name in self.apis if name not in chosen]
        if not chosen:
            weights = np.array([self.single[name] + self.alpha for name in others])
        else:
            count = len(self.single)
            logs = np.zeros(len(others))
            for given in chosen:
                total = self.single.get(given, 0.0) + self.alpha * count
                logs += np.log([(self.pair(given, name) + self.alpha) / total for name in others])
            weights = np.exp(logs / len(chosen))
        return dict(zip(others, (weights / weights.sum()).tolist(), strict=True)) if others else {}

    def size_distribution(self, sizes: tuple[int, int] | None = None) -> dict[int, float]:
        """Probability of each size, between `sizes` = (smallest, largest) when given; uniform there if none was
        seen."""
        low, high = sizes or (1, len(self.single))
        high = min(high, len(self.single))
        if low < 1 or low > high:
            raise UserError(
                f"API sets of {low} to {high} APIs cannot be drawn from {len(self.single)} APIs: give smaller sizes"
            )
        counts = {size: self.sizes[size] for size in sorted(self.sizes) if low <= size <= high}
        counts = counts or dict.fromkeys(range(low, high + 1), 1.0)
        total = sum(counts.values())
        return {size: count / total for size, count in counts.items()}

    def sample(
        self, rng: np.random.Generator, size: int | None = None, sizes: tuple[int, int] | None = None
    ) -> tuple[str, ...]:
        """One API set, sorted: of `size`, or of a size drawn from those seen (within `sizes` when given)."""
        if not self.single:
            raise UserError(
                "the co-occurrence distribution is empty: estimate it from module sources that use known APIs first"
            )
        if size is None:
            distribution = self.size_distribution(sizes)
            size = int(rng.choice(list(distribution), p=list(distribution.values())))
        if not 1 <= size <= len(self.single):
            raise UserError(
                f"cannot draw a set of {size} APIs from {len(self.single)}: give a size in 1..{len(self.single)}"
            )
        chosen: tuple[str, ...] = ()
        while len(chosen) < size:
            weights = self.conditional(chosen)
            chosen += (list(weights)[int(rng.choice(len(weights), p=list(weights.values())))],)
        return tuple(sorted(chosen))

    def to_dict(self) -> dict:
        """Plain JSON values, in sorted order: equal counts give equal text."""
        return {
            "alpha": self.alpha,
            "sizes": {str(size): self.sizes[size] for size in sorted(self.sizes)},
            "single": dict(sorted(self.single.items())),
            "pairs": [[a, b, count] for (a, b), count in sorted(self.pairs.items())],
        }

    @classmethod
    def from_dict(cls, values: dict) -> "CoOccurrence":
        """The inverse of to_dict; a UserError when the values are not of that form."""
        try:
            made = cls(values["alpha"], tuple(values["single"]))
            made.sizes = {int(size): float(count) for size, count in values["sizes"].items()}
            made.single = {name: float(count) for name, count in sorted(values["single"].items())}
            made.pairs = {(a, b): float(count) for a, b, count in values["pairs"]}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"this is no stored co-occurrence distribution ({error!r}): estimate it again") from None
        return made
