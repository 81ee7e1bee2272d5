#!/usr/bin/env bash
# Tries a Debian package on a fresh Debian: installs it, plays, upgrades it over a changed configuration, removes
# and purges it, and says how long it took from start to a triggered motion: try_deb.sh DEB [BASE]
#
# BASE is a tar of a Debian root; by default it is made once by debootstrap and kept in build/. Needs root, and a
# network for Debian's packages. What runs there has processes, mounts and, where it plays, a network of its own.
set -euo pipefail
deb="$(realpath "$1")"
cd "$(dirname "$0")/.."
suite="$(. /etc/os-release && echo "$VERSION_CODENAME")"
base="${2:-build/$suite.tar}"

[ "$(id -u)" -eq 0 ] || { echo "a Debian root is made by root alone; fix with: sudo $0 $*" >&2; exit 1; }
[ -e "$base" ] || command -v debootstrap >/dev/null ||
    { echo "debootstrap is missing: there is no fresh Debian to try on; fix with: apt-get install debootstrap" >&2; exit 1; }

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
root="$work/root"

fail() { echo "try_deb: $*" >&2; exit 1; }
step() { printf '\n== %s\n' "$*"; }

# enter [--net] COMMAND...: runs a command in the root; with --net, on a network that ends at its own loopback.
enter() {
    local apart=()
    if [ "$1" = --net ]; then apart=(--net); shift; fi
    # shellcheck disable=SC2016 # the inner shell's own
    unshare --mount --pid --fork --kill-child "${apart[@]}" sh -euc '
        root="$1"; shift
        ip link set lo up 2>/dev/null || true
        mount -t proc proc "$root/proc"
        mkdir -p "$root/dev/shm" && mount -t tmpfs tmpfs "$root/dev/shm"
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"' sh "$root" "$@"
}
install_deb() {
    cp "$1" "$root/tmp/motiond.deb"
    enter apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 \
        -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold /tmp/motiond.deb
}
# What is there, apart from what apt and dpkg note for themselves and from what is gone after a start.
files() {
    enter find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run -o -path /var/log \
        -o -path /var/cache/apt -o -path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -printf '%p %y %m %u\n' | sort
}

step "a fresh Debian $suite"
if [ ! -e "$base" ]; then
    install -d "$(dirname "$base")"
    debootstrap --variant=minbase "$suite" "$work/base" >"$work/debootstrap.log" ||
        { tail "$work/debootstrap.log" >&2; fail "debootstrap has failed"; }
    tar -C "$work/base" -cf "$base.part" . && mv "$base.part" "$base"
fi
install -d "$root"
tar -C "$root" -xf "$base"
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp scripts/play_once.sh "$root/tmp/play_once.sh"

step "install, and play the demonstration"
since="$(date +%s%N)"
enter apt-get update -qq
enter apt-get satisfy -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 "$(dpkg-deb -f "$deb" Depends)" >"$work/apt.log" 2>&1 ||
    { tail "$work/apt.log" >&2; fail "what the package depends on cannot be installed"; }
files >"$work/before"
install_deb "$deb"
enter --net sh /tmp/play_once.sh motiond "$since"

step "the service's configuration, as the service's user"
enter install -d -o motiond -g motiond /var/lib/motiond
# shellcheck disable=SC2016
enter --net sh -euc '
    motiond check
    setpriv --reuid=motiond --regid=motiond --init-groups \
        env STATE_DIRECTORY=/var/lib/motiond HOME=/var/lib/motiond motiond run & daemon=$!
    tries=0
    until motiond status arm 2>/dev/null | grep -q idle; do
        tries=$((tries + 1)); [ "$tries" -lt 60 ] || { echo "the robot is not idle" >&2; exit 1; }; sleep 0.5
    done
    tries=0
    until motiond play arm nod; do tries=$((tries + 1)); [ "$tries" -lt 5 ]; done
    kill "$daemon" && wait "$daemon"'
for page in motiond motiond-play; do
    [ -s "$root/usr/share/man/man1/$page.1.gz" ] || fail "$page(1) is missing"
done
enter bash -c '. /usr/share/bash-completion/completions/motiond && complete -p motiond'
[ -z "$(enter dpkg --verify motiond)" ] || fail "running it has changed its files: $(enter dpkg --verify motiond)"

step "upgrade over a changed configuration"
dpkg-deb --raw-extract "$deb" "$work/next"
sed -i 's/^Version: .*/&+next/' "$work/next/DEBIAN/control"
for file in motiond/motiond.yaml default/motiond; do echo "# of the next version" >>"$work/next/etc/$file"; done
dpkg-deb --root-owner-group -Znone --build "$work/next" "$work/next.deb" >/dev/null
echo "# of the administrator" >>"$root/etc/motiond/motiond.yaml"
cp "$root/etc/motiond/motiond.yaml" "$work/mine.yaml"
# No systemd runs here; in its place stands one that notes what it is asked, of a service that runs.
install -d "$root/run/systemd/system"
mv "$root/usr/bin/systemctl" "$work/systemctl"
printf '#!/bin/sh\necho "$*" >>/tmp/systemctl\n' >"$root/usr/bin/systemctl"
chmod 755 "$root/usr/bin/systemctl"
install_deb "$work/next.deb"
mv "$work/systemctl" "$root/usr/bin/systemctl"
rm -r "$root/run/systemd/system"
diff "$root/tmp/systemctl" - <<'ASKED' || fail "the service was not stopped before the upgrade and started after it"
--quiet is-active motiond.service
stop motiond.service
daemon-reload
daemon-reload
start motiond.service
ASKED
cmp "$work/mine.yaml" "$root/etc/motiond/motiond.yaml" || fail "the administrator's configuration was overwritten"
cmp "$work/next/etc/motiond/motiond.yaml" "$root/etc/motiond/motiond.yaml.dpkg-dist" || fail "the new configuration is not beside it"
cmp "$work/next/etc/default/motiond" "$root/etc/default/motiond" || fail "an unchanged file was not brought up to date"
enter motiond check
enter --net sh /tmp/play_once.sh motiond

step "remove"
enter apt-get remove -qq -y -o Dpkg::Use-Pty=0 motiond
[ ! -e "$root/usr/bin/motiond" ] || fail "the program is still there"
[ -e "$root/etc/motiond/motiond.yaml" ] || fail "the configuration is gone, which only a purge may take"

step "purge"
enter apt-get purge -qq -y -o Dpkg::Use-Pty=0 motiond
files >"$work/after"
diff "$work/before" "$work/after" >"$work/left" || true
# The user stays, and with it what shadow keeps of the lists of users before.
if grep -vE '^[0-9,acd]+$|^[<>] /etc/(\.pwd\.lock|(passwd|group|shadow|gshadow)-?) ' "$work/left"; then
    fail "a purge has left or taken these files"
fi
printf '\nAll has passed on %s.\n' "$suite"
