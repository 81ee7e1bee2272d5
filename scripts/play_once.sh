#!/bin/sh
# Runs the demonstration of an installed motiond, triggers a motion of it as a user would, and says how long it
# took: play_once.sh MOTIOND [SINCE], with SINCE as `date +%s%N` wrote it when the installation began.
set -eu
motiond="$1" since="${2:-$(date +%s%N)}"
said="$(mktemp)"

"$motiond" demo >"$said" 2>&1 &
demo=$!
end() {
    kill -INT "$demo" 2>/dev/null || true
    wait "$demo" || true
    rm -f "$said"
}
trap end EXIT

# The demonstration says itself how to take the arm over.
tries=0
until play="$(grep -m1 -o ' play arm .*--replace.*' "$said")"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 600 ] || ! kill -0 "$demo" 2>/dev/null; then
        echo "the demonstration says nothing of how to take the arm over; it said:" >&2
        cat "$said" >&2
        exit 1
    fi
    sleep 0.1
done
# What was said is the options of one command, and has no quotes.
# shellcheck disable=SC2086
timeout 60 "$motiond" $play --no-wait
milliseconds=$((($(date +%s%N) - since) / 1000000))
# On a machine that is busy with something else a motion may be ended as too late; one has to come through.
tries=0
# shellcheck disable=SC2086
until timeout 60 "$motiond" $play; do
    tries=$((tries + 1))
    [ "$tries" -lt 5 ] || exit 1
done
echo "$("$motiond" --version): from start to a triggered motion: $((milliseconds / 1000)).$((milliseconds % 1000 / 100)) s"
