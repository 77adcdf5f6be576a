#!/usr/bin/env bash
# record.sh NAME: makes NAME.swz here with the library as it is built, in namespaces of its own (needs root), so that no name of the
# machine is in it; and NAME.json with what slicewise.profile.reader reads from it, to be checked by hand before it is committed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
name=${1:?usage: record.sh NAME}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-gcc}" -O1 -o "$work/program" "$here/program.c"
cp "$root/build/lib/libslicewise.so" "$work/"
# shellcheck disable=SC2016 # $0 is the inner shell's
unshare --mount --uts --fork bash -euc '
    hostname node1
    mount -t tmpfs scratch /mnt
    cp "$0/program" "$0/libslicewise.so" /mnt/
    mkdir /mnt/storage
    cd /mnt/storage
    env -i SLICEWISE_DIR=/mnt/profiles SLICEWISE_JOB=golden SLICEWISE_SLICE=1 LD_PRELOAD=/mnt/libslicewise.so /mnt/program
    cp /mnt/profiles/golden/node1.swz "$0/"
' "$work"
mv "$work/node1.swz" "$here/$name.swz"
PYTHONPATH="$root/tests" "$root/build/venv/bin/python" -m golden.contents "$here/$name.swz" > "$here/$name.json"
