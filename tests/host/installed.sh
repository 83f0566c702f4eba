#!/bin/sh
# Installs Einkorn into a directory of its own and uses libeinkorn-host from there as
# its users do: by pkg-config, shared and static, from C and from C++; and runs
# examples/agent_host.c and .py, which must do their task and print the same.
#
#   installed.sh BUILD CMAKE CC PYTHON
set -eu

build=$1
cmake=$2
cc=$3
python=$4
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log" || {
    cat "$work/install.log"
    exit 1
}
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name einkorn-host.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir einkorn-host)

# Flags are meant to be split.
# shellcheck disable=SC2046
build_example() {
    "$cc" -std=c11 -Wall -Wextra -Werror "$source/examples/agent_host.c" \
        $(pkg-config --cflags einkorn-host) "$@" -o "$work/agent_host"
}

cat >"$work/expected" <<'END'
north: 120 to 140
south: 210 to 150
west: 80 to 90
[report from analysis] [{"fell": ["south"]}]
[mistake ended] RuntimeError: host.sales error: no such region
[endless ended] Interrupted
still 3 regions, True
generation 1
False
END

# check NAME COMMAND...: its output is what the task's is
check() {
    name=$1
    shift
    if ! PATH="$work/prefix/bin:$PATH" EINKORN="$work/prefix/bin/einkorn" timeout 120 \
        "$@" >"$work/output" 2>"$work/errors" </dev/null || [ -s "$work/errors" ] ||
        ! cmp -s "$work/expected" "$work/output"; then
        echo "$name:"
        diff "$work/expected" "$work/output" || true
        cat "$work/errors"
        exit 1
    fi
}

# shellcheck disable=SC2046
build_example $(pkg-config --libs einkorn-host)
LD_LIBRARY_PATH=$libdir check "agent_host.c, shared" "$work/agent_host" "$python"
# shellcheck disable=SC2046
build_example $(pkg-config --static --libs einkorn-host | sed 's/-leinkorn-host/-l:libeinkorn-host.a/')
check "agent_host.c, static" "$work/agent_host" "$python"

# The program of the documentation, as it stands there.
# shellcheck disable=SC2016 # the backticks are Markdown's
sed -n '/^```c$/,/^```$/p' "$source/docs/host-library.md" | sed '/^```/d' >"$work/ping.c"
# shellcheck disable=SC2046
"$cc" -std=c11 -Wall -Wextra -Werror "$work/ping.c" $(pkg-config --cflags --libs einkorn-host) \
    -o "$work/ping"
[ "$(LD_LIBRARY_PATH=$libdir PATH="$work/prefix/bin:$PATH" timeout 60 "$work/ping" </dev/null)" = pong ]

check agent_host.py "$python" "$source/examples/agent_host.py" "$python"

# The header is C++ too, and a program may have names that are ours inside.
cat >"$work/names.c" <<'END'
#include <einkorn/host.h>
void *xmalloc(unsigned long n);
void *xmalloc(unsigned long n) { return n ? 0 : 0; }
void buffer_put(void);
void buffer_put(void) {}
int main(void) { return host_error_kind(0) == xmalloc(1); }
END
# shellcheck disable=SC2046
"$cc" $(pkg-config --cflags einkorn-host) "$work/names.c" "$libdir/libeinkorn-host.a" -pthread \
    -o "$work/names"
"$work/names"
printf '#include <einkorn/host.h>\nint main() { host_options o = HOST_OPTIONS_INIT; return o.size == 0; }\n' \
    >"$work/header.cc"
# shellcheck disable=SC2046
if command -v c++ >/dev/null; then
    c++ -fsyntax-only $(pkg-config --cflags einkorn-host) "$work/header.cc"
fi
