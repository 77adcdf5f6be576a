# An NFS server whose files' data lie on devices that throw away what they are given: /export/null on one that takes all at once, /export/slow on
# one of 2 MiB/s. Both are real-time devices of XFS, so that names and sizes of files are kept, by a device in memory. c1 and c2 write there.
modprobe null_blk nr_devices=0
for module in xfs nfsd nfs nfsv4; do modprobe "$module"; done
mount -t configfs configfs /sys/kernel/config
# device NAME SETTING=VALUE...: /dev/NAME; nullb0, nullb1 and so on are what any kernel calls them.
device() {
    local name=$1 own=/sys/kernel/config/nullb/$1
    shift
    mkdir "$own"
    for setting in "$@"; do echo "${setting#*=}" > "$own/${setting%=*}"; done
    echo 1 > "$own/power"
    test -b "/dev/$name"
}
# file_system NAME DEVICE_OF_NAMES DEVICE_OF_DATA MIB_A_SECOND
file_system() {
    device "$2" size=512 memory_backed=1
    device "$3" size=2048 "mbps=$4"
    echo 16 > "/sys/block/$3/queue/max_sectors_kb" # null_blk never begins a request for which a tick of 20 ms is too short
    mkfs.xfs -q -f -m reflink=0,rmapbt=0 -d rtinherit=1 -r "rtdev=/dev/$3" "/dev/$2"
    mkdir "/export/$1"
    mount -o "rtdev=/dev/$3" "/dev/$2" "/export/$1"
}
file_system null nullb0 nullb1 0
file_system slow nullb2 nullb3 2
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /var/lib/nfs/rpc_pipefs /run/rpcbind
mount -t rpc_pipefs rpc /var/lib/nfs/rpc_pipefs
for line in "/export 0" "/export/null 1" "/export/slow 2"; do
    echo "${line% *} *(rw,fsid=${line#* },insecure,no_root_squash,sync,no_subtree_check)"
done > /etc/exports
rpcbind
exportfs -ra
rpc.nfsd 8
rpc.mountd
tc qdisc change dev ifb0 root tbf rate 40mbit burst 64kb limit 32mb
for n in 1 2; do
    on $n mount -t nfs4 -o vers=4.2 10.9.0.1:/null /n
    on $n mount -t nfs4 -o vers=4.2 10.9.0.1:/slow /h
    on $n mount -t tmpfs testbed /dev/shm # a collector of its own
done

# Two processes; each request is stored before the next begins.
cat > /tmp/synced.py << 'END'
import os, sys, time
name, start, block = sys.argv[1], float(sys.argv[3]), os.urandom(1 << 20)
own = "a" if os.fork() else "b"
time.sleep(max(0.0, start - time.time()))
file = os.open(name + own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_SYNC)
for _ in range(int(sys.argv[2])):
    os.write(file, block)
os.close(file)
if own == "a":
    os.wait()
END
# job NODE NAME POINT MIB START: as a sweep runs it, with a collector on its node and on the server.
# shellcheck disable=SC2154
job() {
    nsenter -t "${nodes[$1]}" -n -u -m slicewise-collect node --samples --job "$2" & # not a shell's process, which is ended
    local its=$!
    slicewise-collect node --samples --job "$2" &
    local servers=$!
    on "$1" env SLICEWISE_JOB="$2" LD_PRELOAD=/opt/slicewise/lib/libslicewise.so python3 /tmp/synced.py "$3/$2" "$4" "$5"
    kill $its $servers
    wait $its $servers || true
}
panel() {
    export SLICEWISE_DIR=/out/profiles/$1
    mkdir -p "$SLICEWISE_DIR"
    job 1 a-alone-1 "$2" "$3" 0
    job 2 b-alone-1 "$2" "$3" 0
    local start=$(($(date +%s) + 5))
    job 1 dt+0-1-a "$2" "$3" $start &
    local first=$!
    job 2 dt+0-1-b "$2" "$3" $start
    wait $first
}
panel slow /h 6
panel null /n 15
