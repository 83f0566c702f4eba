"""
From samples to the page that people read: medians, spread, ratios, goals.

Ratios are the median of the ratios of each round, not the ratio of two
medians: the two kernels of one round met the same machine.
"""

import datetime
import importlib.metadata
import pathlib
import platform
import statistics

import figures

# (figure, what it is, unit, goal). A goal is a number that Einkorn's ratio must
# reach ("times"), or a bound of its own figure ("most").
ROWS = (
    ("kernel_info", "spawn to `kernel_info_reply`", "ms", ("times", 12)),
    ("first_result", "spawn to the first result", "ms", None),
    ("python_pass", "`python -c pass`, for comparison", "ms", None),
    ("first_result_by_pass", "first result ÷ `python -c pass`", "", ("most", 2)),
    ("idle_pss", "idle memory (PSS of all processes)", "MB", ("most", 14)),
    ("heartbeat", "heartbeat, round trip", "ms", None),
    ("control", "`kernel_info` on control, round trip", "ms", None),
    ("control_gil_held",
     f"the same while a cell holds the GIL in C for {figures.HELD * 1000:.0f} ms", "ms", None),
    ("execute_p50", "execute `pass` to idle, p50", "ms", None),
    ("execute_p99", "execute `pass` to idle, p99", "ms", None),
    ("prints", f"{figures.PRINTS:,} prints", "ms", ("times", 6)),
    ("prints_messages", "… messages for them", "count", None),
    ("flushed", f"{figures.FLUSHED:,} flushed prints", "ms", None),
    ("flushed_messages", "… messages for them", "count", None),
    ("big_print", f"one print of {figures.BIG:,} characters", "ms", None),
    ("displays", f"{figures.DISPLAYS:,} displays", "ms", None),
    ("queued", f"{figures.CELLS} cells queued at once", "ms", None),
    ("interrupt_loop", "interrupt of a loop, request to the cell's reply", "ms", ("times", 2)),
    ("interrupt_sleep", "interrupt of a sleep, the same", "ms", ("times", 2)),
    ("shutdown", "shutdown, request to the end of the process", "ms", None),
)
SCALE = {"ms": 1000, "MB": 1 / 1024, "count": 1, "": 1}
# Figures of which a ratio says nothing: the same thing twice, a ratio already,
# a number that is a choice.
NO_RATIO = {"python_pass", "first_result_by_pass", "prints_messages", "flushed_messages"}

INTRODUCTION = """\
# Einkorn beside ipykernel

<!-- Written by tests/bench/run.sh; changes made by hand are lost. -->

Only the ratios count. The milliseconds are those of one machine on one day; a
faster one makes both columns smaller. Both kernels run the same Python, from
the same virtual environment, through their installed kernelspecs.
"""

READING = """\
## How to read it

- Every figure is the median over the rounds, with the least and the greatest in
  parentheses. In each round every kernel is measured once, in turn.
- *ipykernel ÷ Einkorn* is taken round by round (both met the same machine then);
  it is the median of these quotients, not the quotient of the two medians beside
  it. “5.0×” says that Einkorn needs a fifth.
- *goal* is what Einkorn is held to: a least ratio (“12×”), or a bound for its
  own figure (“≤ 14 MB”).
- A client that speaks bare ZeroMQ holds the watch. It parses nothing before the
  watch has stopped, but it takes its share: a round trip cannot be shorter than
  Python's pyzmq makes it, and 5,000 messages take it some 100 ms to receive. Where
  Einkorn's figure is near these, the true ratio is greater.
- A kernel that is starting is knocked at every one to two milliseconds.
- PSS counts a page that several processes map by its share. Other Pythons that
  run on the machine make it smaller, ipykernel's a little more than ours: the
  client runs the same executable.
- Text of all prints and the number of displays are checked to be complete. How
  many messages carry the text is a choice: Einkorn puts together what is written
  in quick succession, flushed or not, and shows it within 50 ms.

The command, which also builds Einkorn and makes the environment:

    sh tests/bench/run.sh
"""


def about(rounds):
    """Where and of what the measurement was made."""
    cpu = [line.partition(":")[2].strip() for line in lines_of("/proc/cpuinfo")
           if line.startswith("model name")]
    memory = [line.split()[1] for line in lines_of("/proc/meminfo") if line.startswith("MemTotal")]
    system = dict(line.split("=", 1) for line in lines_of("/etc/os-release") if "=" in line)
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{len(cpu)} × {cpu[0] if cpu else platform.machine()}, "
                   f"{int(memory[0]) / 1024 ** 2:.0f} GB",
        "system": f"{system.get('PRETTY_NAME', 'Linux').strip(chr(34))}, "
                  f"Linux {platform.release()}",
        "Python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("ipykernel", "pyzmq")},
        "Einkorn": "release build (RelWithDebInfo), installed by `einkorn install --prefix`",
        "rounds": str(rounds),
    }


def lines_of(path):
    return pathlib.Path(path).read_text().splitlines()


def rows(names, samples):
    """-> the cells of each row that was measured: what, a figure per kernel, ratios, goal, met"""
    first = samples[names[0]]
    found = []
    for name, what, unit, goal in ROWS:
        if not any(name in samples[kernel] for kernel in names):
            continue
        cells = [what, *(figure(samples[kernel].get(name), unit) for kernel in names)]
        ratios = {}
        if name not in NO_RATIO and name in first:
            for kernel in names[1:]:
                ratios[kernel] = ratio(samples[kernel].get(name), first[name])
        cells += [f"{ratios[kernel]:.1f}×" if ratios.get(kernel) else "" for kernel in names[1:]]
        found.append([*cells, *judged(goal, first.get(name), unit, next(iter(ratios.values()), None))])
    return found


def figure(values, unit):
    if not values:
        return "failed"
    low, middle, high = (value * SCALE[unit]
                         for value in (min(values), statistics.median(values), max(values)))
    return f"{shown(middle)}{' ' + unit if unit not in ('', 'count') else ''} " \
           f"({shown(low)}..{shown(high)})"


def shown(value):
    """Three digits that say something."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(theirs, ours):
    """Samples of one round are at the same place, unless one of them failed."""
    if not theirs or not ours:
        return None
    if len(theirs) != len(ours):
        return statistics.median(theirs) / statistics.median(ours)
    return statistics.median(t / o for t, o in zip(theirs, ours))


def judged(goal, ours, unit, times):
    if goal is None:
        return "", ""
    kind, bound = goal
    if kind == "times":
        return f"{bound}×", ("yes" if times >= bound else "no") if times else "?"
    met = ours and statistics.median(ours) * SCALE[unit] <= bound
    return f"≤ {bound} {unit}".rstrip(), "yes" if met else "no"


def page(facts, body, names):
    head = ["", *names, *(f"{name} ÷ {names[0]}" for name in names[1:]), "goal", "met"]
    marks = ["---"] + ["---:"] * (len(head) - 2) + ["---"]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, marks, *body)]
    made = [f"- {name}: {value}" for name, value in facts.items()]
    return "\n".join([INTRODUCTION, *lines, "", "## Measured", "", *made, "", READING])
