#!/bin/sh
# Measures Einkorn beside ipykernel and writes docs/benchmark.md and build/bench.json.
#
#   sh tests/bench/run.sh                      everything, about three minutes
#   sh tests/bench/run.sh --rounds 25          steadier medians
#   sh tests/bench/run.sh --only start,prints --output build/bench
#                                              a part of it; OUTPUT.md and OUTPUT.json
#
# For a Debian 12, as root or with sudo. Builds the release preset, and makes
# build/bench-venv with the other kernel. Einkorn is measured as it is
# installed: through a kernelspec of `einkorn install`, which also byte-compiles.
set -eu

cd "$(dirname "$0")/../.."
. tests/debian.sh

env=$PWD/build/bench-venv
prefix=$PWD/build/bench-prefix

need_packages ca-certificates gcc libc6-dev cmake ninja-build pkg-config \
    libzmq3-dev libczmq-dev libjansson-dev libsodium-dev libssl-dev \
    python3 python3-dev python3-venv

mkdir -p build
cmake --preset release >build/release.configure.log || {
    cat build/release.configure.log
    exit 1
}
cmake --build --preset release -- --quiet

if ! cmp -s tests/requirements-bench.txt "$env/requirements.txt"; then
    rm -rf "$env"
    /usr/bin/python3 -m venv "$env"
    "$env/bin/pip" install --quiet --disable-pip-version-check -r tests/requirements-bench.txt
    cp tests/requirements-bench.txt "$env/requirements.txt"
fi
build/release/bin/einkorn install --prefix "$prefix" --python "$env/bin/python" >/dev/null

exec "$env/bin/python" -B tests/bench/bench.py \
    --kernel "Einkorn=$prefix/share/jupyter/kernels/einkorn" \
    --kernel "ipykernel=$env/share/jupyter/kernels/python3" \
    "$@"
