# An NFS server: c1 calls it by an alias, c2 by its address, and c3 uses NFS 3.
for module in nfsd nfs nfsv3 nfsv4; do modprobe "$module"; done
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /var/lib/nfs/rpc_pipefs /run/rpcbind
mount -t rpc_pipefs rpc /var/lib/nfs/rpc_pipefs
echo "/export *(rw,fsid=0,insecure,no_root_squash,async,no_subtree_check)" > /etc/exports
rpcbind
exportfs -ra
rpc.nfsd 8
rpc.mountd

echo "10.9.0.1 files files.site" > /tmp/hosts
on 1 bash -c "mount --bind /tmp/hosts /etc/hosts; mount -t nfs4 -o vers=4.2 files.site:/scratch /n; mount -t nfs4 -o vers=4.2 files.site:/home /h"
on 2 mount -t nfs4 -o vers=4.2 10.9.0.1:/scratch /n
on 3 mount -t nfs -o vers=3,nolock 10.9.0.1:/export/scratch /n

cat > /tmp/mounts.py << 'END'
block = bytes(1 << 20)
open("/n/first", "wb").write(block)
with open("/h/second", "wb") as file:
    for _ in range(8):
        file.write(block)
END

sampled
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
sampled_no_more
