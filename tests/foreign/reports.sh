#!/usr/bin/env bash
# reports.sh NAME: one situation of a public report on a tool like ours, which says the same whenever it runs (docs/foreign.md lists the reports). To
# be compared, bare and under the library, by compare.py --output.
set -euo pipefail
name=${1:?a name of this file}
here=$(mktemp -d "${TMPDIR:-/tmp}/report-XXXXXX")
trap 'cd /; rm -rf "$here"' EXIT
cd "$here"
export HOME=$here LC_ALL=C TZ=UTC
libraries=/usr/lib/$(gcc -print-multiarch)

# both LIBRARY COMMAND...: before and behind what is preloaded already. What the shell says of a command that was killed names its process.
seconds=20
both() {
    both_orders "$@" 2>&1 | grep -vE ': line [0-9]+: +[0-9]+ (Killed|Segmentation fault|Aborted)' || true
}
both_orders() {
    local other=$1 order
    shift
    for order in "$other${LD_PRELOAD:+:$LD_PRELOAD}" "${LD_PRELOAD:+$LD_PRELOAD:}$other"; do
        timeout -s KILL $seconds env LD_PRELOAD="$order" "$@" || echo "status $?"
    done
}
sums() {
    find "$@" -type f -print0 | sort -z | xargs -0 -r sha256sum
}
program() {
    gcc -O1 -w -D_GNU_SOURCE -o "$1" -x c - -lpthread "${@:2}"
}

case $name in
fakechroot)
    mkdir -p root/etc root/tmp
    for command in sh mv ls cat; do
        for file in /bin/$command $(ldd /bin/$command | grep -o '/[^ ]*'); do cp --parents -L "$file" root; done
    done
    LD_PRELOAD=$libraries/fakechroot/libfakechroot.so${LD_PRELOAD:+:$LD_PRELOAD} FAKECHROOT=true FAKECHROOT_BASE=$here/root \
        sh -c 'echo x > /etc/fstab; mv /etc/fstab /etc/blub; ls /etc; cat /etc/blub; cd /tmp; pwd; ls /nothing' 2>&1 || echo $?
    fakechroot chroot root /bin/sh -c 'echo y > /etc/z; ls /etc; cat /etc/z' 2>&1 || echo $?
    sums root/etc
    ;;
fakeroot)
    fakeroot sh -c 'mkdir -p d/sub; touch d/sub/f; chown -R daemon:daemon d && chmod -R u+s d && find d -printf "%M %u %g %p\n" | sort
        mknod d/null c 1 3; stat -c "%F %t %T" d/null; tar -cf t.tar d; tar -tvf t.tar | cut -c1-25
        cp -a d e; stat -c %U e/sub/f; install -o bin e/sub/f g; stat -c %U g'
    ;;
nocache)
    seq 100000 > a
    nocache sh -c 'cp a b; cat b | md5sum; tar -cf t.tar a b; tar -xOf t.tar a | md5sum; rsync -a a b c/; ls c'
    program forks << 'C'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int is_over;
static void *open_and_close(void *path) { while (!is_over) close(open(path, O_RDONLY)); return NULL; }
int main(void)
{
    pthread_t thread[4];
    int good = 0;
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, open_and_close, "a");
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (child == 0) { close(open("a", O_RDONLY)); int fd = open("new", O_RDWR | O_CREAT, 0600); _exit(write(fd, "x", 1) != 1); }
        int status; waitpid(child, &status, 0); good += status == 0;
    }
    is_over = 1;
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    printf("%d\n", good);
}
C
    timeout 50 ./forks
    ;;
stdbuf)
    for how in -o0 -oL -o64 "-i0 -oL"; do
        # shellcheck disable=SC2086 # words
        seq 2000 | strace -f -e trace=write -o s.log stdbuf $how sed s/1/2/ | md5sum
        grep -c 'write(1, ' s.log
    done
    stdbuf -oL -eL python3 -c 'import os, sys; print(os.environ["LD_PRELOAD"].count("libstdbuf")); sys.stderr.write("e\n")'
    ;;
gperftools)
    cat > main.py << 'P'
import os
block = bytearray(300 << 20)
for k in range(30):
    child = os.fork()
    if child == 0:
        with open(f"f{k}", "w") as file:
            file.writelines(f"{i}\n" for i in range(20000))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
for i in range(30000):
    os.stat("f1")
print(sum(os.path.getsize(f"f{k}") for k in range(30)))
P
    export CPUPROFILE=$here/profile CPUPROFILE_FREQUENCY=500
    both "$libraries/libprofiler.so.0" python3 main.py 2>&1 | grep -v '^PROFILE' || true
    ;;
audit)
    program audit.so -shared -fPIC << 'C'
#include <link.h>
unsigned la_version(unsigned version) { return LAV_CURRENT; }
unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie) { return LA_FLG_BINDTO | LA_FLG_BINDFROM; }
uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags, const char *name) { return symbol->st_value; }
C
    seq 20000 > a
    LD_AUDIT=$here/audit.so sh -c 'sort -r a | md5sum; cat a > b; cmp a b && echo same; python3 -c "open(\"p\", \"w\").write(\"x\" * 9999)"; wc -c < p' 2>&1
    both "$libraries/libjemalloc.so.2" env LD_AUDIT=$here/audit.so sh -c 'sort -r a | md5sum' 2>&1 | sed 's/.*Segmentation fault.*/fault/'
    sotruss -f -T nothing cat a 2> /dev/null | md5sum
    ;;
crash_handler)
    program crash << 'C'
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static int by_fork;
static void report(int number)
{
    int status, ends[2]; pid_t child; char text[100];
    pipe(ends);
    if (by_fork) {
        if ((child = fork()) == 0) { dup2(ends[1], 1); execlp("echo", "echo", "by fork", NULL); _exit(1); }
    } else {
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        posix_spawnp(&child, "echo", &actions, NULL, (char *[]){ "echo", "by spawn", NULL }, environ);
    }
    waitpid(child, &status, 0);
    write(1, text, read(ends[0], text, sizeof text));
    _exit(status == 0 ? 40 + number : 99);
}
int main(int count, char **arguments)
{
    by_fork = arguments[1][0] == 'f';
    FILE *file = fopen("written", "w");
    fprintf(file, "before\n"); fflush(file);
    signal(SIGSEGV, report); signal(SIGABRT, report);
    if (arguments[2][0] == 'a') { char *p = malloc(10); free(p); free(p); abort(); }
    *(volatile char *)NULL = 1;
}
C
    for how in "spawn abort" "spawn segv" "fork segv"; do
        # shellcheck disable=SC2086 # words
        timeout 20 ./crash $how 2> /dev/null || echo $?
        cat written
    done
    ;;
vfork_tsc)
    program vforks << 'C'
#include <errno.h>
#include <error.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int status; FILE *file = fopen("f", "w");
    fprintf(file, "before\n"); fflush(file);
    pid_t child = vfork();
    if (child == 0) { prctl(PR_SET_TSC, PR_TSC_SIGSEGV); execlp("/no/such/program", "x", NULL); write(2, "no exec\n", 8); _exit(errno); }
    waitpid(child, &status, 0); printf("%x\n", status); fflush(stdout);
    child = fork();
    if (child == 0) { prctl(PR_SET_TSC, PR_TSC_SIGSEGV); execlp("/no/such/program", "x", NULL); error(3, errno, "no exec"); }
    waitpid(child, &status, 0); printf("%x\n", status);
    child = vfork();
    if (child == 0) { prctl(PR_SET_TSC, PR_TSC_SIGSEGV); execlp("wc", "wc", "-c", "f", NULL); _exit(9); }
    waitpid(child, &status, 0); fprintf(file, "after %x\n", status); return 0;
}
C
    ./vforks 2>&1; cat f
    ;;
toolchain)
    for i in 1 2 3 4; do printf '#include <stdio.h>\nint f%d(int a) { return printf("%%d\\n", a + %d); }\n' $i $i > f$i.c; done
    echo 'int f1(int), f2(int), f3(int), f4(int); int main(void) { return f1(1) + f2(2) + f3(3) + f4(4); }' > main.c
    printf 'a: main.o f1.o f2.o f3.o f4.o\n\tgcc -pipe -o $@ $^\n%%.o: %%.c\n\tgcc -pipe -O2 -flto -c $< -o $@\n' > Makefile
    make -s -j4 2>&1; ./a || echo $?
    gcc -O2 -save-temps -o b main.c f?.c; ./b || echo $?; printf 'x\n' | clang -E - | tail -1
    ;;
closing_daemon)
    program daemons << 'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    FILE *before = fopen("before", "w");
    fprintf(before, "buffered");
    for (int fd = sysconf(_SC_OPEN_MAX) > 100000 ? 100000 : sysconf(_SC_OPEN_MAX); fd > 2; fd--) close(fd);
    closefrom(3);
    if (fork() == 0) {
        for (int i = 0; i < 3; i++) { FILE *file = fopen("child", "a"); fprintf(file, "%d\n", i); fclose(file); }
        if (daemon(1, 0) != 0) _exit(1);
        FILE *file = fopen("daemon", "w"); fprintf(file, "daemon %d\n", fileno(file)); fclose(file); _exit(0);
    }
    wait(NULL); sleep(1); printf("%d\n", fclose(before)); return 0;
}
C
    ./daemons; sums before child daemon
    ;;
stderred)
    # shellcheck disable=SC2154 # where the caller built it
    program red << 'C'
#include <err.h>
#include <error.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    printf("%d %d %d\n", fputc('x', stderr), fputs("%s %x\n", stderr), (int)fwrite("%d\n", 1, 3, stderr));
    warnx("%s", "%x"); error(0, 2, "%s", "100%"); perror("per"); dprintf(2, "%s\n", "%n");
    FILE *file = fopen("f", "w"); printf("%d %d\n", fputc('x', file), putc_unlocked('y', file)); fclose(file); return write(2, "w\n", 2) - 2;
}
C
    both "${STDERRED:?libstderred.so}" sh -c './red; cat f; echo; ls "%x %x" /nothing; gcc -c nothing.c' 2>&1
    ;;
faketime)
    seq 20000 > a
    seconds=4
    for other in libjemalloc.so.2 libtcmalloc.so.4; do
        both "$libraries/faketime/libfaketime.so.1:$libraries/$other" env FAKETIME='@2016-01-01 01:00:00' sh -c 'date +%F; sort a | md5sum; bash -c "date +%Y"'
    done
    echo 'int main(void) { return 0; }' > main.c
    for compiler in gcc clang; do
        $compiler -fsanitize=address -o main main.c
        both "$libraries/faketime/libfaketime.so.1" env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 FAKETIME='-1d' ./main 2>&1
    done
    datefudge 2020-02-02 sh -c 'date +%F; touch f; perl -e "print time > 1.6e9, qq(\n)"; seq 3 > g; cat g'
    ;;
heap)
    seq 20000 > a
    program allocates << 'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    char line[100]; FILE *in = fopen("a", "r"), *out = fopen("b", "w");
    while (fgets(line, sizeof line, in) != NULL) fputs(line, out);
    for (int i = 0; i < 100; i++) free(malloc(i * 100));
    fclose(in); fclose(out); return system("wc -c b");
}
C
    memusage ./allocates 2>&1 | sed 's/\x1b\[[0-9;]*m//g' | grep -E '^ *(malloc|calloc|realloc|free)\||wc|b$'
    heaptrack -o h ./allocates > /dev/null 2>&1
    heaptrack_print -f h.* 2> /dev/null | grep -E '^(calls to allocation functions|temporary)' | cut -d'(' -f1
    MALLOC_CHECK_=3 MALLOC_PERTURB_=165 LD_PRELOAD=libc_malloc_debug.so.0${LD_PRELOAD:+:$LD_PRELOAD} ./allocates
    both "$(find /usr/lib -name 'libefence.so.0' | head -1)" ./allocates 2>&1 | grep -v Electric || true
    sums b
    ;;
wrappers)
    export UID_WRAPPER=1 UID_WRAPPER_ROOT=1
    both libuid_wrapper.so sh -c 'id -u; python3 -c "
import os, threading
os.setresuid(1000, 1000, 1000)
print(os.getuid(), os.stat(\".\").st_nlink)"; touch x; ls x'
    export SOCKET_WRAPPER_DIR=$here SOCKET_WRAPPER_DEFAULT_IFACE=1
    both libsocket_wrapper.so python3 -c '
import os, socket, threading
s = socket.create_server(("127.0.0.1", 7)); t = threading.Thread(target=lambda: s.accept()[0].sendall(b"x" * 10000)); t.start()
c = socket.create_connection(("127.0.0.1", 7)); print(len(b"".join(iter(lambda: c.recv(999), b"")))); t.join()'
    mkdir etc; echo 'me:x:7:7::/:/bin/sh' > etc/passwd; echo 'us:x:7:' > etc/group
    export NSS_WRAPPER_PASSWD=$here/etc/passwd NSS_WRAPPER_GROUP=$here/etc/group
    both libnss_wrapper.so sh -c 'id me; getent passwd me'
    ;;
pseudo)
    export PSEUDO_PREFIX=/usr PSEUDO_LOCALSTATEDIR=$here/state PSEUDO_NOSYMLINKEXP=1
    mkdir -p state w; cd w
    pseudo sh -c 'id -u; touch a; chown 12:34 a; mknod n c 1 3; stat -c "%u %g %F" a n
        tar -cf t.tar a n; tar -tvf t.tar | cut -c1-20; cp -a a b; stat -c %u b; mv b c; rm a; ls' 2>&1
    pseudo -S > /dev/null 2>&1 || true
    ;;
faults)
    cat > main.py << 'P'
import os
for name in ("open", "pwrite", "fsync", "rename", "read"):
    try:
        file = os.open("f", os.O_RDWR | os.O_CREAT)
        os.pwrite(file, b"x" * 10, 0), os.fsync(file), os.read(file, 5), os.rename("f", "f")
        print(name, "well")
    except OSError as error:
        print(name, "fails")
P
    for point in posix/io/rw/pwrite posix/io/sync/fsync posix/io/dir/rename; do
        fiu-run -x -c "enable name=$point" python3 main.py 2>&1
    done
    ;;
places)
    # Where a process finds other files, users, processes, clocks, addresses and rights than its parent: there is perhaps no place for a segment, and none
    # for a profile.
    cat > work << 'SH'
here=$(mktemp -d) && cd "$here" && trap 'rm -rf "$here"' EXIT || exit 9
echo one > f1; cat f1 > f2; dd if=/dev/zero of=f3 bs=4k count=4 status=none; ls -n f1 f2 f3 | wc -l; (echo child; exit 4) | cat
python3 -S -c '
import os, subprocess, threading
def write(number):
    with open(f"t{number}", "w") as file: file.write("x" * 1000)
threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
[one.start() for one in threads]; [one.join() for one in threads]
print(sum(os.path.getsize(f"t{number}") for number in range(4)), subprocess.run(["echo", "sub"], capture_output=True).stdout)'
exit 3
SH
    chmod 755 . work
    all=(--bind / / --dev /dev --proc /proc)
    shm='mount -t tmpfs tmpfs /dev/shm -o'
    run() {
        "$@" sh "$here/work" 2>&1 || echo "status $?"
    }
    run bwrap "${all[@]}" --unshare-all
    run bwrap --ro-bind / / --dev /dev --ro-bind /dev/shm /dev/shm --bind /tmp /tmp --proc /proc
    run bwrap "${all[@]}" --tmpfs /dev/shm --unshare-user --uid 4321
    run bwrap "${all[@]}" --unshare-pid --as-pid-1
    run bwrap "${all[@]}" --tmpfs /proc
    run bwrap "${all[@]}" --unshare-user --cap-drop ALL
    for options in size=16k ro nr_inodes=2 mode=000; do run unshare -m sh -c "$shm $options; exec \"\$@\"" x; done
    run unshare -U
    run unshare -Ur
    run unshare -Urpf --mount-proc
    run unshare -T --boottime 1000000 --monotonic 1000000
    run setarch -R
    run setarch -LX
    run bash -c 'ulimit -s unlimited; exec "$@"' x
    run setpriv --reuid nobody --clear-groups --no-new-privs
    run bash -c 'exec "$@" <&-' x
    for tunables in glibc.pthread.rseq=0 glibc.malloc.check=3 glibc.rtld.optional_static_tls=0; do GLIBC_TUNABLES=$tunables run env; done
    LD_BIND_NOW=1 run env
    for allocator in jemalloc.so.2 tcmalloc.so.4 tcmalloc_debug.so.4; do both "$libraries/lib$allocator" sh "$here/work"; done
    program gives_up << 'C'
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int landlock(void)
{
    struct landlock_ruleset_attr all = { .handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE | (LANDLOCK_ACCESS_FS_WRITE_FILE << 1) - 1 };
    int rules = syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    struct landlock_path_beneath_attr here = { all.handled_access_fs, open(".", O_PATH) };
    return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &here, 0) | prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) |
           syscall(SYS_landlock_restrict_self, rules, 0) | close(here.parent_fd) | close(rules);
}
static void write_some(const char *name, int count)
{
    FILE *file = fopen(name, "w");
    for (int i = 0; file != NULL && i < count; i++)
        fputs("some text\n", file);
    if (file == NULL || fclose(file) != 0)
        perror(name);
}
int main(int count, char **how)
{
    struct rlimit none = { 0, 0 };
    int status, failed = 0;
    write_some("before", 10);
    switch (how[1][0]) {
    case 'l': failed = landlock(); break;
    case 'm': failed = prctl(65, 1, 0, 0, 0); break;
    case 'd': failed = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); break;
    case 'c': failed = chroot("."); break;
    case 'u': failed = chmod(".", 0777) | setresuid(65534, 65534, 65534); break;
    case 'p': failed = unshare(CLONE_NEWPID | CLONE_NEWNS); break;
    case 'f': failed = setrlimit(RLIMIT_NOFILE, &none); break;
    case 'a': close_range(3, ~0u, 0); for (int fd = 3; fd < 60; fd++) dup2(1, fd);
    }
    printf("failed %d\n", failed);
    fflush(stdout);
    write_some("after", 1000);
    if (fork() == 0) {
        printf("child %d\n", getpid() == 1);
        write_some("child", 100);
        exit(4);
    }
    wait(&status);
    printf("status %d\n", status);
    return 5;
}
C
    for way in landlock mdwe dumpable chroot user pids files all_closed; do
        mkdir $way && (cd $way && ../gives_up $way 2>&1 || echo "status $?")
        sums $way
    done
    ;;
no_environment)
    seq 5000 > a
    env -i ${LD_PRELOAD:+LD_PRELOAD=$LD_PRELOAD} ${SLICEWISE_DIR:+SLICEWISE_DIR=$SLICEWISE_DIR} /bin/sh -c 'sort -r a | md5sum; cat a | wc -l'
    env -i ${LD_PRELOAD:+LD_PRELOAD=$LD_PRELOAD} ${SLICEWISE_DIR:+SLICEWISE_DIR=$SLICEWISE_DIR} /usr/bin/wc -l a
    ;;
*)
    echo "$name: unknown" >&2
    exit 2
    ;;
esac
