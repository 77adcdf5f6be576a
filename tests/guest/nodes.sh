# A file server, files.site, and three clients, c1 to c3, in one guest: what all clients send passes one slow link. Jobs write to /n of a client;
# /out/took has how long each writer took, by the name of its file.
set -eu
hostname fileserver
echo "127.0.0.1 localhost fileserver" > /etc/hosts
ip link set lo up
for module in bridge veth ifb sch_tbf cls_matchall act_mirred; do modprobe "$module"; done
mkdir -p /export
mount -t tmpfs -o size=1500m export /export
mkdir -m 777 /export/scratch /export/home
chmod 777 /export

ip link add br0 type bridge
ip addr add 10.9.0.1/24 dev br0
ip link set br0 up
mkdir -p /n /h
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
ip link show ifb0 > /dev/null 2>&1 || ip link add ifb0 type ifb
ip link set ifb0 up
tc qdisc add dev br0 ingress
tc filter add dev br0 parent ffff: matchall action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root tbf rate 80mbit burst 256kb limit 32mb

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
mkdir -p /out/profiles
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
# The server is sampled from here on.
sampled() {
    slicewise-collect servers &
    servers=$!
    sleep 3
}
sampled_no_more() {
    kill -TERM $servers
    wait $servers
}
neighbour=
