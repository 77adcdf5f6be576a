/* Locks its memory and writes ten bytes before and after, one at a time. locked_memory WAY FILE LIMIT_KB: `current`, `both`, `touched` (as it is
 * touched), `number` (by system call), `future` (before the first write, and the rest after it), `filtered` (as `both`, under a filter that kills
 * whoever makes mlock2). LIMIT_KB: what it may lock without a privilege, 0: all.
 * Prints its locked and its resident memory in kB, and what mlockall returned. */
#include "scenario.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static void write_ten(int fd)
{
    for (int i = 0; i < 10; i++)
        REQUIRE(write(fd, "x", 1) == 1);
}

static void obey_limit(unsigned long bytes)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct sets[2];
    struct rlimit limit = { bytes, bytes };
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && unseen_syscall(SYS_capget, &head, sets) == 0);
    sets[0].effective &= ~(1u << CAP_IPC_LOCK);
    REQUIRE(unseen_syscall(SYS_capset, &head, sets) == 0);
}

static void forbid_mlock2(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mlock2, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = { sizeof steps / sizeof *steps, steps };
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static long status_kb(const char *name)
{
    static char text[8192];
    int fd = (int)unseen_syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY, 0);
    long got = unseen_syscall(SYS_read, fd, text, sizeof text - 1);
    REQUIRE(got > 0);
    text[got] = '\0';
    unseen_syscall(SYS_close, fd);
    const char *line = strstr(text, name);
    REQUIRE(line != NULL);
    return atol(line + strlen(name));
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 4);
    const char *way = argv[1];
    int result = 0;
    if (atol(argv[3]) > 0)
        obey_limit((unsigned long)atol(argv[3]) << 10);
    if (strcmp(way, "filtered") == 0)
        forbid_mlock2();
    if (strcmp(way, "future") == 0)
        result = mlockall(MCL_FUTURE);
    int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(result == 0 && fd >= 0);
    write_ten(fd);
    errno = 0;
    if (strcmp(way, "number") == 0)
        result = (int)syscall(SYS_mlockall, MCL_CURRENT | MCL_FUTURE);
    else
        result = mlockall(strcmp(way, "current") == 0   ? MCL_CURRENT
                          : strcmp(way, "touched") == 0 ? MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT
                                                        : MCL_CURRENT | MCL_FUTURE);
    int error = errno;
    write_ten(fd);
    printf("locked %ld\nresident %ld\nresult %d\nerror %d\n", status_kb("VmLck:"), status_kb("VmRSS:"), result, error);
    return 0;
}
