"""Step figures as rows."""

from kernelzero.store.records import Metric


def metric_rows(place: dict, step: int, figures: dict[str, float]) -> list[Metric]:
    return [Metric(**place, step=step, name=name, value=float(value)) for name, value in figures.items()]
