"""Which dotted name an expression of a source means: imports, aliases, star imports, and what a local name hides.

`import torch.nn.functional as fn`, `from torch import relu as r`, `act = torch.relu` and `from torch.nn import *` are
followed. Not followed: names made at run time (`getattr(torch, "relu")`, dictionaries of functions).
"""

import ast
from dataclasses import dataclass, field

from kernelzero.apis.vocabulary import canonical, short


@dataclass
class Names:
    """The names of one module's top level: local name -> dotted name, star imports, functions and classes."""

    dotted: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.Module) -> "Names":
        names = cls()
        for node in ast.walk(tree):  # imports anywhere, also inside a function: their names are as good as unique
            if isinstance(node, ast.Import | ast.ImportFrom):
                names._import(node)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.functions[node.name] = node
                names.dotted.pop(node.name, None)  # defined after the import, it hides it
            elif isinstance(node, ast.ClassDef):
                names.classes[node.name] = node
                names.dotted.pop(node.name, None)
            elif isinstance(node, ast.Assign) and (path := names.resolve(node.value, set())):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        names.dotted[target.id] = path
        return names

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for item in node.names:
                top = item.name.split(".")[0]
                self.dotted[item.asname or top] = item.name if item.asname else top
        elif node.level == 0 and node.module:
            for item in node.names:
                if item.name == "*":
                    self.stars.append(node.module)
                else:
                    self.dotted[item.asname or item.name] = f"{node.module}.{item.name}"

    def resolve(self, node: ast.expr, hidden: set[str], local: dict[str, str] | None = None) -> str | None:
        """Dotted name ('torch.nn.functional.relu') of a Name or a chain of attributes that begins at an import,
        else None.

        hidden: names that the function binds itself; local: its own aliases of dotted names, which win over both.
        """
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        if local and node.id in local:
            base = local[node.id]
        elif node.id in hidden or node.id in self.functions or node.id in self.classes:
            return None
        else:
            base = self.dotted.get(node.id) or self._from_star(node.id)
        return ".".join([base, *reversed(parts)]) if base else None

    def _from_star(self, name: str) -> str | None:
        """A bare name that only a star import can have brought, when the vocabulary knows it there."""
        for module in reversed(self.stars):
            if canonical(f"{module}.{name}") or (module == "torch" and name in ("nn", "Tensor")):
                return f"{module}.{name}"
        return None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Torch names that are no APIs: they hold, make or describe tensors and compute nothing that a kernel would.
NOT_APIS = _words(
    "nn.Module nn.Parameter nn.Sequential nn.ModuleList nn.ModuleDict nn.ParameterList nn.ParameterDict "
    "nn.Identity nn.Buffer torch.Tensor torch.Size torch.device torch.dtype torch.finfo torch.iinfo torch.no_grad "
    "torch.tensor torch.as_tensor torch.zeros torch.ones torch.full torch.empty torch.arange torch.linspace "
    "torch.eye torch.rand torch.randn torch.randint torch.zeros_like torch.ones_like torch.full_like "
    "torch.empty_like torch.rand_like torch.randn_like torch.is_tensor torch.float64 torch.float32 torch.float16 "
    "torch.bfloat16 torch.float torch.double torch.half torch.int64 torch.int32 torch.int16 torch.int8 "
    "torch.uint8 torch.long torch.int torch.bool torch.inf torch.nan torch.pi torch.e"
)


def is_torch(dotted: str) -> bool:
    return dotted.split(".")[0] == "torch"


def unknown_api(dotted: str) -> str | None:
    """The short name of a torch function or module that the vocabulary lacks, or None when it is known or no API at
    all."""
    name = short(dotted)
    if not is_torch(dotted) or canonical(dotted) or name in NOT_APIS or name.startswith("nn.init."):
        return None
    return name
