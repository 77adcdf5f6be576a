# What c1 lost to others, by the server's samples.
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
