"""DuckDB: every row that a run leaves behind, written a step a transaction, read with SQL as Polars frames.

`records` are the rows, `Store` writes and asks, `describe` tells all about one module or kernel. The schema and the
named queries are SQL files in sql/. Imports no model code, no torch.
"""

from kernelzero.store.show import describe
from kernelzero.store.store import StageKey, Store

__all__ = ["StageKey", "Store", "describe"]
