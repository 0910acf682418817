"""Which cases a candidate is judged on: seeds x scales today; sizes, values and calls join this table."""

MIN_CASES = 3


def cases_of(seeds: tuple[int, ...], scales: tuple[float, ...]) -> list[tuple[int, float]]:
    """At least three pairs where there are as many: each seed with the next scale; every seed and scale occurs."""
    count = max(MIN_CASES, len(seeds), len(scales))
    pairs = [(seeds[i % len(seeds)], scales[i % len(scales)]) for i in range(count)]
    for seed in seeds:  # equal lengths walk in step: fill up with pairs that have not occurred
        pairs += [(seed, scale) for scale in scales]
    return list(dict.fromkeys(pairs))[:count]
