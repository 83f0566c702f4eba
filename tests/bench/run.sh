#!/bin/sh
# Measures Einkorn beside ipykernel, xeus-python and a kernel that runs nothing, its
# other door beside a plain worker for the same protocol, and
# writes docs/benchmark.md and build/bench.json.
#
#   sh tests/bench/run.sh                      everything, about ten minutes
#   sh tests/bench/run.sh --rounds 25          steadier medians
#   sh tests/bench/run.sh --only start,prints --output build/bench
#                                              a part of it; OUTPUT.md and OUTPUT.json
#   sh tests/bench/run.sh --only frames --output build/bench
#                                              `einkorn frames` beside a plain worker
#
# For a Debian 12, as root or with sudo (what memory is shared with whom only root is
# told). Builds the release preset and what tests/bench has in C, and makes
# build/bench-venv and build/bench-xeus with the other kernels. Einkorn is measured as
# it is installed: through a kernelspec of `einkorn install`, which also byte-compiles.
set -eu

cd "$(dirname "$0")/../.."
. tests/debian.sh

env=$PWD/build/bench-venv
xeus=$PWD/build/bench-xeus
prefix=$PWD/build/bench-prefix
floor=$PWD/build/bench-null
tools=$PWD/build/release/tests/bench

need_packages ca-certificates gcc libc6-dev cmake ninja-build pkg-config \
    libzmq3-dev libczmq-dev libjansson-dev libsodium-dev libssl-dev libsqlite3-dev \
    python3 python3-dev python3-venv

# environment DIRECTORY REQUIREMENTS: a virtual environment with these, unless it is there.
environment() {
    if ! cmp -s "$2" "$1/requirements.txt"; then
        rm -rf "$1"
        /usr/bin/python3 -m venv "$1"
        "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
        cp "$2" "$1/requirements.txt"
    fi
}

mkdir -p build "$floor"
cmake --preset release -DEINKORN_BENCH=ON >build/release.configure.log || {
    cat build/release.configure.log
    exit 1
}
cmake --build --preset release -- --quiet

environment "$env" tests/requirements-bench.txt
environment "$xeus" tests/requirements-bench-xeus.txt
build/release/bin/einkorn install --prefix "$prefix" --python "$env/bin/python" >/dev/null
cat >"$floor/kernel.json" <<EOF
{"argv": ["$tools/null_kernel", "{connection_file}"], "display_name": "null", "language": "none"}
EOF

exec "$env/bin/python" -B tests/bench/bench.py --watch "$tools/control_watch.so" \
    --einkorn build/release/bin/einkorn \
    --kernel "Einkorn=$prefix/share/jupyter/kernels/einkorn" \
    --kernel "ipykernel=$env/share/jupyter/kernels/python3" \
    --kernel "xeus-python=$xeus/share/jupyter/kernels/xpython" \
    --kernel "xeus-python, raw=$xeus/share/jupyter/kernels/xpython-raw" \
    --kernel "null kernel=$floor" \
    "$@"
