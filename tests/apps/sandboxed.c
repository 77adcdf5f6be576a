/* Programs that forbid themselves system calls: sandboxed HOW ACTION CALL[,CALL...] [PROGRAM ARGUMENTS].
 * Writes 100 bytes to `before` ten times, installs a filter (by prctl, by seccomp, or `raw`, as no library sees it) that answers the calls by
 * `trap` (the handler of SIGSYS answers -EACCES), `errno` or `kill`, or only for descriptors above 100 (`kill_far`), and then reads,
 * opens, prints and writes, or becomes PROGRAM.
 * HOW can also be `strict` (what is left then are read, write and exit), `tsc` (the tick counter is forbidden) and `dispatch` (system calls from elsewhere
 * than libc are the program's own to answer). */
#include "scenario.h"

#include <linux/audit.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <ucontext.h>

static const struct { const char *name; int number; } numbers[] = {
#define CALL(name) { #name, SYS_##name }
    CALL(openat), CALL(statx), CALL(getpid), CALL(gettid), CALL(mmap), CALL(munmap), CALL(getdents64), CALL(writev), CALL(madvise), CALL(futex),
    CALL(rt_sigprocmask), CALL(close), CALL(pread64), CALL(readlinkat), CALL(mkdirat), CALL(unlinkat), CALL(ftruncate), CALL(fallocate),
    CALL(getcwd), CALL(geteuid), CALL(prlimit64), CALL(fcntl), CALL(kill), CALL(tgkill), CALL(process_vm_readv), CALL(newfstatat),
    CALL(getrusage), CALL(fstat), CALL(clock_gettime), CALL(flock), CALL(prctl), CALL(clock_getres), CALL(sched_yield), CALL(nanosleep), CALL(fchmod),
    CALL(openat2), CALL(getppid), CALL(faccessat), CALL(renameat2), CALL(lseek), CALL(close_range), CALL(wait4), CALL(clone),
};

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define RESULT(context) (context)->uc_mcontext.gregs[REG_RAX]
#else
#define ARCH AUDIT_ARCH_AARCH64
#define RESULT(context) (context)->uc_mcontext.regs[0]
#endif

static void answer(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    RESULT((ucontext_t *)context) = (unsigned long)-EACCES;
}

static int number_of(const char *name)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return numbers[i].number;
    REQUIRE(!"a call of the list");
    return -1;
}

static unsigned action_of(const char *name)
{
    if (strcmp(name, "trap") == 0)
        return SECCOMP_RET_TRAP;
    return strcmp(name, "errno") == 0 ? SECCOMP_RET_ERRNO | EACCES : SECCOMP_RET_KILL_PROCESS;
}

static void install(const char *how, const char *action, char *calls)
{
    static struct sock_filter steps[200];
    unsigned short used = 0;
    steps[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *name = strtok(calls, ","); name != NULL; name = strtok(NULL, ",")) {
        bool is_far = strcmp(action, "kill_far") == 0;
        steps[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number_of(name), 0, is_far ? 4 : 1);
        if (is_far) {
            steps[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
            steps[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 100, 1, 0);
            steps[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        }
        steps[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action_of(action));
    }
    steps[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { used, steps };
    struct sigaction handling = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO };
    sigaction(SIGSYS, &handling, NULL);
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (strcmp(how, "prctl") == 0)
        REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
    else if (strcmp(how, "seccomp") == 0)
        REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    else
        REQUIRE(unseen_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

static void work(int fd)
{
    char bytes[100] = { 0 };
    int zero = open("/dev/zero", O_RDONLY);
    printf("open %d\n", zero < 0 ? errno : 0);
    printf("write %zd\n", write(fd, bytes, sizeof bytes));
    printf("pread %zd\n", pread(fd, bytes, sizeof bytes, 0));
    for (int i = 0; i < 1000; i++)
        REQUIRE(write(fd, bytes, sizeof bytes) == sizeof bytes);
    int other = open("other", O_RDWR | O_CREAT, 0600);
    printf("other %d\n", other < 0 ? errno : 0);
    for (int i = 0; i < 10 && other >= 0; i++)
        REQUIRE(write(other, bytes, sizeof bytes) == sizeof bytes);
}

static void end(int signal)
{
    (void)signal;
    _exit(99);
}

static int find_libc(struct dl_phdr_info *object, size_t size, void *range)
{
    (void)size;
    for (int i = 0; strstr(object->dlpi_name, "/libc.so") != NULL && i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && (object->dlpi_phdr[i].p_flags & PF_X) != 0) {
            ((unsigned long *)range)[0] = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
            ((unsigned long *)range)[1] = object->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

/* System calls from elsewhere than libc end the program. */
static void dispatch(void)
{
    unsigned long libc[2] = { 0 };
    REQUIRE(signal(SIGSYS, end) != SIG_ERR);
    dl_iterate_phdr(find_libc, libc);
    if (prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, libc[0], libc[1], 0) != 0)
        _exit(77);
}

int main(int count, char **argument)
{
    char bytes[100] = { 0 };
    REQUIRE(count >= 4);
    int fd = open("before", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    for (int i = 0; i < 10; i++)
        REQUIRE(write(fd, bytes, sizeof bytes) == sizeof bytes);
    if (strcmp(argument[1], "strict") == 0) {
        REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0);
        REQUIRE(write(fd, bytes, sizeof bytes) == sizeof bytes && write(STDOUT_FILENO, "strict\n", 7) == 7);
        syscall(SYS_exit, 0);
    }
    if (strcmp(argument[1], "tsc") == 0)
        REQUIRE(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
    else if (strcmp(argument[1], "dispatch") == 0)
        dispatch();
    else
        install(argument[1], argument[2], argument[3]);
    if (count > 4) {
        if (getenv("PRELOAD_LATER") != NULL)
            setenv("LD_PRELOAD", getenv("PRELOAD_LATER"), 1);
        execv(argument[4], argument + 4);
        return 4;
    }
    work(fd);
    return 3;
}
