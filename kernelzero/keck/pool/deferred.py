"""torch's compiler is imported when somebody uses it, and not by every warm process.

`FakeTensorMode()` and every dispatch mode import `torch._dynamo`, for a setting and for the decorator `disable`, which does nothing
outside `torch.compile`: hundreds of modules, 1.2 s of a start of 3. `defer_dynamo` puts a package in its place that has its
submodules and a `disable` that does nothing. `load_if_named` makes it whole for a job whose source names torch's compiler, before
that job changes anything of torch, since dynamo looks at all of torch when it starts and is imported in a circle with inductor.
"""

import importlib.util
import sys
import types

NAME = "torch._dynamo"


def eager(model=None, **_):
    """`torch.compile` here: what it is given. Eager is what is judged, and a confined process can start no compiler."""
    return model if model is not None else lambda function: function


def defer_dynamo() -> None:
    """Before anything imports `torch._dynamo`; where something has, nothing is done."""
    import torch

    if NAME in sys.modules:
        return
    package = types.ModuleType(NAME)
    spec = importlib.util.find_spec(NAME)
    package.__spec__, package.__path__, package.__package__ = spec, spec.submodule_search_locations, NAME
    package.__file__, package.__loader__ = spec.origin, spec.loader
    package.disable = lambda fn=None, *args, **kwargs: (lambda inner: inner) if fn is None else fn
    sys.modules[NAME] = torch._dynamo = package
    torch.compile = eager


def load_if_named(source: str) -> None:
    """In a job, before anything else: the real package where the source speaks of it (1.2 s)."""
    if "_dynamo" in source or "_inductor" in source:
        package = sys.modules[NAME]
        package.__spec__.loader.exec_module(package)
