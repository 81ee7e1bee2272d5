#!/usr/bin/env bash
# Installs a wheel or a source distribution as users do, plays, and says how long it took from start to a
# triggered motion: try_install.sh FILE [PYTHON…|pipx]
#
# Each Python gets an empty virtual environment. Without any, it tries Python 3.11, 3.12 and 3.13 as far as they
# are on PATH, with pyenv or with uv, and pipx; it fails if one does not work, and says which is not there.
set -euo pipefail
file="$(realpath "$1")"
shift
here="$(realpath "$(dirname "$0")")"
# What is installed is on trial, and not what the checkout or the user's site-packages hold.
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"

runs() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

# find_python 3.12: prints the path of such a Python, if there is one.
find_python() {
    local each
    for each in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python \
        "$(uv python find --no-python-downloads "$1" 2>/dev/null || true)"; do
        if [ -n "$each" ] && runs "$each"; then
            echo "$each"
            return
        fi
    done
}

try_pipx() {
    local since
    command -v pipx >/dev/null || { echo "pipx: not on this machine, so not tried; fix with: apt-get install pipx"; return; }
    since="$(date +%s%N)"
    export PIPX_HOME="$work/pipx" PIPX_BIN_DIR="$work/pipx/bin" PIPX_MAN_DIR="$work/pipx/man"
    pipx install --quiet "$file" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
    "$here/play_once.sh" "$PIPX_BIN_DIR/motiond" "$since" | tail -n 1 | sed "s/^/pipx $(pipx --version): /"
}

try_python() {
    local since environment="$work/environment"
    since="$(date +%s%N)"
    "$1" -m venv --clear "$environment"
    "$environment/bin/pip" install --quiet "$file" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
    "$here/play_once.sh" "$environment/bin/motiond" "$since" | tail -n 1 |
        sed "s/^/$("$1" --version), ${file##*.}: /"
}

if [ $# -eq 0 ]; then
    for version in 3.11 3.12 3.13; do
        python="$(find_python "$version")"
        if [ -n "$python" ]; then set -- "$@" "$python"; else echo "Python $version: not on this machine, so not tried"; fi
    done
    set -- "$@" pipx
fi
for each in "$@"; do
    if [ "$each" = pipx ]; then try_pipx; else try_python "$each"; fi
done
