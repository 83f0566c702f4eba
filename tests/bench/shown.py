"""How figures are written in tables."""

import statistics

SCALE = {"ms": 1000, "µs": 1e6, "MB": 1 / 1024, "M": 1e-6, "×": 1, "": 1}


def figure(values, unit):
    if not values:
        return "–"
    low, middle, high = (shown(value * SCALE[unit])
                         for value in (min(values), statistics.median(values), max(values)))
    spread = f" ({low}..{high})" if low != high else ""
    return f"{middle} {unit}".rstrip() + spread


def shown(value):
    """Three digits that say something."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def times(value):
    return "" if value is None else f"{value:.1f}×" if value >= 3 else f"{value:.2f}×"


def lines(head, body):
    marks = ["---"] + ["---:"] * (len(head) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in (head, marks, *body)]
