#!/bin/sh
# What the files of Einkorn need of others and show to each other and to Python.
#
#   check.sh PROGRAM DIR LIBDIR   PROGRAM is einkorn; DIR holds einkorn-kernel.so,
#                                 einkorn-python and _einkorn.abi3.so; LIBDIR holds
#                                 libeinkorn-host.so and .a
#
# The program needs the C library alone, so that it spawns Python before ZeroMQ is
# loaded; ours in it and in the shared object is hidden, but for what there must be
# one of in the process.
#
# The runner may need symbols of CPython 3.11's stable ABI and of the C library
# only (newer headers let newer names slip in), and exports two names; the
# launcher exports none and needs the C library alone, so that no library of
# ours meets one that an extension module brings.
#
# libeinkorn-host shows what kernel/host.h declares, neither more nor less, and needs
# the C library alone.
set -eu

program=$1
dir=$2
libdir=$3
here=$(dirname "$0")
failed=0

# complain TEXT: for each line on standard input
complain() {
    while read -r line; do
        echo "$1: $line"
        failed=1
    done
    return $failed
}

nm -D --undefined-only "$dir/_einkorn.abi3.so" | awk '$1 == "U" && $2 !~ /@GLIBC_/ { print $2 }' |
    grep -vxF -f "$here/stable_abi_3.11.txt" |
    complain "runner needs a symbol outside the stable ABI of 3.11 and libc" || failed=1

nm -D --defined-only "$dir/_einkorn.abi3.so" | awk '{ print $3 }' |
    grep -vxE 'PyInit__einkorn|einkorn_runner_configure' |
    complain "runner exports" || failed=1

for name in PyInit__einkorn einkorn_runner_configure; do
    if ! nm -D --defined-only "$dir/_einkorn.abi3.so" | grep -q " $name\$"; then
        echo "runner does not export: $name"
        failed=1
    fi
done

for file in "$program" "$dir/_einkorn.abi3.so" "$dir/einkorn-python" "$libdir/libeinkorn-host.so"; do
    readelf -d "$file" | awk '/NEEDED/ { gsub(/[][]/, "", $5); print $5 }' |
        grep -vxE 'libc\.so\.6|ld-linux-.*' |
        complain "$file needs a library beyond libc" || failed=1
done

nm -D --defined-only "$dir/einkorn-python" | awk '$2 == "T" { print $3 }' |
    complain "launcher exports" || failed=1

for file in "$program" "$dir/einkorn-kernel.so"; do
    nm -D --defined-only "$file" | awk '$2 == "T" { print $3 }' |
        grep -vxE '_start|accept4|file_limit(_raise|_restore)?|log_(init|error|warning|info|debug)|einkorn_entry' |
        complain "$file exports" || failed=1
done

for name in accept4 file_limit_restore log_error; do
    if ! nm -D --defined-only "$program" | grep -q " $name\$"; then
        echo "the program does not export: $name"
        failed=1
    fi
done

declared=$(sed -n 's/^HOST_API .*[ *]\(host_[a-z_]*\)(.*/\1/p' "$here/../../kernel/host.h" | sort)
for library in "-D $libdir/libeinkorn-host.so" "-g $libdir/libeinkorn-host.a"; do
    # shellcheck disable=SC2086 # an option and a file
    shown=$(nm --defined-only $library | awk 'NF == 3 { print $3 }' | sort)
    if [ "$declared" != "$shown" ]; then
        echo "$library does not show just what host.h declares:"
        printf '%s\n-- declared:\n%s\n' "$shown" "$declared"
        failed=1
    fi
done

exit $failed
