"""Confined processes by the dozen: the warm process that forks them (zygote, warm) and its owner's side (processes).
Imports `confine` and the three jobs; only `processes` runs in the trusted process.
"""
