"""Decontamination: how near a module is to a task that models are evaluated on.

The distance is 1 - J, J the Jaccard index of the two bags of token triples of the abstract structures
(structure.py: names, sizes, constants and spelling removed); equal structures are at 0. A module is too near at a
distance <= `threshold`, by default 0.1: with it a task retold at another size is caught, and so is a long task with
one small change, while another operator in a chain of three already makes a distance above 0.5. What it does not
catch: the same function by other operators.
"""

from collections import Counter
from dataclasses import dataclass

from kernelzero.modules.structure import Tokens, structure

THRESHOLD = 0.1
_SHINGLE = 3


@dataclass(frozen=True)
class Nearest:
    """The evaluation task nearest to a module, and its distance in [0, 1]."""

    name: str
    distance: float


def shingles(tokens: Tokens) -> Counter:
    """The bag of token triples; closing brackets and the frame that every module has are left out."""
    words = ["^", *(t for t in tokens if t not in (")", "(function", "return")), "$"]
    return Counter(tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1)))


def distance(a: Tokens, b: Tokens) -> float:
    """1 - Jaccard index of the two bags of triples; 0 for equal structures."""
    if a == b:
        return 0.0
    one, two = shingles(a), shingles(b)
    return 1.0 - sum((one & two).values()) / sum((one | two).values())


class Decontamination:
    """The evaluation tasks {name: source}, ready to be compared with many modules."""

    def __init__(self, sources: dict[str, str], threshold: float = THRESHOLD):
        self.threshold = threshold
        self.tasks = {name: structure(source) for name, source in sorted(sources.items())}
        self._bags = {name: shingles(tokens) for name, tokens in self.tasks.items()}
        self._equal = {tokens: name for name, tokens in reversed(self.tasks.items())}

    def nearest(self, source: str) -> Nearest | None:
        """The nearest task, or None without tasks. Raises SyntaxError."""
        tokens = structure(source)
        if tokens in self._equal:
            return Nearest(self._equal[tokens], 0.0)
        bag = shingles(tokens)
        found = [
            Nearest(name, 1.0 - sum((bag & other).values()) / sum((bag | other).values()))
            for name, other in self._bags.items()
        ]
        return min(found, key=lambda n: (n.distance, n.name), default=None)

    def too_near(self, source: str) -> Nearest | None:
        """The nearest task when it is within the threshold, else None."""
        nearest = self.nearest(source)
        return nearest if nearest and nearest.distance <= self.threshold else None
