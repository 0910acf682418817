"""What a launch may touch and what it moved: every address of an interpreted kernel goes through `Memory`. No Triton here."""

import numpy as np


class OutOfBounds(Exception):
    """A load or store outside the tensors that the kernel was given."""


class DeviceLimit(Exception):
    """Something that the interpreter cannot do, or does wrong, whatever the candidate."""


class Memory:
    """The storages that the running launch may touch, and the bytes it moved."""

    def __init__(self):
        self.ranges: list[tuple[int, int]] = []
        self.loaded = self.stored = 0
        self.written: set[int] = set()

    def enter(self, ranges: list[tuple[int, int]]) -> None:
        self.ranges, self.written = ranges, set()

    def touch(self, pointers: np.ndarray, mask: np.ndarray, size: int, store: bool) -> int:
        live = pointers[mask] if not mask.all() else pointers
        if live.size == 0:
            return 0
        low, high = int(live.min()), int(live.max()) + size
        for start, end in self.ranges:
            if start <= low and high <= end:
                if store:
                    self.written.add(start)
                return live.size * size
        inside = np.zeros(live.shape, dtype=bool)
        for start, end in self.ranges:
            here = (live >= np.uint64(start)) & (live + np.uint64(size) <= np.uint64(end))
            inside |= here
            if store and here.any():
                self.written.add(start)
        if not inside.all():
            raise OutOfBounds(f"{int((~inside).sum())} of {live.size} addresses of a {'store' if store else 'load'}")
        return live.size * size
