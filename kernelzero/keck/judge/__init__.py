"""What is expected and what it means: cases, comparison, reasons, verdict. Runs in the trusted process, on data.
Imports `confine.wire` and nothing else of Keck; no torch.
"""
