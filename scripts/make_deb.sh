#!/usr/bin/env bash
# Makes a Debian package of a wheel, for the release and the machine that this runs on: make_deb.sh WHEEL FOLDER
# Debian's own Python makes it, as Debian's own will run it.
set -euo pipefail
umask 022
wheel="$(realpath "$1")" folder="$(realpath "$2")"
cd "$(dirname "$0")/.."

python=/usr/bin/python3
for program in dpkg-deb "$python"; do
    command -v "$program" >/dev/null ||
        { echo "$program is missing: a Debian package is made on Debian or Ubuntu; fix with: apt-get install dpkg python3" >&2; exit 1; }
done
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    { echo "python3-venv is missing: the package holds a virtual environment; fix with: apt-get install python3-venv" >&2; exit 1; }
# The environment is for this Python and no other.
name="$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')"

made="$(mktemp -d)"
trap 'rm -rf "$made"' EXIT
root="$made/root" home="$made/root/opt/motiond"

# -- the environment -----------------------------------------------------------------------------------------

"/usr/bin/$name" -m venv "$home"
# hebi-py may not be passed on, so it is added on the machine itself; it works with no newer numpy.
constraints="$made/constraints.txt"
"$python" -c 'import sys; print("numpy<2" if sys.version_info < (3, 13) else "")' >"$constraints"
"$home/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    --constraint "$constraints" --upgrade pip "${wheel}[dynamixel,feetech,physics]"
"$home/bin/python" -m pip uninstall --quiet --yes setuptools

# Where it was made, and not where it will be, is written into its programs and into where the wheel came from.
rm -f "$home"/lib/python*/site-packages/motiond-*.dist-info/direct_url.json
sed -i '/^command = /d' "$home/pyvenv.cfg"
grep -rlIZ -- "$made" "$home/bin" | xargs -0 sed -i "s|$root||g"
find "$home" -name __pycache__ -prune -exec rm -rf {} +
"$home/bin/python" -m compileall -q --invalidation-mode unchecked-hash -s "$root" -p / "$home/lib"
if grep -rlI -- "$made" "$root"; then
    echo "these files name the folder in which the package was made; fix scripts/make_deb.sh" >&2
    exit 1
fi

# -- what belongs to the system ------------------------------------------------------------------------------

share="$root/usr/share"
put() { install -D -m 644 "$1" "$root$2"; }

put systemd/motiond.service /usr/lib/systemd/system/motiond.service
put systemd/motiond.sysusers /usr/lib/sysusers.d/motiond.conf
put systemd/motiond.env /etc/default/motiond
put debian/motiond.rules /usr/lib/udev/rules.d/60-motiond.rules
install -d "$root/usr/bin"
ln -s /opt/motiond/bin/motiond "$root/usr/bin/motiond"

# Apart from the checkout, in whose folder this runs.
motiond() { "$home/bin/python" -I -m motiond.daemon.cli "$@"; }
motiond config example "$root/etc/motiond" >/dev/null

for shell in bash:bash-completion/completions/motiond zsh:zsh/vendor-completions/_motiond \
    fish:fish/vendor_completions.d/motiond.fish; do
    install -d "$(dirname "$share/${shell#*:}")"
    motiond completion "${shell%%:*}" >"$share/${shell#*:}"
done

"$home/bin/python" -I scripts/make_man.py "$share/man/man1"
put CHANGELOG.md /usr/share/doc/motiond/changelog
put debian/copyright /usr/share/doc/motiond/copyright
gzip -9n "$share"/man/man1/* "$share/doc/motiond/changelog"
"${TOOLS:-.venv/bin}/python" scripts/make_bom.py "$home" "$share/doc/motiond" >/dev/null

# -- the package ---------------------------------------------------------------------------------------------

version="$(scripts/debian_version.sh "$(motiond --version | cut -d' ' -f2)")"
release="$(. /etc/os-release && echo "$ID${VERSION_ID:-}")"
architecture="$(dpkg --print-architecture)"
install -d "$root/DEBIAN"
sed -e "s/@VERSION@/$version-1~$release/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@PYTHON@/$name/" \
    -e "s/@SIZE@/$(du -sk --exclude=DEBIAN "$root" | cut -f1)/" debian/control.in >"$root/DEBIAN/control"
install -m 755 debian/postinst debian/prerm debian/postrm "$root/DEBIAN"
(cd "$root" && find etc -type f -printf '/%p\n' | sort >DEBIAN/conffiles)
(cd "$root" && find opt usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root" -type d -exec chmod 755 {} +

dpkg-deb --root-owner-group -Zzstd --build "$root" "$folder" >/dev/null
echo "$folder/motiond_$version-1~${release}_$architecture.deb"
