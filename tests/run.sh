#!/bin/sh
# All tests of Einkorn, on a bare Debian 12, as root or with sudo.
#
#   sh tests/run.sh             everything
#   sh tests/run.sh PART...     some of: style unit abi seeds install python e2e frames
#                               clients tools ipython gui shell figures notebooks
#                               ipykernel nbclient conformance asan fuzz quickstart
#   sh tests/run.sh --long ...  with the chaos of e2e and frames in its long form
#
# Packages that are missing are installed, Python ones into virtual environments
# below build/. The first part that fails does not stop the others; the last
# lines say what failed.
set -eu

cd "$(dirname "$0")/.."
. tests/debian.sh

long=""
timeout=120
if [ "${1:-}" = --long ]; then
    long=--long
    timeout=1200
    shift
fi
all="style unit abi seeds install python e2e frames clients tools ipython gui shell \
    figures notebooks ipykernel nbclient conformance asan fuzz quickstart"
parts=${*:-$all}
jobs=$(nproc)
failed=""

set_up() {
    need_packages ca-certificates gcc libc6-dev cmake ninja-build pkg-config \
        libzmq3-dev libczmq-dev libjansson-dev libsodium-dev libssl-dev libsqlite3-dev \
        libcriterion-dev \
        python3 python3-dev python3-venv \
        clang clang-format clang-tidy libclang-rt-14-dev shellcheck
    need_venv build/venv tests/requirements.txt
}

# need_venv DIRECTORY REQUIREMENTS
need_venv() {
    if ! cmp -s "$2" "$1/requirements.txt"; then
        rm -rf "$1"
        mkdir -p build
        /usr/bin/python3 -m venv "$1" &&
            "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2" &&
            cp "$2" "$1/requirements.txt"
    fi
}

# build PRESET
build() {
    cmake --preset "$1" >"build/$1.configure.log" || {
        cat "build/$1.configure.log"
        return 1
    }
    cmake --build --preset "$1" -- -j "$jobs" --quiet
}

# run_pytest PRESET DIRECTORY...: each file on one processor, as its tests share kernels
run_pytest() {
    preset=$1
    shift
    EINKORN="$PWD/build/$preset/bin/einkorn" build/venv/bin/python -m pytest -q \
        -p no:cacheprovider --timeout "$timeout" -n "$jobs" --dist loadfile "$@"
}

part_unit() {
    build dev && ctest --preset dev -L unit -j "$jobs" --progress
}

part_abi() {
    build dev && ctest --preset dev -L abi
}

# libeinkorn-host with the real worker, and as it is installed.
part_seeds() {
    build dev && ctest --preset dev -L seeds -j "$jobs" --progress
}

part_install() {
    build dev && run_pytest dev tests/kernelspec
}

part_python() {
    build dev && run_pytest dev tests/python
}

# shellcheck disable=SC2086 # no word where it is not asked for
part_e2e() {
    build dev && run_pytest dev $long tests/e2e
}

# shellcheck disable=SC2086 # as above
part_frames() {
    need_venv build/plot-venv tests/requirements-plot.txt && build dev &&
        run_pytest dev $long tests/frames
}

part_clients() {
    build dev && run_pytest dev tests/clients
}

# The programs have IPython; the kernel's Python is build/venv, without it.
part_tools() {
    need_packages tmux && need_venv build/tools-venv tests/requirements-tools.txt && build dev &&
        EINKORN="$PWD/build/dev/bin/einkorn" build/tools-venv/bin/python -m pytest -q \
            -p no:cacheprovider --timeout 120 tests/tools
}

# need_ipython: two Pythons as people have them, with the newest IPython and with the oldest
need_ipython() {
    need_packages python3-tk && need_venv build/ipython-venv tests/requirements-ipython.txt &&
        need_venv build/ipython8-venv tests/requirements-ipython8.txt
}

# run_in_ipython PRESET PYTHON TEST...: the kernel's Python is that one. Much of it compares with
# other kernels and stands on other people's time limits (jedi's, nbclient's): what fails there
# is tried once more, and told. The plugin flaky, of nbclient's tests, would keep that from happening.
run_in_ipython() {
    preset=$1
    python=$2
    shift 2
    EINKORN="$PWD/build/$preset/bin/einkorn" EINKORN_TEST_PYTHON="$PWD/$python" \
        build/ipython-venv/bin/python -m pytest -q -p no:cacheprovider -p no:asyncio -p no:flaky \
        --reruns 1 -rR --timeout "$timeout" -n "$jobs" --dist loadfile "$@"
}

part_ipython() {
    need_ipython && build dev && run_in_ipython dev build/ipython-venv/bin/python tests/ipython &&
        run_in_ipython dev build/ipython8-venv/bin/python tests/ipython
}

# Windows of all toolkits: Qt from PyPI, the others from Debian, on a display that shows nothing.
# ipykernel's own tests of them would not run where CI is set.
part_gui() {
    need_packages xvfb xauth python3-gi python3-gi-cairo gir1.2-gtk-3.0 gir1.2-gtk-4.0 \
        python3-wxgtk4.0 libgl1 libegl1 libdbus-1-3 libfontconfig1 libxkbcommon-x11-0 \
        libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-render-util0 \
        libxcb-shape0 libxcb-xinerama0 libxcb-xkb1 &&
        need_ipython && need_venv build/gui-venv tests/requirements-gui.txt && build dev &&
        run_in_ipython dev build/gui-venv/bin/python tests/gui &&
        run_upstream build/gui-venv windows build/sources/ipykernel-7.4.0 \
            tests/test_matplotlib_eventloops.py env -u CI xvfb-run --auto-servernum
}

# The tests of the plain shell once more, with every cell going through IPython.
part_shell() {
    need_ipython && build dev &&
        EINKORN_TEST_ARGS=--shell=ipython run_in_ipython dev build/ipython-venv/bin/python tests/e2e
}

part_figures() {
    need_ipython && need_venv build/plot-venv tests/requirements-plot.txt && build dev &&
        run_pytest dev tests/figures
}

# need_sources DIRECTORY LIST: releases of other projects, for their tests and their notebooks
need_sources() {
    if ! cmp -s "$2" "$1/sources.txt"; then
        rm -rf "$1"
        mkdir -p "$1"
        build/venv/bin/pip download --quiet --disable-pip-version-check --no-deps \
            --no-binary "$(sed -n 's/==.*//p' "$2" | paste -sd,)" --require-hashes -r "$2" \
            -d "$1" || return 1
        for archive in "$1"/*.tar.gz; do
            tar -xzf "$archive" -C "$1" || return 1
        done
        cp "$2" "$1/sources.txt"
    fi
}

part_notebooks() {
    need_ipython && need_sources build/notebooks tests/notebooks/sources.txt && build dev &&
        run_in_ipython dev build/ipython-venv/bin/python --dist worksteal \
            --sources build/notebooks tests/notebooks
}

# run_upstream VENV SUITE DIRECTORY TESTS [COMMAND...]: the tests of another project on Einkorn,
# by that command, if any; what cannot apply is in tests/upstream/SUITE.table. What those tests
# leave unclosed is their own affair.
run_upstream() {
    venv=$PWD/$1
    table=$PWD/tests/upstream/$2.table
    directory=$3
    tests=$4
    shift 4
    need_ipython && need_sources build/sources tests/upstream/sources.txt && build dev &&
        (root=$PWD && cd "$directory" && PATH="$venv/bin:$PATH" \
            PYTHONPATH="$root/tests/upstream" "$@" "$venv/bin/python" \
            -m pytest -q -p no:cacheprovider -p no:unraisableexception -p on_einkorn \
            --table "$table" --einkorn "$root/build/dev/bin/einkorn" -o addopts= -o log_cli=false \
            -o asyncio_default_fixture_loop_scope=function --timeout "$timeout" -rXf "$tests")
}

part_ipykernel() {
    run_upstream build/ipython-venv ipykernel build/sources/ipykernel-7.4.0 tests
}

part_nbclient() {
    run_upstream build/ipython-venv nbclient build/sources/nbclient-0.11.0 tests
}

part_conformance() {
    run_upstream build/ipython-venv conformance . tests/upstream
}

# The same tests again with sanitizers in both processes. Python's own
# allocator would hide what we lose, so it is malloc there. What a sanitized
# process occupies says nothing, so test_memory.py is not for it.
part_asan() {
    build asan && ctest --preset asan -L unit -j "$jobs" --progress &&
        (
            export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 PYTHONMALLOC=malloc
            run_pytest asan --ignore tests/e2e/chaos/test_memory.py tests/kernelspec tests/e2e &&
                run_pytest asan tests/frames
        )
}

part_quickstart() {
    sh examples/quickstart.sh
}

part_fuzz() {
    build fuzz && ctest --preset fuzz -L fuzz -j "$jobs" --progress
}

part_style() {
    c_files=$(find kernel bridge kernelspec tests -name '*.[ch]')
    shell_files=$(find tests examples -name '*.sh')
    # Lists of names without blanks: they are meant to be split.
    # shellcheck disable=SC2086
    clang-format --dry-run -Werror $c_files &&
        shellcheck $shell_files .ci/run &&
        build/venv/bin/python -m compileall -qq bridge/python tests kernelspec/probe.py &&
        build dev &&
        find kernel bridge kernelspec -name '*.c' -print0 |
        xargs -0 -n 4 -P "$jobs" clang-tidy --quiet -p build/dev
}

set_up
for part in $parts; do
    echo "== $part"
    if ! "part_$part"; then
        failed="$failed $part"
    fi
done
if [ -n "$failed" ]; then
    echo "== failed:$failed"
    exit 1
fi
echo "== all passed: $parts"
