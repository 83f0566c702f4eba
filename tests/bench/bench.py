"""
Measures kernels side by side; see run.sh for how to call it.

All kernels are measured in each round, in an order that turns round every
time, so that whatever slows the machine down for a while hits all of them. One
round before the others is thrown away: it fills caches and makes profiles.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import traceback

import figures
import kernels
import table


def arguments():
    parser = argparse.ArgumentParser(prog="run.sh")
    parser.add_argument("--kernel", action="append", required=True, metavar="NAME=DIRECTORY",
                        help="a kernelspec; ratios are to the first one")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default=",".join(figures.GROUPS),
                        help="some of: " + ",".join(figures.GROUPS))
    parser.add_argument("--output", metavar="PATH",
                        help="PATH.md and PATH.json, instead of docs/benchmark.md and "
                             "build/bench.json")
    chosen = parser.parse_args()
    chosen.only = chosen.only.split(",")
    if unknown := set(chosen.only) - set(figures.GROUPS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if chosen.rounds < 1:
        parser.error("at least one round is needed")
    return chosen


def measure(specs, groups, rounds):
    """-> {kernel: {figure: [a sample per round]}}, and how many measurements failed"""
    samples = {spec.name: {} for spec in specs}
    failures = 0
    for number in range(rounds + 1):
        for group in groups:
            for spec in specs if number % 2 else specs[::-1]:
                try:
                    found = figures.GROUPS[group](spec)
                except Exception:
                    # One that fails must not take the rest of a long run with it.
                    failures += 1
                    print(f"{spec.name}: {group} failed in round {number}", file=sys.stderr)
                    traceback.print_exc()
                    continue
                if number:
                    for name, value in found.items():
                        samples[spec.name].setdefault(name, []).append(value)
        print(f"round {number} of {rounds}" if number else "warmed up", file=sys.stderr, flush=True)
    return samples, failures


def main():
    chosen = arguments()
    root = pathlib.Path(__file__).resolve().parents[2]
    page, data = root / "docs" / "benchmark.md", root / "build" / "bench.json"
    if chosen.output:
        page, data = pathlib.Path(chosen.output + ".md"), pathlib.Path(chosen.output + ".json")
    with tempfile.TemporaryDirectory(prefix="bench-ipython-") as profile:
        kernels.ENVIRONMENT["IPYTHONDIR"] = profile
        specs = [kernels.Spec(*kernel.split("=", 1)) for kernel in chosen.kernel]
        samples, failures = measure(specs, chosen.only, chosen.rounds)
    names = [spec.name for spec in specs]
    about = table.about(chosen.rounds)
    page.write_text(table.page(about, table.rows(names, samples), names))
    data.write_text(json.dumps({"about": about, "samples": samples}, indent=1) + "\n")
    print(f"{page}\n{data}")
    return 1 if failures else 0


sys.exit(main())
