"""Decontamination: how near a module is to a task that models are evaluated on.

The distance is 1 - J, J the Jaccard index of the two bags of token triples of the abstract structures
(structure.py: names, sizes, constants and spelling removed); equal structures are at 0. A module is too near at a
distance <= `threshold`, by default 0.1: with it a task retold at another size is caught, and so is a long task with
one small change, while another operator in a chain of three already makes a distance above 0.3.

A task of fewer than `sized_below` operators (default 2: one operator alone) is compared with its inputs, sizes
included: there are only some dozens of operators, a Coder must be allowed to practise each of them, and the task
asks for it at a size that it has not seen. sized_below=0 leaves sizes out for every task. An operator that a task
spells with several (silu as x * sigmoid(x)) counts as a composition. What no setting catches: the same function by
other operators.
"""

from collections import Counter
from dataclasses import dataclass

from kernelzero.modules.structure import Tokens, inputs_structure, operators, structure

THRESHOLD = 0.1
SIZED_BELOW = 2
_SHINGLE = 3
_FRAME = {")", "(function", "return", "[", "]"}  # every module has them


@dataclass(frozen=True)
class Nearest:
    """The evaluation task nearest to a module, and its distance in [0, 1]."""

    name: str
    distance: float


def shingles(tokens: Tokens) -> Counter:
    """The bag of token triples, brackets left out."""
    words = ["^", *(t for t in tokens if t not in _FRAME), "$"]
    return Counter(tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1)))


def distance(a: Tokens, b: Tokens) -> float:
    """1 - Jaccard index of the two bags of triples; 0 for equal structures."""
    return 0.0 if a == b else _apart(shingles(a), shingles(b))


def _apart(one: Counter, two: Counter) -> float:
    return 1.0 - sum((one & two).values()) / sum((one | two).values())


@dataclass(frozen=True)
class _Task:
    name: str
    tokens: Tokens
    bag: Counter
    sized: bool


class Decontamination:
    """The evaluation tasks {name: source}, ready to be compared with many modules."""

    def __init__(self, sources: dict[str, str], threshold: float = THRESHOLD, sized_below: int = SIZED_BELOW):
        self.threshold = threshold
        self._tasks = []
        for name, source in sorted(sources.items()):
            tokens = structure(source)
            sized = operators(tokens) < sized_below
            tokens += inputs_structure(source) if sized else ()
            self._tasks.append(_Task(name, tokens, shingles(tokens), sized))

    def nearest(self, source: str) -> Nearest | None:
        """The nearest task, the first by name of several; None without tasks. Raises SyntaxError."""
        plain = structure(source)
        with_inputs = plain + inputs_structure(source)
        bags = {False: (plain, shingles(plain)), True: (with_inputs, shingles(with_inputs))}
        found = []
        for task in self._tasks:
            tokens, bag = bags[task.sized]
            found.append(Nearest(task.name, 0.0 if tokens == task.tokens else _apart(bag, task.bag)))
        return min(found, key=lambda n: (n.distance, n.name), default=None)

    def too_near(self, source: str) -> Nearest | None:
        """The nearest task when it is within the threshold, else None."""
        nearest = self.nearest(source)
        return nearest if nearest and nearest.distance <= self.threshold else None
