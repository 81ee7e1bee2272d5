#!/usr/bin/env bash
# Prints a version of Python's (PEP 440) as Debian's, which sorts alike: debian_version.sh VERSION
#
# dpkg sorts letters behind a dot, so that 0.post1 would follow 0.1.0; a + comes before it, and a ~ before the end.
set -euo pipefail
sed -E 's/^([0-9.]+)(a|b|rc)/\1~\2/; s/^([^+]+)\.post/\1+post/; s/^([^+]+(\+post[0-9]+)?)\.dev/\1~~dev/' <<<"$1"
