# shellcheck shell=sh
# To be sourced: what Debian packages a script needs, installed where they are missing.
#
#   need_packages NAME...

need_packages() {
    missing=""
    for package in "$@"; do
        case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    if [ -z "$missing" ]; then
        return 0
    fi
    if ! command -v apt-get >/dev/null; then
        echo "These Debian packages (or their like) are needed:$missing" >&2
        return 1
    fi
    echo "Installing:$missing"
    # $missing is a list of names: it is meant to be split.
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
        $missing >/dev/null 2>&1 ||
        { as_root apt-get -qq update &&
            as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
                --no-install-recommends $missing >/dev/null; }
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}
