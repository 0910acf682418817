"""KernelZero: a Proposer and a Coder, two language models that train each other to write GPU kernels.

The library. It knows nothing of Prefect, of `flows/` or of `tasks/`; what happens in which order is theirs.
`import kernelzero` stays under a second: torch, transformers and TRL are imported where they are used.
"""

__version__ = "0.1.0"
