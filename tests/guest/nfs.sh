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

