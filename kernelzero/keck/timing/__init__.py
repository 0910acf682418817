"""How fast a correct candidate would be: the roofline estimate (roofline). Measured timers will live here.
Imports `judge.verdict`.
"""
