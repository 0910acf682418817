"""The module's side: the confined job that runs it in eager and in float64 (job), and a module's run as values (runs).
Imports `confine.wire`, `judge.reasons` and `language`.
"""
