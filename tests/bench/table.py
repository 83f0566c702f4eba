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
import frames
import load
from shown import SCALE, figure, lines, times

OURS, PEER, XEUS, FLOOR = "Einkorn", "ipykernel", "xeus-python", "null kernel"

# (figure, what it is, unit)
ROWS = (
    ("kernel_info", "spawn to `kernel_info_reply`", "ms"),
    ("first_result", "spawn to the first result", "ms"),
    ("python_pass", "`python -c pass`, for comparison", "ms"),
    ("first_result_by_pass", "first result ÷ `python -c pass`", "×"),
    ("idle_pss", "idle memory of all processes, PSS", "MB"),
    ("idle_pss_alone", "… PSS if no other Python ran on the machine", "MB"),
    ("idle_uss", "… pages of their own (USS)", "MB"),
    ("heartbeat", "heartbeat, round trip", "ms"),
    ("control", "`kernel_info` on control, round trip", "ms"),
    ("control_gil_held",
     f"the same while a cell holds the GIL in C for {figures.HELD * 1000:.0f} ms", "ms"),
    ("control_gil_held_inside", "… the slowest, inside the kernel, from readable to sent", "ms"),
    ("execute_p50", "execute `pass` to idle, p50", "ms"),
    ("execute_p99", "execute `pass` to idle, p99", "ms"),
    ("first_magic", "the session's first magic (`%time pass`)", "ms"),
    ("python_import", "`import IPython` in plain Python, for comparison", "ms"),
    ("first_magic_by_import", "first magic ÷ `import IPython`", "×"),
    ("shell_p50", "execute `pass` to idle with IPython loaded, p50", "ms"),
    ("shell_p99", "… p99", "ms"),
    ("shell_pss", "idle memory with IPython loaded, PSS", "MB"),
    ("shell_uss", "… pages of their own (USS)", "MB"),
    ("prints", f"{figures.PRINTS:,} prints", "ms"),
    ("prints_messages", "… messages for them", ""),
    ("flushed", f"{load.FLUSHED:,} flushed prints", "ms"),
    ("flushed_messages", "… messages for them", ""),
    ("big_print", f"one print of {figures.BIG:,} characters", "ms"),
    ("displays", f"{load.DISPLAYS:,} displays", "ms"),
    ("comm_echo", f"echo of a comm message with {figures.ECHO:,} bytes", "ms"),
    ("queued", f"{figures.CELLS} cells queued at once", "ms"),
    ("interrupt_loop", "interrupt of a loop, request to the cell's reply", "ms"),
    ("interrupt_sleep", "interrupt of a sleep, the same", "ms"),
    ("interrupt_flood", "interrupt of a cell that prints without end, the same", "ms"),
    ("runaway", f"{load.RUNAWAY} prints of 1,000,000 characters", "ms"),
    ("runaway_characters", "… millions of characters that came", "M"),
    ("runaway_bytes", "… on the wire", "MB"),
    ("runaway_grown_first", "… peak of the first process above idle, RSS", "MB"),
    ("runaway_grown_others", "… of its children", "MB"),
    ("runaway_grown", "… of all", "MB"),
    ("huge", f"one print of {load.HUGE:,} characters", "ms"),
    ("huge_characters", "… millions of characters that came", "M"),
    ("huge_bytes", "… on the wire", "MB"),
    ("huge_grown_first", "… peak of the first process above idle, RSS", "MB"),
    ("huge_grown_others", "… of its children", "MB"),
    ("huge_grown", "… of all", "MB"),
    *((f"control_{name}_{figure}", what.format(name), unit)
      for name in load.LOADS
      for figure, what, unit in (
          ("p99", "control during {}, p99", "ms"),
          ("by_floor", "… ÷ the null kernel's heartbeat at the same time, p99", "×"),
          ("inside", "… inside the kernel, from readable to sent, p99", "ms"))),
    ("restart", "from the death of Python in a cell until another is in place", "ms"),
    ("shutdown", "shutdown, request to the end of the process", "ms"),
)
UNITS = {name: unit for name, _, unit in ROWS}
# Figures of which a ratio says nothing: the same thing twice, a ratio already,
# a number that is a choice.
NO_RATIO = {"python_pass", "first_result_by_pass", "python_import", "first_magic_by_import",
            "prints_messages", "flushed_messages", "runaway_characters", "huge_characters",
            *(f"control_{name}_by_floor" for name in load.LOADS)}
# The null kernel's queued cells publish no output, so they are no floor.
NO_FLOOR = {"queued"}

# (figure, against whom, bound, how it is said). Against PEER and XEUS the ratio must
# reach the bound, against FLOOR it must stay below; None: Einkorn's own figure must.
GOALS = (
    ("kernel_info", FLOOR, 1.5, "`kernel_info_reply` ≤ 1.5 × the null kernel"),
    ("kernel_info", PEER, 15, "… ≤ 1/15 of ipykernel's"),
    ("first_result_by_pass", None, 1.7, "first result ≤ 1.7 × `python -c pass`"),
    ("execute_p50", FLOOR, 1.8, "execute to idle, p50, ≤ 1.8 × the null kernel"),
    ("first_magic_by_import", None, 1.3, "first magic ≤ 1.3 × `import IPython` in plain Python"),
    ("shell_p50", XEUS, 2, "execute to idle with IPython loaded ≤ 1/2 of xeus-python's"),
    ("shell_p50", PEER, 5, "… ≤ 1/5 of ipykernel's"),
    ("prints", PEER, 8, f"{figures.PRINTS:,} prints ≤ 1/8 of ipykernel's time"),
    ("flushed", PEER, 20, "flushed prints ≤ 1/20"),
    ("displays", PEER, 5, "displays ≤ 1/5"),
    ("queued", PEER, 10, f"{figures.CELLS} cells ≤ 1/10"),
    ("idle_pss", None, 14, "idle PSS < 14 MB"),
    ("idle_pss_alone", None, 14, "… also if no other Python ran on the machine"),
    ("control_gil_held_inside", None, 5,
     "control while the GIL is held, from readable to sent, ≤ 5 ms"),
    *((f"control_{name}_inside", None, 5, f"… during {name}, p99, ≤ 5 ms")
      for name in load.LOADS),
    *((f"control_{name}_by_floor", None, 2,
       f"control during {name}, p99, ≤ 2 × the null kernel's heartbeat under the same load")
      for name in load.LOADS),
    ("restart", None, 50, "another Python in place of a dead one ≤ 50 ms"),
    ("runaway_grown", None, 16, f"peak of both for {load.RUNAWAY} × 1 MB ≤ idle + 16 MB"),
    ("huge_grown", None, load.HUGE / 2 ** 20 + 16, "… for one print of 200 MB: + the string"),
)

INTRODUCTION = """\
# Einkorn beside other kernels

<!-- Written by tests/bench/run.sh; changes made by hand are lost. -->

Only the ratios count. The milliseconds are those of one machine on one day; a
faster one makes all columns smaller. All kernels run the same Python through
their installed kernelspecs: Einkorn and ipykernel from the same virtual
environment, xeus-python from one of its own. The *null kernel* is a small C
program with Einkorn's sockets and messages that runs nothing: the floor.
"""

READING = """\
## How to read it

- Every figure is the median over the rounds, with the least and the greatest in
  parentheses. In each round every kernel is measured once, in turn. A dash: this
  kernel does not do it, or not all of it; “left out” above says why.
- Quotients are taken round by round (both met the same machine then); what is
  shown is their median, not the quotient of the two medians in the table. A
  *ipykernel ÷ Einkorn* of 5.0× says that Einkorn needs a fifth.
- A client that speaks bare ZeroMQ holds the watch. It parses nothing before the
  watch has stopped, but it takes its share: a round trip cannot be shorter than
  Python's pyzmq makes it, and 5,000 messages take it some 100 ms to receive. Where
  Einkorn's figure is near these, the true ratio is greater.
- A kernel that is starting is knocked at every one to two milliseconds. Einkorn
  starts two processes side by side: on a machine with other work its start gains
  less than the others', see the spread.
- PSS counts a page that several processes map by its share, so other programs on
  the machine that map the same libraries make it smaller. “If no other Python ran”
  leaves out all other processes that map anything of a Python or of Einkorn.
- “Inside the kernel” is measured at the system calls of libzmq, in the kernel's
  process: from the request's bytes as they are read to the answer's as they are
  written. It is the slowest of all answers while the cell holds the GIL.
- “Above idle” is the highest resident set since the cell began, less the one
  before. The kernel's processes have one each; MB are of 1,024 × 1,024 bytes.
- During a flood another process reads IOPub. The control round trips alternate
  with heartbeats of a null kernel, which has nothing else to do: on two
  processors all of them wait for a turn at times, and the quotient of the two says
  what is the kernel's.
- Text of all prints but the runaway's, the number of displays and the buffers of
  comms are checked to be complete. How many messages carry the text is a choice:
  Einkorn puts together what is written in quick succession, flushed or not, and
  shows it within 50 ms. Of a runaway cell it shows as much as `--max-output` says.
- The null kernel's queued cells have no output, those of the others have two.

The command, which also builds Einkorn and makes the environments:

    sh tests/bench/run.sh
"""


def about(rounds, unsupported, failures):
    """Where and of what the measurement was made."""
    cpu = [line.partition(":")[2].strip() for line in lines_of("/proc/cpuinfo")
           if line.startswith("model name")]
    memory = [line.split()[1] for line in lines_of("/proc/meminfo") if line.startswith("MemTotal")]
    load = pathlib.Path("/proc/loadavg").read_text().split()[0]
    system = dict(line.split("=", 1) for line in lines_of("/etc/os-release") if "=" in line)
    facts = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{len(cpu)} × {cpu[0] if cpu else platform.machine()}, "
                   f"{int(memory[0]) / 1024 ** 2:.0f} GB; load at the end {load}",
        "system": f"{system.get('PRETTY_NAME', 'Linux').strip(chr(34))}, "
                  f"Linux {platform.release()}",
        "Python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("ipykernel", "pyzmq")},
        "xeus-python": pinned("xeus-python"),
        "Einkorn": "release build (RelWithDebInfo), installed by `einkorn install --prefix`",
        "rounds": str(rounds),
    }
    if unsupported:
        facts["left out"] = "; ".join(unsupported)
    if failures:
        facts["failed"] = "; ".join(failures)
    return facts


def pinned(name):
    """The version that tests/requirements-bench-xeus.txt asks for: it is not in our environment."""
    file = pathlib.Path(__file__).parents[1] / "requirements-bench-xeus.txt"
    return next(line.partition("==")[2] for line in lines_of(file) if line.startswith(name + "=="))


def lines_of(path):
    return pathlib.Path(path).read_text().splitlines()


def rows(samples):
    """-> the cells of each row that was measured: what, a figure per kernel, ratios"""
    for name, what, unit in ROWS:
        if any(name in of_kernel for of_kernel in samples.values()):
            yield [what, *(figure(of_kernel.get(name), unit) for of_kernel in samples.values()),
                   *(times(ratio(samples, name, kernel)) for kernel in (PEER, FLOOR))]


def goals(samples):
    """-> the cells of each goal whose figure was looked for: goal, figure, met"""
    for name, against, bound, what in GOALS:
        if not any(name in of_kernel for of_kernel in samples.values()):
            continue
        if against:
            value = ratio(samples, name, against)
            text = times(value)
        else:
            values = samples.get(OURS, {}).get(name)
            value = values and statistics.median(values) * SCALE[UNITS[name]]
            text = figure(values, UNITS[name])
        met = value and (value >= bound if against in (PEER, XEUS) else value <= bound)
        yield [what, text, "yes" if met else "no"]


def ratio(samples, name, kernel):
    """
    Against PEER or XEUS how many times less Einkorn needs, against FLOOR how many times more.
    Samples of one round are at the same place, unless one of them failed.
    """
    ours, others = (samples.get(who, {}).get(name) for who in (OURS, kernel))
    if not ours or not others or name in NO_RATIO or kernel == FLOOR and name in NO_FLOOR:
        return None
    above, below = (ours, others) if kernel == FLOOR else (others, ours)
    if len(above) != len(below):
        return statistics.median(above) / statistics.median(below)
    return statistics.median(a / b for a, b in zip(above, below))


def page(facts, samples, of_frames):
    """`of_frames` is what frames.measure gave, {} if that was not looked for."""
    made = [f"- {name}: {value}" for name, value in facts.items()]
    return "\n".join([
        INTRODUCTION,
        *(of_kernels(samples) if any(samples.values()) else ()),
        *(frames.section(of_frames) if of_frames else ()),
        "## Measured", "", *made, "", READING])


def of_kernels(samples):
    head = ["", *samples, f"{PEER} ÷ {OURS}", f"{OURS} ÷ {FLOOR}"]
    return [*lines(head, rows(samples)), "",
            "## Goals", "",
            *lines(["", "measured", "met"], goals(samples)), ""]
