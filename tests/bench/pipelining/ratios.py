"""Medians of paired measurements and how sure they are."""

import random
import statistics

RESAMPLES = 10_000


def median_interval(values, confidence=0.95, seed=0):
    """The median and the percentile bootstrap interval of it: Efron and Tibshirani, An Introduction
    to the Bootstrap, chapter 13. Fewer than about ten values give too narrow an interval."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(values, k=len(values)))
                     for _ in range(RESAMPLES))
    outside = (1 - confidence) / 2
    low = medians[int(outside * (RESAMPLES - 1))]
    high = medians[RESAMPLES - 1 - int(outside * (RESAMPLES - 1))]
    return statistics.median(values), low, high
