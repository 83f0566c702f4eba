"""
Measures kernels side by side; see run.sh for how to call it.

All kernels are measured in each round, in an order that turns round every
time, so that whatever slows the machine down for a while hits all of them. One
round before the others is thrown away: it fills caches and makes profiles.
`einkorn frames` has no kernel beside it: the group `frames` is measured after the
others, see frames.py.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import traceback

import client
import figures
import frames
import kernels
import load
import table

GROUPS = (*figures.GROUPS, "frames")


def arguments():
    parser = argparse.ArgumentParser(prog="run.sh")
    parser.add_argument("--kernel", action="append", required=True, metavar="NAME=DIRECTORY",
                        help="a kernelspec; Einkorn, ipykernel and null kernel have roles")
    parser.add_argument("--einkorn", metavar="PATH", default="einkorn", help="for `einkorn frames`")
    parser.add_argument("--watch", metavar="PATH", help="the built control_watch.c")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default=",".join(GROUPS),
                        help="some of: " + ",".join(GROUPS))
    parser.add_argument("--output", metavar="PATH",
                        help="PATH.md and PATH.json, instead of docs/benchmark.md and "
                             "build/bench.json")
    chosen = parser.parse_args()
    chosen.only = chosen.only.split(",")
    if unknown := set(chosen.only) - set(GROUPS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if chosen.rounds < 1:
        parser.error("at least one round is needed")
    return chosen


def measure(specs, groups, rounds):
    """-> {kernel: {figure: [a sample per round]}}, what cannot be measured, and what failed"""
    samples = {spec.name: {} for spec in specs}
    unsupported, failures = {}, []
    for number in range(rounds + 1):
        for group in groups:
            for spec in specs if number % 2 else specs[::-1]:
                if (spec.name, group) in unsupported or not (
                        spec.runs_python or group in figures.WITHOUT_PYTHON):
                    continue
                try:
                    found = figures.GROUPS[group](spec)
                except (client.Unsupported, TimeoutError) as error:
                    unsupported[spec.name, group] = str(error)
                    continue
                except Exception:
                    # One that fails must not take the rest of a long run with it.
                    failures.append(f"{spec.name}: {group} in round {number}")
                    print("failed:", failures[-1], file=sys.stderr)
                    traceback.print_exc()
                    continue
                if number:
                    for name, value in found.items():
                        samples[spec.name].setdefault(name, []).append(value)
        if groups:
            told = f"round {number} of {rounds}" if number else "warmed up"
            print(told, file=sys.stderr, flush=True)
    reasons = [f"{name}, {group}: {why}" for (name, group), why in unsupported.items()]
    return samples, reasons, failures


def main():
    chosen = arguments()
    root = pathlib.Path(__file__).resolve().parents[2]
    page, data = root / "docs" / "benchmark.md", root / "build" / "bench.json"
    if chosen.output:
        page, data = pathlib.Path(chosen.output + ".md"), pathlib.Path(chosen.output + ".json")
    kernels.WATCH = chosen.watch
    with tempfile.TemporaryDirectory(prefix="bench-ipython-") as profile:
        kernels.ENVIRONMENT["IPYTHONDIR"] = profile
        specs = [kernels.Spec(*kernel.split("=", 1)) for kernel in chosen.kernel]
        load.HEARTBEAT_SPEC = next(spec for spec in specs if spec.name == table.FLOOR)
        groups = [group for group in chosen.only if group in figures.GROUPS]
        samples, unsupported, failures = measure(specs, groups, chosen.rounds)
    of_frames = {}
    if "frames" in chosen.only:
        of_frames, failed = frames.measure(chosen.einkorn, frames.PYTHON, chosen.rounds)
        failures += failed
    about = table.about(chosen.rounds, unsupported, failures)
    page.write_text(table.page(about, samples, of_frames))
    found = {"about": about, "samples": samples, "frames": of_frames}
    data.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{page}\n{data}")
    return 1 if failures else 0


sys.exit(main())
