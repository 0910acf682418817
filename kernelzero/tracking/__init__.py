"""MLflow: a parent run a run, a child run a stage, and the two registered models.

Knows nothing of Prefect. mlflow is imported where it is used (three seconds).
"""

from kernelzero.tracking.tracker import Tracker

__all__ = ["Tracker"]
