import importlib.util
import sys
from pathlib import Path

import pytest

# tests have no packages (importmode=importlib): make the neighbour file importable by name
_spec = importlib.util.spec_from_file_location("module_sources", Path(__file__).parent / "sources.py")
_sources = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_sources)
sys.modules["module_sources"] = _sources


@pytest.fixture(scope="session")
def verifier():
    """A real sandbox, one for all tests of this folder."""
    from kernelzero.keck import Limits, Verifier

    with Verifier(workers=2, limits=Limits(reference_s=4.0, output_bytes=8 << 20)) as made:
        yield made
