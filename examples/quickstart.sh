#!/bin/sh
# From a fresh clone to an executed notebook: builds Einkorn, makes a virtual
# environment with pandas and nbclient (no ipykernel), installs the kernelspec
# into it, and runs examples/quickstart.ipynb.
#
# For a bare Debian 12, as root or with sudo; can be run again and again.
set -eu

cd "$(dirname "$0")/.."
. tests/debian.sh

env=$PWD/build/quickstart
executed=$env/quickstart.executed.ipynb

echo "== What the build needs"
need_packages ca-certificates gcc libc6-dev cmake ninja-build pkg-config \
    libzmq3-dev libczmq-dev libjansson-dev libsodium-dev libssl-dev libsqlite3-dev \
    python3 python3-dev python3-venv

echo "== Build"
cmake --preset release >/dev/null
cmake --build --preset release -- --quiet

echo "== An environment with pandas and nbclient"
if ! [ -x "$env/bin/python" ]; then
    /usr/bin/python3 -m venv "$env"
fi
"$env/bin/pip" install --quiet --disable-pip-version-check -r examples/requirements.txt

echo "== Install"
build/release/bin/einkorn install --sys-prefix --python "$env/bin/python"

echo "== Run examples/quickstart.ipynb"
"$env/bin/jupyter" execute --kernel_name=einkorn --output="$executed" examples/quickstart.ipynb

echo
echo "The executed notebook: $executed"
