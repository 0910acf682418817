"""Races of one launch: two programs touch a cell, one of them stores, and nothing orders them. Every address is seen, so no luck is needed.

The interpreter runs programs one after the other; a card runs them in any order and at once. So a load of what another program of the
launch stored, a store into what another loaded, and two stores of different values into one cell are races, whatever the values came out as.
Programs that both used an atomic before are taken as ordered by it (a lock), and atomics among themselves are no race. Two lanes of one
store with different values for one cell are a race too.
"""

import numpy as np

NOBODY, SEVERAL, ORDERED = -1, -2, -3  # ORDERED: several, each of which had used an atomic before


# what an access may meet of other programs: kind -> {kind of the other: the sentence}
MEETS = {
    "load": {"store": "loads what {} stored", "atomic": "loads what {} changed by an atomic"},
    "store": {"load": "stores into what {} loaded", "store": "stores another value into what {} stored", "atomic": "stores into what {} changed by an atomic"},
    "atomic": {"load": "changes by an atomic what {} loaded", "store": "changes by an atomic what {} stored"},
}


class Race(Exception):
    """Which access met which; the message says what and where."""


class Races:
    """Who loaded and who stored each byte of the storages of the running launch; `program` is the number of the running one."""

    def __init__(self):
        self.watching = False
        self.program = 0
        self.enter()

    def enter(self) -> None:
        """A new launch: what came before it is finished."""
        self.cells: dict[int, dict[str, np.ndarray]] = {}
        self.ordered: set[int] = set()

    def note(self, addresses: np.ndarray, size: int, kind: str, ranges: list[tuple[int, int]], differs=None) -> None:
        """One access of the running program. addresses: of the live lanes, flat, uint64. kind: load, store or atomic. differs: of a store,
        which lanes would change what the cell holds now.
        """
        for start, end in ranges:
            inside = (addresses >= np.uint64(start)) & (addresses < np.uint64(end))
            if inside.any():
                offsets = (addresses[inside] - np.uint64(start)).astype(np.int64)
                self._note(offsets, size, kind, start, end, None if differs is None else differs[inside])
        if kind == "atomic":
            self.ordered.add(self.program)

    def _note(self, offsets, size: int, kind: str, start: int, end: int, differs) -> None:
        if start not in self.cells:
            self.cells[start] = {name: np.full(end - start, NOBODY, dtype=np.int32) for name in MEETS}
        known = self.cells[start]
        cells = (offsets[:, None] + np.arange(size)).reshape(-1)
        changes = np.repeat(differs, size) if kind == "store" else True
        for other_kind, words in MEETS[kind].items():
            others = known[other_kind][cells]
            wrong = (others != NOBODY) & (others != self.program) & changes
            if wrong.any() and not self._ordered(others[wrong]):
                at = int(wrong.argmax())
                who = f"program {others[at]}" if others[at] >= 0 else "several others"
                raise Race(f"program {self.program} {words.format(who)}, at element {int(offsets[at // size]) // size}")
        seen = known[kind][cells]
        several = ORDERED if self.program in self.ordered else SEVERAL
        joined = np.where((seen == SEVERAL) | ((seen >= 0) & ~np.isin(seen, list(self.ordered))), SEVERAL, several)
        known[kind][cells] = np.where((seen == NOBODY) | (seen == self.program), self.program, joined)

    def _ordered(self, others) -> bool:
        return self.program in self.ordered and all(other == ORDERED or other in self.ordered for other in np.unique(others).tolist())

    @staticmethod
    def check_lanes(addresses: np.ndarray, values: np.ndarray) -> None:
        """Two lanes of one store that put different values into one cell."""
        if len(addresses) < 2:
            return
        order = np.argsort(addresses, kind="stable")
        same = addresses[order][1:] == addresses[order][:-1]
        if same.any():
            bits = np.ascontiguousarray(values[order]).view(np.dtype(("V", values.dtype.itemsize)))
            wrong = same & (bits[1:] != bits[:-1])
            if wrong.any():
                raise Race(f"{int(wrong.sum())} lanes of one store put another value into the cell of their neighbour")
