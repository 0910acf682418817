"""One stage of work each: retries, timeouts, caching and progress live here; no algorithm does.

Imports `kernelzero`; imported by `flows` alone. Installed as `kernelzero_tasks`.
"""
