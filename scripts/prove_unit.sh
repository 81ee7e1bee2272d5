#!/bin/bash
# Proves systemd/motiond.service under a real systemd: boots one as process 1 of namespaces of its own, installs
# motiond there, and has it start, reload, restart, stop in mid-motion, hang and be killed.
#
#     sudo scripts/prove_unit.sh            # on Debian 12 or later, about five minutes; exit code 0 if all holds
#
# The new root is the machine's own under an overlay in memory: what happens there changes nothing here. It needs
# root, cgroup2, overlayfs, and python3 with venv; docs/service.md says what it shows.
# shellcheck disable=SC2317 # functions are called by names that are passed on
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
pip=${PIP:-"$here/.venv/bin/python -m pip"}
work=$(mktemp -d /tmp/motiond-unit.XXXXXX)
root=$work/root
group=$(findmnt --noheadings --first-only --output TARGET --types cgroup2)/$(basename "$work")
failed=0

finish() {
    [ -z "${booted:-}" ] || kill -KILL "$booted" 2>/dev/null || true
    for _ in $(seq 50); do # its processes take a moment to end
        [ -d "$group" ] || break
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
    umount "$root" "$work/memory" 2>/dev/null || true
    rmdir "$root" "$work/memory" "$work" 2>/dev/null || true
}
trap finish EXIT

# -- a root, with motiond installed as docs/service.md says ------------------------------------------------------
mkdir "$root" "$work/memory"
mount -t tmpfs tmpfs "$work/memory"
mkdir "$work/memory/upper" "$work/memory/work"
mount -t overlay -o "lowerdir=/,upperdir=$work/memory/upper,workdir=$work/memory/work" overlay "$root"
chroot "$root" /usr/bin/python3 -m venv --without-pip /opt/motiond
site=$(echo "$root"/opt/motiond/lib/python3.*/site-packages)
$pip install --quiet --disable-pip-version-check --target "$site" "$here" 2>"$work/memory/pip" ||
    { cat "$work/memory/pip"; exit 1; }
printf '#!/opt/motiond/bin/python\nimport sys\nfrom motiond.daemon.cli.main import main\nsys.exit(main())\n' \
    >"$root/opt/motiond/bin/motiond"
chmod 755 "$root/opt/motiond/bin/motiond"
install -m 644 -D "$here/systemd/motiond.sysusers" "$root/usr/lib/sysusers.d/motiond.conf"
install -m 644 "$here/systemd/motiond.env" "$root/etc/default/motiond"
install -m 644 -D "$here/config/demo.yaml" "$root/etc/motiond/motiond.yaml"
cp -r "$here/config/robots" "$here/config/motions" "$root/etc/motiond/"
install -m 644 "$here/systemd/motiond.service" "$root/etc/systemd/system/"
for unit in systemd-udevd systemd-udev-trigger; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit.service"
done
rm -rf "$root/var/log/journal"

# -- a systemd in it -----------------------------------------------------------------------------------------------
cat >"$work/memory/boot" <<'BOOT'
set -eu
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
while read -r name major minor; do
    mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done <<DEVICES
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
DEVICES
touch "$root/dev/console"
ip link set lo up
cd "$root"
mkdir .before
pivot_root . .before
umount -l /.before
exec env -i container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target
BOOT
mkdir "$group"
bash -c 'echo $$ >"$0/cgroup.procs"; exec unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child \
    bash "$1" "$2"' "$group" "$work/memory/boot" "$root" </dev/null 2>"$work/memory/console" &
starter=$!
for _ in $(seq 100); do
    booted=$(pgrep -P "$starter" || true)
    [ -z "$booted" ] || break
    sleep 0.1
done

inside() { nsenter -t "$booted" -m -p -u -i -n -C "$@"; }
unit() { inside systemctl show --property "$1" --value motiond; }
motiond() { inside env -C / /opt/motiond/bin/motiond "$@"; }
state() { motiond status arm --json 2>/dev/null | tr -d ' \n' | sed 's/.*"state":"\([a-z]*\)".*/\1/'; }
journal() { inside journalctl --no-pager --quiet --unit motiond "$@"; }

# Looks once a second for a minute until a condition holds, and says so.
holds() {
    local what=$1
    shift
    for _ in $(seq 60); do
        if "$@" >/dev/null 2>&1; then
            echo "ok      $what"
            return
        fi
        sleep 1
    done
    echo "FAILED  $what"
    failed=1
    journal -n 20 || true
}
is() { [ "$($1)" = "$2" ]; }
shows() { [ "$(unit "$1")" = "$2" ]; }
says() { journal | grep --fixed-strings --quiet -- "$1"; }
differs() { [ "$(unit MainPID)" != "$1" ] && shows ActiveState active; }
fails() { ! "$@"; }
is_empty() { ! inside test -e /sys/fs/cgroup/system.slice/motiond.service/cgroup.procs; }

holds "systemd runs: $(inside systemctl --version | head -1)" inside systemctl is-system-running
inside systemd-sysusers 2>/dev/null
inside systemctl daemon-reload

# -- what the unit is for ------------------------------------------------------------------------------------------
holds "start: the job ends once the daemon is ready" inside systemctl start motiond
holds "start: the robot is idle, as the status says" shows StatusText "1 robot, idle"
holds "start: the journal knows the robot" sh -c \
    "nsenter -t $booted -m -p -n -C journalctl --quiet --no-pager MOTIOND_ROBOT=arm | grep -q 'arm: online'"
holds "start: the daemon has no capability" grep -q 'CapEff:.0000000000000000' \
    "/proc/$(pgrep -P "$booted" -f 'motiond run')/status"

config=$root/etc/motiond/motiond.yaml
cp "$config" "$work/memory/good.yaml"
before=$(unit MainPID)
sed -i "0,/motions:/s//stop_duration_s: 0.4\n    motions:/" "$config"
holds "reload: the job ends" inside systemctl reload motiond
holds "reload: the journal names what needs a restart" says "robots.arm.stop_duration_s changed; restart the daemon"
echo "nonsense: 1" >>"$config"
holds "reload: the job fails with a wrong configuration" fails inside systemctl reload motiond
holds "reload: the journal says why" says "unknown key 'nonsense'"
holds "reload: all of it goes on, in the same process" shows MainPID "$before"
cp "$work/memory/good.yaml" "$config"

holds "restart: the job ends once the next daemon is ready" inside systemctl restart motiond
holds "restart: it is another process, of the configuration as it is now" shows StatusText "1 robot, idle"

motiond play arm wave --no-wait >/dev/null
holds "stop in mid-motion: the robot plays" shows StatusText "1 robot, arm plays wave"
holds "stop in mid-motion: the job ends" inside systemctl stop motiond
holds "stop in mid-motion: the motion was stopped softly" says "arm: wave ended with CANCELED"
holds "stop in mid-motion: the service ended well" shows Result success
holds "stop in mid-motion: nothing is left" is_empty

inside systemctl start motiond
holds "kill: the robot is idle" is state idle
motiond play arm wave --no-wait >/dev/null
holds "kill: the robot plays" shows StatusText "1 robot, arm plays wave"
before=$(unit MainPID)
inside systemctl kill --signal KILL --kill-whom main motiond
holds "kill: the service is started again" differs "$before"
holds "kill: the stream process stopped by itself" says "arm: the daemon has gone; stopping softly, then ending"
holds "kill: systemd had to kill nothing in mid-motion" fails says "with signal SIGKILL"
holds "kill: the robot is idle again" is state idle

before=$(unit MainPID)
inside kill -STOP "$before"
holds "watchdog: systemd misses the daemon, which hangs" says "Watchdog timeout"
holds "watchdog: the service is started again" differs "$before"
holds "watchdog: the robot is idle again" is state idle
holds "nothing failed inside motiond" fails says "failed inside motiond"

inside systemctl stop motiond
exit $failed
