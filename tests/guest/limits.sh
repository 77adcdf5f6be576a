# Control groups (v2) of two people on two logical volumes of one disk, each with a limit, with its page cache.
set -eu
hostname n1
ip link set lo up
for module in loop ext4 dm_mod; do modprobe "$module"; done
mount -t cgroup2 none /sys/fs/cgroup
echo "+io +memory" > /sys/fs/cgroup/cgroup.subtree_control
truncate -s 900M /tmp/disk
losetup /dev/loop0 /tmp/disk
sectors=$((900 * 1024))
mkdir -p /own /other /out/profiles
first=0
export DM_DISABLE_UDEV=1
for volume in own other; do
    dmsetup create "$volume" --table "0 $sectors linear /dev/loop0 $first"
    first=$((first + sectors))
    mkfs.ext4 -q "/dev/mapper/$volume"
    mount "/dev/mapper/$volume" "/$volume"
done
device=$(cat /sys/block/loop0/dev)
mkdir /sys/fs/cgroup/users
echo "+io +memory" > /sys/fs/cgroup/users/cgroup.subtree_control
for person in anna ben; do
    mkdir "/sys/fs/cgroup/users/$person"
    echo "$device rbps=10000000 wbps=10000000" > "/sys/fs/cgroup/users/$person/io.max"
done
of() {
    local person=$1
    shift
    bash -c 'echo $$ > /sys/fs/cgroup/users/'"$person"'/cgroup.procs; exec "$@"' -- "$@"
}

cat > /tmp/writer.py << 'END'
import os, sys, time
name, block, began = sys.argv[1], os.urandom(1 << 20), time.time()
file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
for _ in range(int(sys.argv[2])):
    os.write(file, block)
os.fsync(file)
os.close(file)
with open("/out/took", "a") as took:
    took.write(f"{sys.argv[3]} {time.time() - began}\n")
END
export SLICEWISE_DIR=/out/profiles SLICEWISE_SLICE=1
bare() { of "$1" python3 /tmp/writer.py "/other/$2" "$3" "$2"; }
profiled() {
    slicewise-collect node --job "$2" --detach
    of "$1" env SLICEWISE_JOB="$2" LD_PRELOAD=/opt/slicewise/lib/libslicewise.so python3 /tmp/writer.py "/${4:-own}/$2" "$3" "$2"
    slicewise-collect stop --job "$2"
}
beside() {
    "$@" &
    neighbour=$!
    sleep 1
}
over() {
    wait "$neighbour"
    rm -f /own/victim* /own/alone /other/other /other/bare
    sync
}
(while :; do bare ben stranger 60; done) &
strangers=$!
profiled anna alone 60
beside bare anna bare 60
profiled anna victim 60
over
beside profiled anna other 60 other
profiled anna victim-of-other 60
over
kill $strangers
