"""Which accepted module a new one repeats: equal syntax trees, or equal structures up to names and layout.

Sizes, constants and API names must agree for a repeat (structure.py, the exact grade): relu at another shape, or
F.relu in place of torch.relu, is another module here. Nearness to evaluation tasks is stricter; see near.py.
"""

from collections.abc import Iterable

from kernelzero.modules.structure import structure
from kernelzero.source import ast_digest, digest


class Archive:
    """Sources of accepted modules by what identifies them; ids are sha256 of the normalised source."""

    def __init__(self, sources: Iterable[str] = ()):
        self._known: dict[object, str] = {}
        for source in sources:
            self.add(source)

    def add(self, source: str) -> None:
        """Remembers a module; the first one of several that repeat each other keeps its name. Raises SyntaxError."""
        keys = _keys(source)
        name = next((self._known[key] for key in keys if key in self._known), digest(source))
        for key in keys:
            self._known.setdefault(key, name)

    def find(self, source: str) -> str | None:
        """Id of the module that this one repeats (its own, when it is in the archive), or None. Raises SyntaxError."""
        return next((self._known[key] for key in _keys(source) if key in self._known), None)

    def __len__(self) -> int:
        return len(set(self._known.values()))


def _keys(source: str) -> tuple[object, ...]:
    return digest(source), ast_digest(source), structure(source, abstract=False)
