#!/usr/bin/env bash
# tools.sh NAME: one run of other people's tools, that says the same whenever it runs: what they print, and the sums of the files that they make.
# To be compared, bare and under the library, by compare.py --output.
# shellcheck disable=SC2016 # texts in other languages
set -euo pipefail
name=${1:?a name of this file}
here=$(mktemp -d "${TMPDIR:-/tmp}/tool-XXXXXX")
trap 'cd /; rm -rf "$here"' EXIT
cd "$here"
export HOME=$here LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1700000000

sums() {
    find "$@" -type f -print0 | sort -z | xargs -0 -r sha256sum
}
numbers() {
    seq "$1" | sed 's/.*/line & of a text that can be packed/'
}

case $name in
php)
    cat > main.php << 'PHP'
<?php
file_put_contents("a", str_repeat("x", 1 << 20)); copy("a", "b"); rename("b", "c");
$f = new SplFileObject("d", "w+"); foreach (range(1, 1000) as $i) $f->fputcsv([$i, $i * $i]); $f->rewind(); $n = 0; while ($f->fgetcsv()) $n++;
echo $n, "\n", md5_file("c"), "\n";
$p = proc_open("cat; echo err >&2", [["pipe", "r"], ["pipe", "w"], ["file", "e", "w"]], $pipes);
fwrite($pipes[0], "to a child\n"); fclose($pipes[0]); echo stream_get_contents($pipes[1]); proc_close($p);
$db = new PDO("sqlite:x.db"); $db->exec("create table t (a)"); foreach (range(1, 50) as $i) $db->exec("insert into t values ($i)");
echo $db->query("select sum(a) from t")->fetchColumn(), "\n", shell_exec("wc -c < a");
PHP
    php main.php
    sums a c d e
    ;;
ruby)
    ruby -e '
File.write("a", "x" * 1_000_000); IO.copy_stream("a", "b"); puts File.foreach("b").count
r, w = IO.pipe; pid = fork { r.close; w.write("child"); exit! 3 }; w.close; puts r.read; Process.wait(pid); puts $?.exitstatus
puts IO.popen(["wc", "-c", "a"]).read; system("echo shell > c"); puts Process.wait2(spawn("exit 4"))[1].exitstatus
t = 8.times.map { |i| Thread.new { File.open("t#{i}", "w") { |f| 100.times { |k| f.puts k } } } }; t.each(&:join)
File.open("d", "r+b".sub("r+", "w+")) { |f| f.write("abc"); f.pwrite("Z", 1); puts f.pread(3, 0) }'
    sums .
    ;;
perl)
    perl -MFile::Copy -MSocket -MFcntl -e '
$| = 1; open my $f, ">", "a" or die; print $f "line $_\n" for 1 .. 20000; close $f; copy("a", "b");
open my $p, "-|", "sort -r a | head -2" or die; print while <$p>; close $p;
sysopen my $s, "c", O_RDWR | O_CREAT; syswrite $s, "x" x 70000; sysseek $s, 10, 0; sysread $s, my $got, 5; print length $got, "\n";
socketpair my $l, my $r, AF_UNIX, SOCK_STREAM, PF_UNSPEC; if (!fork) { print $l "over a socket\n"; exit 7 } close $l; print scalar <$r>; wait;
print $? >> 8, "\n";
my %h; dbmopen %h, "db", 0600; $h{$_} = $_ ** 2 for 1 .. 100; print $h{9}, "\n"; dbmclose %h'
    perl -i.bak -pe 's/line/LINE/' b
    sums a b b.bak c
    ;;
python)
    cat > main.py << 'PYTHON'
import asyncio, concurrent.futures as futures, multiprocessing as mp, os, subprocess, sys
from multiprocessing import shared_memory
def work(i):
    with open(f"w{i}", "w") as f:
        f.write(str(i) * 1000)
    return os.stat(f"w{i}").st_size
async def talk():
    p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    out, _ = await p.communicate(b"asked")
    server = await asyncio.start_unix_server(lambda r, w: (w.write(b"served"), w.close()), "socket")
    r, w = await asyncio.open_unix_connection("socket")
    got = await r.read()
    w.close(); server.close()
    return out, got
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with mp.get_context(method).Pool(2) as pool:
            print(method, pool.map(work, range(8)))
    with futures.ProcessPoolExecutor(2) as pool:
        print(list(pool.map(work, range(4))))
    print(asyncio.run(talk()))
    try:
        import uvloop
        print(uvloop.run(talk()) if hasattr(uvloop, "run") else uvloop.new_event_loop().run_until_complete(talk()))
    except ImportError:
        print("no uvloop")
    block = shared_memory.SharedMemory(create=True, size=4096); block.buf[:3] = b"abc"; print(bytes(block.buf[:3])); block.close(); block.unlink()
    a, b = os.open("w1", os.O_RDONLY), os.open("copied", os.O_RDWR | os.O_CREAT)
    print(os.copy_file_range(a, b, 500), os.sendfile(b, a, 0, 100), os.splice)
    pid = os.posix_spawn("/bin/echo", ["echo", "spawned"], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "spawned", os.O_CREAT | os.O_WRONLY, 0o600)])
    print(os.waitpid(pid, 0)[1])
    m = os.memfd_create("program"); os.write(m, open("/bin/true", "rb").read())
    pid = os.fork()
    if pid == 0:
        os.execve(m, ["true"], os.environ)
    print(os.waitpid(pid, 0)[1])
    if os.fork() == 0:
        os.setsid(); os.closerange(0, 4096)
        if os.fork() == 0:
            fd = os.open("daemon", os.O_CREAT | os.O_WRONLY); os.write(fd, b"fd %d" % fd)
        os._exit(0)
    os.wait()
    while not os.path.exists("daemon") or os.path.getsize("daemon") == 0: pass
    print(open("daemon").read(), subprocess.run(["sh", "-c", "kill -9 $$"]).returncode)
PYTHON
    python3 main.py
    sums . | grep -v main.py
    ;;
rsync)
    mkdir from; numbers 20000 > from/a; mkdir from/d; cp /bin/ls from/d; ln -s a from/l; ln from/a from/h; truncate -s 5M from/sparse
    rsync -aHS --out-format=%n from/ to/ | sort
    echo more >> from/a
    rsync -ac --inplace --no-whole-file --out-format=%n from/ to/ | sort
    printf '#!/bin/sh\nshift\nexec "$@"\n' > shell; chmod +x shell
    rsync -a -e "$here/shell" from/ "here:$here/far" | sort
    sums to far
    ;;
archives)
    mkdir d; numbers 30000 > d/a; cp /bin/bash d; touch -d @0 d/* d; head -c 300000 /dev/zero > d/z
    tar --sort=name --mtime=@0 --owner=0 --group=0 -c d > d.tar
    xz -1 -T2 -k d.tar; zstd -q -T2 -k d.tar; pigz -n -p4 -k d.tar; bzip2 -k d.tar; pbzip2 -p2 -c d.tar > p.bz2; lz4 -q -k d.tar; pixz d.tar d.pxz
    7z a -mmt=2 d.7z d > /dev/null; (cd d && find . -type f | sort | cpio -o --quiet --reproducible -H newc) > d.cpio
    mksquashfs d d.sqfs -quiet -no-progress -all-root -mkfs-time 0 -all-time 0 -processors 2 > /dev/null
    for packed in xz zst gz bz2 lz4; do tar -xf d.tar.$packed --one-top-level=$packed; done
    unsquashfs -q -n -d sq d.sqfs > /dev/null; 7z x -o7 d.7z > /dev/null; pixz -d d.pxz px.tar
    sums xz zst gz bz2 lz4 sq 7 d.tar px.tar d.tar.xz d.tar.zst d.tar.gz d.cpio d.sqfs
    ;;
sqlite)
    sqlite3 x.db 'pragma journal_mode=wal; pragma mmap_size=67108864; create table t (a, b);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000) insert into t select i, hex(i * 7919) from n;
    create index k on t (b); pragma wal_checkpoint(truncate);'
    for i in 1 2 3 4; do sqlite3 x.db ".timeout 20000" "begin immediate; insert into t values ($i, 'w'); commit;" & done; wait
    sqlite3 x.db 'select count(*), sum(a) from t; pragma integrity_check; vacuum' '.backup y.db' '.dump' | sort | sha256sum
    sqlite3 y.db 'select count(*) from t'
    ;;
ffmpeg)
    ffmpeg -v error -f lavfi -i testsrc=duration=2:size=320x240:rate=25 -f lavfi -i sine=duration=2 -threads 2 -c:v mpeg4 -c:a aac -fflags +bitexact \
        -flags +bitexact a.mkv
    ffmpeg -v error -i a.mkv -map 0:v -f image2 -fflags +bitexact f%03d.png
    ffmpeg -v error -i a.mkv -f framemd5 - | sha256sum
    sums . | sha256sum
    ;;
git)
    export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
        GIT_COMMITTER_EMAIL=a@b
    git init -q -b main r; cd r; git config gc.auto 0
    for i in $(seq 40); do numbers $((i * 20)) > "f$((i % 7))"; git add .; git commit -q -m "$i"; done
    git -c pack.threads=2 repack -adq --depth=10; git gc -q --aggressive --prune=now; git fsck --full --strict
    git count-objects -v | grep -E 'count|in-pack'
    git clone -q . ../c; git worktree add -q ../w HEAD~3; git -C ../c log --format=%H | sha256sum; git archive HEAD | sha256sum; git stash list
    git bundle create -q ../b HEAD; git bundle verify -q ../b
    ;;
emacs)
    echo '(defun twice (x) (* 2 x)) (provide (quote a))' > a.el
    emacs -Q --batch -f batch-byte-compile a.el 2>&1 | grep -v '^Warning' || true
    emacs -Q --batch -l ./a.elc --eval '(progn (princ (twice 21)) (terpri) (with-temp-file "b" (dotimes (i 10000) (insert (format "%d\n" i))))
    (princ (shell-command-to-string "wc -l < b")) (let ((p (start-process "c" nil "cat"))) (process-send-string p "x\n") (process-send-eof p) (while
    (process-live-p p) (accept-process-output p 1))) (princ (buffer-size (find-file-noselect "b"))))'
    sums b
    ;;
r)
    Rscript --vanilla -e 'd <- data.frame(a = 1:20000, b = sqrt(1:20000)); write.csv(d, "d.csv", row.names = FALSE); e <- read.csv("d.csv");
    print(sum(e$a)); saveRDS(d, "d.rds"); print(dim(readRDS("d.rds")))
    print(unlist(parallel::mclapply(1:4, function(i) { writeLines(as.character(i), paste0("m", i)); i^2 }, mc.cores = 2)))
    print(system("echo from a shell", intern = TRUE)); f <- fifo("p", "w+", blocking = FALSE); close(f)'
    sums d.csv m1 m4
    ;;
octave)
    octave-cli --norc --quiet --eval 'x = magic(100); save("-binary", "x.bin", "x"); save("-text", "y.txt", "x"); clear x; load("x.bin");
    printf("%d\n", sum(x(:))); [s, o] = system("echo shell"); printf("%s", o); f = fopen("z", "w"); fwrite(f, 1:1000, "double"); fclose(f);
    f = fopen("z"); printf("%d\n", sum(fread(f, Inf, "double"))); fclose(f);'
    sums z
    ;;
mariadb)
    mysql_install_db --no-defaults --user=root --auth-root-authentication-method=normal --skip-test-db --datadir="$here/data" > log 2>&1 || { cat log; exit 1; }
    mariadbd --no-defaults --user=root --datadir="$here/data" --socket="$here/s" --skip-networking --innodb-buffer-pool-size=32M > server.log 2>&1 &
    server=$!
    trap 'cd /; kill "$server"; wait "$server"; rm -rf "$here"' EXIT
    for _ in $(seq 300); do mariadb-admin --no-defaults -S s ping > /dev/null 2>&1 && break; sleep 0.1; done
    mariadb --no-defaults -S s -N -e 'create database b; use b; create table b.t (a int primary key, b varchar(100)) engine=innodb;
    insert into b.t select seq, repeat("x", 90) from seq_1_to_20000; update b.t set b = "y" where a % 3 = 0;
    select count(*), sum(a), sum(length(b)) from b.t; create table b.m engine=aria select * from b.t; check table b.m, b.t' 2>&1
    mariadb-dump --no-defaults -S s --skip-dump-date b | sha256sum
    mariadb-admin --no-defaults -S s shutdown
    wait "$server"
    trap 'cd /; rm -rf "$here"' EXIT
    ;;
fio)
    for engine in io_uring libaio posixaio mmap sync psync pvsync2 splice; do
        fio --name=j --ioengine=$engine --rw=randwrite --bs=16k --size=4m --numjobs=2 --iodepth=8 --verify=crc32c --do_verify=1 --group_reporting --minimal \
            --directory="$here" > "$engine.log" 2>&1 || { cat "$engine.log"; exit 1; }
        echo "$engine sound"
    done
    ;;
hdf5)
    python3 -c '
import h5py, numpy
with h5py.File("a.h5", "w", libver="latest") as f:
    f.create_dataset("x", data=numpy.arange(200000).reshape(400, 500), chunks=(40, 50), compression="gzip")
    f.create_group("g").attrs["k"] = 3
with h5py.File("a.h5") as f: print(f["x"][5].sum(), f["g"].attrs["k"])'
    h5dump -d /x -s 3,3 -c 2,2 a.h5; h5repack -f GZIP=9 a.h5 b.h5; h5diff a.h5 b.h5; h5ls -r b.h5
    printf 'netcdf n { dimensions: x = 5; variables: int v(x); data: v = 1,2,3,4,5; }' > n.cdl; ncgen -o n.nc n.cdl; ncdump n.nc;
    nccopy -k 4 n.nc m.nc 2>&1; ncdump m.nc
    ;;
pictures)
    convert -size 300x200 gradient:red-blue a.png; convert a.png -resize 50% -strip b.ppm; identify b.ppm | cut -d' ' -f2-4; sha256sum b.ppm
    printf '%%!PS\n/Helvetica findfont 20 scalefont setfont 50 50 moveto (text) show showpage\n' > a.ps;
    gs -q -dNOPAUSE -dBATCH -sDEVICE=pgmraw -sOutputFile=a.pgm a.ps; sha256sum a.pgm
    printf '\\\\pdfinfoomitdate=1\\\\pdftrailerid{}Hello \\\\bye' > t.tex; pdftex -interaction=batchmode t.tex > /dev/null; sha256sum t.pdf
    sox -n -r 8000 a.wav synth 1 sine 440; sha256sum a.wav
    ;;
builds)
    for i in $(seq 60); do echo "int f$i(int x) { return x * $i; }" > "s$i.c"; done
    { for i in $(seq 60); do echo "int f$i(int);"; done; echo '#include <stdio.h>'; echo 'int main(void) { int s = 0;'; for i in $(seq 60)
    do echo "s += f$i(1);"; done; echo 'return printf("%d", s) < 0; }'; } > main.c
    printf 'OBJECTS = $(patsubst %%.c,%%.o,$(wildcard *.c))\nprogram: $(OBJECTS)\n\t@$(CC) -o $@ $^\n%%.o: %%.c\n\t@$(CC) -c -O1 -pipe $< -o $@\n' > Makefile
    make -s -j4; ./program; sha256sum program
    printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nfile(GLOB S *.c)\nadd_executable(q ${S})\n' > CMakeLists.txt
    cmake -G Ninja -S . -B b -DCMAKE_C_COMPILER_LAUNCHER=ccache > /dev/null; CCACHE_DIR=$here/cc ninja -C b -j4 > /dev/null; b/q
    ninja -C b -t clean > /dev/null; CCACHE_DIR=$here/cc ninja -C b -j4 > /dev/null; b/q
    gcc -flto -O2 -flto=2 -o l ./*.c 2>&1; ./l
    seq 40 | parallel --will-cite -j4 -k 'echo {} | tee p{} | wc -c' | sort | uniq -c
    ;;
package)
    cp "${FOREIGN_SOURCE:?a .dsc with its files}"/* .
    dpkg-source -x ./*.dsc p > /dev/null 2>&1
    cd p; DEB_BUILD_OPTIONS="parallel=4 nocheck" fakeroot debian/rules binary > ../log 2>&1 || { tail -5 ../log; exit 1; }
    cd ..; for deb in *.deb; do dpkg-deb -c "$deb" | awk '{ print $1, $2, $3, $6 }'; done
    ;;
dpkg)
    root=$here/root; mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" pkg/DEBIAN pkg/usr/share/x; : > "$root/var/lib/dpkg/status"
    printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n' > pkg/DEBIAN/control; numbers 500 > pkg/usr/share/x/f
    dpkg-deb --root-owner-group -b pkg x.deb > /dev/null; dpkg --force-script-chrootless --root="$root" -i x.deb; dpkg --root="$root" -V x
    dpkg --root="$root" -P x
    ;;
preloads)
    numbers 5000 > a
    for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 libeatmydata.so; do
        for order in "$other${LD_PRELOAD:+:$LD_PRELOAD}" "${LD_PRELOAD:+$LD_PRELOAD:}$other"; do
            LD_PRELOAD=$order sort -r a | LD_PRELOAD=$order gzip -n | sha256sum
            LD_PRELOAD=$order python3 -c '
import os
f = open("b", "w"); f.write("x" * 100000); f.flush(); os.fsync(f.fileno())
print(os.stat("b").st_size)'
        done
    done
    fakeroot sh -c 'touch r; chown 12:34 r; mkdir m; tar -cf t.tar r; stat -c %u:%g r; tar -tvf t.tar | cut -d" " -f2'
    faketime '2020-02-02 02:02:02' sh -c 'date -u +%F; touch f; stat -c %y f | cut -c1-10'; faketime -f '-1d x2' sh -c 'sleep 0.2; echo slept'
    eatmydata sh -c 'sync; dd if=/dev/zero of=d bs=4k count=10 conv=fsync status=none; wc -c < d'
    proot -b /usr -w / sh -c 'cat /etc/debian_version; id -u' | tail -1; proot -0 id -u
    ;;
tracers)
    echo 'int puts(const char *); int main(void) { return puts("traced") < 0; }' > a.c; gcc -g -o a a.c
    strace -f -o s.log sh -c './a; cat a.c | wc -l'; grep -c '^[0-9]* *+++ exited' s.log
    gdb -q -batch -ex 'break main' -ex run -ex next -ex continue ./a 2>&1 | grep -cE 'Breakpoint 1|exited normally'
    valgrind -q --error-exitcode=9 ./a
    valgrind -q --tool=callgrind --callgrind-out-file=/dev/null ./a 2> /dev/null
    qemu-x86_64 ./a
    ;;
static)
    printf 'a\nb\n' | busybox sort -r; busybox sh -c 'busybox seq 5 | busybox awk "{ s += \$1 } END { print s }"; echo x > f; busybox md5sum f;
    busybox tar -c f | busybox tar -t'
    printf '#include <stdio.h>\n#include <unistd.h>\nint main(void) { FILE *f = fopen("m", "w"); fprintf(f, "musl"); fclose(f); puts("musl");
    fflush(stdout); execlp("cat", "cat", "m", (char *)0); return 1; }' > m.c
    musl-gcc -o m.static -static m.c; ./m.static; echo; musl-gcc -o m.dynamic m.c; ./m.dynamic 2>&1; echo; printf 'int main(void) { return 5;
    }' > n.c; gcc -static -o n n.c; ./n || echo $?
    ;;
sandboxes)
    bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-all sh -c 'echo in > /tmp/x; cat /tmp/x; ls /tmp/x'
    bwrap --ro-bind / / --unshare-net --new-session cat /etc/debian_version
    unshare -m -p -f --mount-proc sh -c 'echo $$; ls /proc | grep -c "^[0-9]"'; unshare -n cat /proc/net/dev | wc -l
    setpriv --no-new-privs --reuid nobody --regid nogroup --clear-groups sh -c 'id -un; cat /etc/shadow; touch /tmp/mine-$$ && rm /tmp/mine-$$' 2>&1
    su nobody -s /bin/sh -c 'echo as nobody; cd /; ls -d tmp'; chroot / id -un; timeout 5 sh -c 'ulimit -n 5;
    cat /etc/hostname > /dev/null && echo few; ulimit -f 1; head -c 10000 /dev/zero > big; echo $?' 2>&1
    nice -n 5 nohup sh -c 'echo nohup' < /dev/null | cat; setsid -w sh -c 'echo own session'; script -qec 'echo typed; tty > /dev/null' /dev/null
    flock l sh -c 'echo locked'
    ;;
sshd)
    ssh-keygen -q -t ed25519 -N '' -f key; ssh-keygen -q -t ed25519 -N '' -f host; chmod 700 .; mkdir -p /run/sshd; cp key.pub keys
    printf 'HostKey %s/host\nAuthorizedKeysFile %s/keys\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nLogLevel QUIET\n' "$here" "$here" > config
    printf 'Subsystem sftp internal-sftp\nPermitUserEnvironment no\n' >> config
    proxy="ProxyCommand=/usr/sbin/sshd -i -f $here/config"
    options=(-q -F /dev/null -i key -o "$proxy" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null)
    ssh "${options[@]}" root@x 'echo over ssh; cat' < keys | head -1; numbers 5000 > a; scp "${options[@]}" a root@x:"$here/b"; cmp a b
    echo "get $here/a $here/c" | sftp -b - "${options[@]}" root@x > /dev/null; cmp a c; ssh "${options[@]}" root@x 'exit 7' || echo $?
    ;;
shells)
    for shell in bash dash zsh ksh mksh "busybox sh"; do
        $shell -c 'x=$(echo in); (cd /; pwd); echo $x | { read y; echo $y; } ; exec 9> f; echo nine >&9; exec 9>&-; cat f; cat << EOF
here $x
EOF
sleep 0 & wait; trap "echo trapped" USR1; kill -USR1 $$; f() { echo f > g; }; f; cat < g; exit 3' || echo $?
    done
    for a in gawk mawk; do $a 'BEGIN { while (("seq 3" | getline x) > 0) s += x; print s; print "out" > "o"; close("o"); "cat o" | getline y;
    print y; system("echo sys"); print "p" | "cat 1>&2" }' 2>&1; done
    lua5.4 -e 'local f = io.open("l", "w"); for i = 1, 1000 do f:write(i, "\n") end; f:close(); local n = 0; for _ in io.lines("l") do n = n + 1 end;
    print(n); local p = io.popen("echo popen"); print(p:read("a")); print(os.execute("exit 3"))'
    echo 'set f [open t w]; puts $f text; close $f; puts [exec cat t]; set p [open "|sort" r+]; puts $p b; puts $p a; close $p write;
    puts [read $p]' | tclsh 2>&1; echo '2^100' | bc
    expect -c 'log_user 0; spawn sh; send "echo exp\$((1+1))\r"; expect "exp2"; puts seen; send "exit\r"; expect eof'
    tmux -L "t$$" -f /dev/null new-session -d 'echo in tmux > tm; sleep 0.2'; for _ in $(seq 50); do [ -s tm ] && break; sleep 0.1; done; cat tm
    ;;
samtools)
    { printf '@SQ\tSN:c\tLN:100000\n'; seq 2000 | awk '{ printf "r%d\t0\tc\t%d\t60\t10M\t*\t0\t0\tACGTACGTAC\tIIIIIIIIII\n", $1, ($1 * 7919) % 90000 + 1 }'
    } > a.sam
    samtools view -b -o a.bam a.sam; samtools sort -@ 2 -m 1M -o s.bam a.bam; samtools index s.bam; samtools flagstat s.bam
    samtools view s.bam c:1000-2000 | md5sum; samtools depth s.bam | tail -1; printf '>c\n%0100000d\n' 0 | tr 0 A > c.fa; samtools faidx c.fa
    samtools view -C -T c.fa -o s.cram s.bam; samtools view -T c.fa s.cram | cut -f1-11 | md5sum
    printf '##fileformat=VCFv4.2\n##contig=<ID=c>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nc\t5\t.\tA\tC\t9\t.\t.\n' > v.vcf
    bcftools view --no-version -Oz -o v.vcf.gz v.vcf; bcftools index v.vcf.gz; bcftools view --no-version v.vcf.gz | md5sum; bcftools index -s v.vcf.gz
    ;;
latex)
    printf '\\documentclass{article}\\begin{document}\\tableofcontents\\section{A}\\label{a}In~\\ref{a}.\\newpage B\\end{document}\n' > a.tex
    for _ in 1 2; do pdflatex -interaction=batchmode a > /dev/null; done; pdftotext a.pdf - | head -5; sums a.aux a.toc
    gs -q -dNOPAUSE -dBATCH -sDEVICE=pnggray -r50 -sOutputFile=p%d.png a.pdf; sums p1.png p2.png; pdfinfo a.pdf | grep -E 'Pages|Page size'
    gs -q -dNOPAUSE -dBATCH -sDEVICE=ps2write -sOutputFile=- a.pdf | wc -l
    ;;
packers)
    mkdir d; for n in 1 2 3; do numbers $((n * 3000)) > "d/$n"; done; ln d/1 d/hard; ln -s 1 d/soft; touch -d @1700000000 d d/*
    touch -h -d @1700000000 d/soft
    for form in ustar pax cpio zip 7zip; do bsdtar --format $form --numeric-owner -cf "a.$form" d/1 d/2 d/3; bsdtar -tf "a.$form"; done
    bsdtar -czf - d | bsdtar -xzf - --strip-components 1 -C "$(mktemp -d "$here/x-XXX")"; cat x-*/hard | md5sum
    for tool in zstd 'lz4 -m' xz; do $tool -q -k d/3; for packed in d/3.*; do $tool -q -dc "$packed" | md5sum; rm "$packed"; done; done
    zstd -q -T2 -19 --long=20 -c d/2 | zstd -q -dc | md5sum
    find d | sort | cpio -o -H newc --quiet --reproducible --renumber-inodes > a.newc; cpio -t --quiet < a.newc; 7z a -bd -mmt2 b.7z d > /dev/null
    7z t b.7z | grep -c 'Everything is Ok'
    mksquashfs d a.sq -quiet -no-progress -all-root -processors 2 > /dev/null; unsquashfs -q -n -d u a.sq > /dev/null; sums u
    genisoimage -quiet -R -o a.iso d 2> /dev/null; bsdtar -tf a.iso | sort; mformat -C -f 1440 -i a.img ::; mcopy -i a.img d/1 ::; mtype -i a.img ::1 | md5sum
    ;;
searchers)
    mkdir -p t/{a,b,c}/{d,e}; for f in t/*/*; do numbers 500 > "$f/x.txt"; done; for s in 1 2 8; do rg -j "$s" -c 'line 4.9' t | sort | md5sum; done
    rg --mmap -c packed t | sort | tail -1
    rg --no-mmap --files t | sort; fdfind -j 4 -e txt . t | sort; fdfind -x wc -l \; -e txt . t | sort | md5sum
    find t -name '*.txt' -print0 | xargs -0 -P 4 -n 1 md5sum | sort
    jq -n '[range(1000)] | add'; jq -c --stream . <<< '{"a":[1,{"b":2}]}'; gawk -i inplace '{ print NR, $0 }' t/a/d/x.txt; md5sum t/a/d/x.txt
    printf '1,$s/line/LINE/\nw\nq\n' | ed -s t/b/d/x.txt; md5sum t/b/d/x.txt
    ;;
graphs)
    seq 50 | awk '{ print $1, $1 * $1 }' > data; gnuplot -e 'set term dumb 60 15; plot "data" with lines' | md5sum
    gnuplot -e 'set term svg; set output "a.svg"; plot "data"'; sums a.svg
    seq 40 | awk 'BEGIN { print "digraph g {" } { print $1, "->", int($1 / 2) } END { print "}" }' > g.dot; dot -Tplain g.dot | md5sum
    neato -Tsvg g.dot -o g.svg; sums g.svg
    printf '.TH A 1\n.SH NAME\na \\- b\n' | groff -man -Tascii | md5sum; printf '.TS\ntab(;);\nl l.\na;b\n.TE\n' | groff -t -Tps | grep -c showpage
    ;;
gromacs)
    printf '#include "oplsaa.ff/%s.itp"\n' forcefield spc > water.top
    printf '[ system ]\nwater\n[ molecules ]\nSOL 216\n' >> water.top
    printf '%s\n' 'nsteps = 50' 'nstxout = 10' 'nstenergy = 10' 'rcoulomb = 0.6' 'rvdw = 0.6' 'coulombtype = reaction-field' > water.mdp
    gmx -quiet grompp -f water.mdp -c /usr/share/gromacs/top/spc216.gro -p water.top -o run.tpr -maxwarn 9 > /dev/null 2>&1
    gmx -quiet mdrun -s run.tpr -deffnm out -nt 1 -reprod > /dev/null 2>&1
    gmx -quiet check -f out.trr 2>&1 | grep -E '^(Coords|Box|Step)'
    echo 0 | gmx -quiet trjconv -f out.trr -s run.tpr -o new.gro -pbc mol > /dev/null 2>&1
    printf 'Potential\n\n' | gmx -quiet energy -f out.edr -o e.xvg 2> /dev/null | grep -E '^Potential'
    grep -v '^#' e.xvg | sha256sum
    sums new.gro out.trr
    ;;
postmark)
    printf 'set location %s\nset number 500\nset transactions 2000\nset seed 7\nset report terse\nrun\nquit\n' "$here" | postmark | grep -c .
    find . -type f | wc -l
    ;;
sockets)
    python3 -m http.server --bind 127.0.0.1 0 > log 2>&1 & server=$!
    for _ in $(seq 100); do port=$(grep -oE 'port [0-9]+' log | cut -d' ' -f2) && [ -n "$port" ] && break; sleep 0.1; done; numbers 20000 > served
    curl -sS "http://127.0.0.1:$port/served" -o a; curl -sS --range 100-199 "file://$here/served" -o r
    curl -sSZ --no-progress-meter "http://127.0.0.1:$port/served" -o b "file://$here/served" -o c; kill "$server"; wait "$server" || true
    sums a b c r; curl -sS http://127.0.0.1:1/ 2> /dev/null || echo $?; curl -sS -w '%{size_download}\n' -o /dev/null "file://$here/served"
    ;;
busybox)
    bb() { busybox "$@"; }; numbers 3000 > a; for z in gzip bzip2; do bb $z -c a 2> /dev/null | bb sha1sum; done; bb gzip -c a | bb gunzip -c | cmp - a
    bb tar -czf t.tgz a; bb tar -tzf t.tgz
    bb dd if=a of=b bs=1000 skip=1 count=3 2> /dev/null; bb md5sum b; split -l 1000 a s.; ls s.*; bb sort -rn -k2 a > sorted; bb head -2 sorted
    bb find . -name 's.*' -exec busybox wc -l {} +; bb sed -i 's/line/LINE/' b; bb md5sum b
    bb sh -c 'for i in 1 2 3; do (echo $i; exit $i) || echo "was $?"; done; x=$(busybox cat a | busybox wc -c); echo $x'; bb cp -a a c; bb ln -s a l
    bb readlink l; bb stat -c %s c; bb head -c 10 c | bb hexdump -C; bb diff a b | bb tail -2 || true
    ;;
*) echo "tools.sh: $name: no such run here" >&2; exit 2 ;;
esac
