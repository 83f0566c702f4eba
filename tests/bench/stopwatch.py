"""Taking times, and what a list of them says."""

import time


def timed(act):
    """-> what it returns, seconds"""
    begin = time.perf_counter()
    result = act()
    return result, time.perf_counter() - begin


def quantile(samples, share):
    return sorted(samples)[int(len(samples) * share)]
