"""API sets for Proposer prompts: a stated mix of frontier sets (of modules the Coder failed) and co-occurrence
sets.

Frontier sets come in as plain lists, from SQL elsewhere. Each is used once at most a call; when there are fewer
than the share asks for, the rest is drawn from the co-occurrence distribution.
"""

from dataclasses import dataclass

import numpy as np

from kernelzero.apis.cooccurrence import CoOccurrence
from kernelzero.apis.vocabulary import VOCABULARY, check_api_set
from kernelzero.errors import UserError

FRONTIER, CO_OCCURRENCE = "frontier", "co_occurrence"
_ATTEMPTS = 20  # draws of a co-occurrence set that was drawn before, until it is taken all the same


@dataclass(frozen=True)
class SampledSet:
    """One API set for a prompt. source: 'frontier' | 'co_occurrence'; mutation: '' | 'drop' | 'swap' | 'add'."""

    apis: tuple[str, ...]
    source: str
    from_module_id: str = ""
    mutation: str = ""


def mix(
    rng: np.random.Generator,
    n: int,
    frontier: list[tuple[str, tuple[str, ...]]],
    distribution: CoOccurrence,
    frontier_share: float,
    mutate: float = 0.0,
    sizes: tuple[int, int] | None = None,
) -> list[SampledSet]:
    """n API sets in random order, round(n * frontier_share) of them from `frontier` [(module_id, apis)] as far as
    those reach.

    Equal frontier sets count once (the first of them in random order is named). mutate: probability that a frontier
    set has one API dropped, swapped or added, the new one drawn given the rest. sizes: (smallest, largest) of
    co-occurrence sets, and the bounds that a mutation respects. Co-occurrence sets repeat only when few others
    exist.
    """
    if n < 0:
        raise UserError(f"{n} API sets were asked for: give a number that is not negative")
    for name, value in (("share of frontier sets", frontier_share), ("share of mutated sets", mutate)):
        if not 0 <= value <= 1:
            raise UserError(f"the {name} is {value}: give a number between 0 and 1")
    chosen = _frontier(round(n * frontier_share), frontier, rng)
    chosen = [_mutated(item, distribution, rng, sizes) if rng.random() < mutate else item for item in chosen]
    seen = {item.apis for item in chosen}
    while len(chosen) < n:
        for _ in range(_ATTEMPTS):
            apis = distribution.sample(rng, sizes=sizes)
            if apis not in seen:
                break
        seen.add(apis)
        chosen.append(SampledSet(apis, CO_OCCURRENCE))
    return [chosen[i] for i in rng.permutation(len(chosen))]


def _frontier(wanted: int, frontier: list[tuple[str, tuple[str, ...]]], rng: np.random.Generator) -> list[SampledSet]:
    chosen: dict[tuple[str, ...], SampledSet] = {}
    for i in rng.permutation(len(frontier)):
        if len(chosen) == wanted:
            break
        module_id, given = frontier[i]
        apis = check_api_set(given)
        chosen.setdefault(apis, SampledSet(apis, FRONTIER, module_id))
    return list(chosen.values())


def _mutated(
    item: SampledSet, distribution: CoOccurrence, rng: np.random.Generator, sizes: tuple[int, int] | None
) -> SampledSet:
    """One API less, another, or more; unchanged when no such change is possible."""
    low, high = sizes or (1, len(VOCABULARY))
    others = [name for name in distribution.apis if name not in item.apis]
    possible = (
        ["drop"] * (len(item.apis) > low) + ["swap"] * bool(others) + ["add"] * (bool(others) and len(item.apis) < high)
    )
    if not possible:
        return item
    kind = possible[int(rng.integers(len(possible)))]
    apis = list(item.apis)
    if kind in ("drop", "swap"):
        apis.pop(int(rng.integers(len(apis))))
    if kind in ("swap", "add"):
        weights = {k: v for k, v in distribution.conditional(tuple(apis)).items() if k in others}
        total = sum(weights.values())
        apis.append(list(weights)[int(rng.choice(len(weights), p=[v / total for v in weights.values()]))])
    return SampledSet(tuple(sorted(apis)), item.source, item.from_module_id, kind)
