/* What the scenarios share: marks in a system call trace between which a scenario's calls lie, and a file in which it tells what it did
 * and what the kernel counted meanwhile. Nothing in here goes through a function that is interposed, and nothing is told unless TOLD
 * names the file. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* syscall() as no library sees it. */
static inline long unseen_syscall_6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(result) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
#endif
    if (result < 0 && result >= -4095) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
#define unseen_syscall(...) unseen_syscall_of(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define unseen_syscall_of(number, a, b, c, d, e, f, ...) unseen_syscall_6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#define syscall unseen_syscall /* within this file */

#define KERNEL_FIELDS 4 /* rchar, wchar, syscr, syscw */

static struct {
    long kernel[KERNEL_FIELDS];
    long own_read_bytes;
    char text[16384];
    int used;
} scenario __attribute__((unused));

#define REQUIRE(claim) ((claim) ? (void)0 : scenario_failed(__FILE__, __LINE__, #claim))

__attribute__((unused, noreturn)) static void scenario_failed(const char *file, int line, const char *claim)
{
    char text[400];
    int length = snprintf(text, sizeof text, "%s:%d: not so: %s (errno %d)\n", file, line, claim, errno);
    syscall(SYS_write, STDERR_FILENO, text, length);
    syscall(SYS_exit_group, 99);
    __builtin_unreachable();
}

/* Seconds of a clock that nobody sets. */
__attribute__((unused)) static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Appends to the file PUT_INTO, which a program names before it includes this: several processes' bytes lie in one file. */
#ifdef PUT_INTO
__attribute__((unused)) static void put(size_t bytes)
{
    static const char block[1 << 17];
    int fd = open(PUT_INTO, O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, bytes) == (ssize_t)bytes && close(fd) == 0);
}
#endif

/* Waits for a child, which ends with this exit status. */
#define AWAIT(child, exit_status) \
    do { \
        int ended; \
        pid_t awaited = (child); \
        REQUIRE(awaited > 0 && waitpid(awaited, &ended, 0) == awaited && WIFEXITED(ended) && WEXITSTATUS(ended) == (exit_status)); \
    } while (0)

__attribute__((unused)) static void tell(const char *name, long value)
{
    scenario.used += snprintf(scenario.text + scenario.used, sizeof scenario.text - (size_t)scenario.used, "%s %ld\n", name, value);
}

static inline void kernel_counts(long counts[KERNEL_FIELDS])
{
    char text[512];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/io", O_RDONLY);
    long length = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof text - 1);
    REQUIRE(length > 0);
    syscall(SYS_close, fd);
    text[length] = '\0';
    scenario.own_read_bytes += length;
    const char *at = text;
    for (int i = 0; i < KERNEL_FIELDS; i++) {
        at = strchr(at, ':') + 1;
        counts[i] = strtol(at, NULL, 10);
    }
}

__attribute__((unused)) static void scenario_begin(void)
{
    kernel_counts(scenario.kernel);
    syscall(SYS_faccessat, AT_FDCWD, "/scenario/begin", F_OK);
}

__attribute__((unused)) static void scenario_end(void)
{
    static const char *const names[KERNEL_FIELDS] = { "kernel_read_bytes", "kernel_write_bytes", "kernel_reads", "kernel_writes" };
    long now[KERNEL_FIELDS], sampling_bytes = scenario.own_read_bytes;
    syscall(SYS_faccessat, AT_FDCWD, "/scenario/end", F_OK);
    if (getenv("TOLD") == NULL)
        return;
    kernel_counts(now);
    const long sampling[KERNEL_FIELDS] = { sampling_bytes, 0, 1, 0 }; /* reading the count the first time is not the scenario's */
    for (int i = 0; i < KERNEL_FIELDS; i++)
        tell(names[i], now[i] - scenario.kernel[i] - sampling[i]);
    /* The first look, past the wrappers, comes before the first counted call: the profile's kernel count begins after it. */
    tell("sampling_read_bytes", scenario.own_read_bytes - sampling_bytes);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("TOLD"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && syscall(SYS_write, fd, scenario.text, scenario.used) == scenario.used);
    syscall(SYS_close, fd);
}

#undef syscall

#endif
