# c1 has one export at two more points, one of them a bind mount. `other` uses NFS 3, and the server by its address.
on 1 bash -c "mkdir -p '/tmp/n sp' /tmp/again; mount -t nfs4 -o vers=4.2 files.site:/scratch '/tmp/n sp'; mount --bind /n /tmp/again"
cat > /tmp/mounts.py << 'END'
for name, count in ("/n/1", 1), ("/h/2", 2), ("/tmp/n sp/3", 3), ("/tmp/again/4", 4):
    with open(name, "wb") as file:
        file.write(bytes(count << 20))
END

collected 1 alone 50
(sleep 1; collected 3 other 50) &
neighbour=$!
collected 1 victim 50
wait "$neighbour"
on 1 env SLICEWISE_JOB=mounts LD_PRELOAD=/opt/slicewise/lib/libslicewise.so python3 /tmp/mounts.py
