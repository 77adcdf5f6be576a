# An NFS server and three clients in one guest: c1 calls the server by an alias, c2 by its address, and c3 uses NFS 3. What all clients send passes
# one slow link. /out/took has how long each writer took, by the name of its file.
set -eu
hostname nfsserver
echo "127.0.0.1 localhost nfsserver" > /etc/hosts
ip link set lo up
for module in nfsd nfs nfsv3 nfsv4 bridge veth ifb sch_tbf cls_matchall act_mirred; do modprobe "$module"; done
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /var/lib/nfs/rpc_pipefs /run/rpcbind /export
mount -t rpc_pipefs rpc /var/lib/nfs/rpc_pipefs
mount -t tmpfs -o size=1500m export /export
mkdir -m 777 /export/scratch /export/home
chmod 777 /export
echo "/export *(rw,fsid=0,insecure,no_root_squash,async,no_subtree_check)" > /etc/exports
rpcbind
exportfs -ra
rpc.nfsd 8
rpc.mountd

ip link add br0 type bridge
ip addr add 10.9.0.1/24 dev br0
ip link set br0 up
mkdir /n /h
for n in 1 2 3; do
    unshare -n -u -m --propagation private sleep 100000 &
    nodes[n]=$!
    sleep 1
    ip link add "v$n" type veth peer name "e$n"
    ip link set "v$n" master br0 up
    ip link set "e$n" netns "${nodes[n]}"
done
on() {
    local node=$1
    shift
    nsenter -t "${nodes[node]}" -n -u -m "$@"
}
for n in 1 2 3; do
    on $n bash -c "hostname c$n; ip link set lo up; ip addr add 10.9.0.1$n/24 dev e$n; ip link set e$n up"
done
ip link set ifb0 up
tc qdisc add dev br0 ingress
tc filter add dev br0 parent ffff: matchall action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root tbf rate 80mbit burst 256kb limit 32mb

echo "10.9.0.1 files files.site" > /tmp/hosts
on 1 bash -c "mount --bind /tmp/hosts /etc/hosts; mount -t nfs4 -o vers=4.2 files.site:/scratch /n; mount -t nfs4 -o vers=4.2 files.site:/home /h"
on 2 mount -t nfs4 -o vers=4.2 10.9.0.1:/scratch /n
on 3 mount -t nfs -o vers=3,nolock 10.9.0.1:/export/scratch /n

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
cat > /tmp/mounts.py << 'END'
block = bytes(1 << 20)
open("/n/first", "wb").write(block)
with open("/h/second", "wb") as file:
    for _ in range(8):
        file.write(block)
END

export SLICEWISE_DIR=/out/profiles SLICEWISE_SLICE=1
mkdir -p /out/profiles
slicewise-collect servers &
servers=$!
sleep 3
bare() { on "$1" python3 /tmp/writer.py "/n/$2" "$3" "$2"; }
profiled() { on "$1" env SLICEWISE_JOB="$2" LD_PRELOAD=/opt/slicewise/lib/libslicewise.so python3 /tmp/writer.py "/n/$2" "$3" "$2"; }
collected() {
    on "$1" env SLICEWISE_JOB="$2" slicewise-collect node --job "$2" --detach
    profiled "$@"
    on "$1" slicewise-collect stop --job "$2"
}
beside() {
    (sleep 2; "$@") &
    neighbour=$!
}
over() {
    wait "$neighbour"
    sleep 6
    rm -f /export/scratch/*
    echo 3 > /proc/sys/vm/drop_caches
}
neighbour=
collected 1 alone 100
sleep 3
beside bare 2 stranger 120
collected 1 victim 100
over
beside profiled 3 other 100
collected 1 victim-of-other 100
over
beside bare 1 own-node 120
collected 1 victim-of-own-node 100
over
on 1 env SLICEWISE_JOB=mounts LD_PRELOAD=/opt/slicewise/lib/libslicewise.so python3 /tmp/mounts.py
kill -TERM $servers
wait $servers
