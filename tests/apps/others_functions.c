/* A library that is preloaded beside ours: functions of libc as tools have their own, whose state may be gone when we would call them. The program calls
 * none of them through the loader's tables. */
#include <sys/syscall.h>
#include <unistd.h>

static void end(const char *name)
{
    const char *at = name;
    while (*at != '\0')
        at++;
    syscall(SYS_write, STDERR_FILENO, name, (size_t)(at - name));
    syscall(SYS_exit_group, 77);
}

/* By the names of the assembler: no header's declaration is in the way. */
#define FORBIDDEN(name) \
    void forbidden_##name(void) __asm__(#name); \
    void forbidden_##name(void) \
    { \
        end(#name " was called\n"); \
    }

FORBIDDEN(clock_gettime)
FORBIDDEN(gettimeofday)
FORBIDDEN(time)
FORBIDDEN(nanosleep)
FORBIDDEN(clock_nanosleep)
FORBIDDEN(usleep)
FORBIDDEN(sched_yield)
FORBIDDEN(getenv)
FORBIDDEN(secure_getenv)
FORBIDDEN(getpid)
FORBIDDEN(getppid)
FORBIDDEN(gettid)
FORBIDDEN(getuid)
FORBIDDEN(geteuid)
FORBIDDEN(getgid)
FORBIDDEN(getegid)
FORBIDDEN(getrusage)
FORBIDDEN(getrlimit)
FORBIDDEN(getrlimit64)
FORBIDDEN(uname)
FORBIDDEN(gethostname)
FORBIDDEN(sysinfo)
FORBIDDEN(sysconf)
FORBIDDEN(sigaction)
FORBIDDEN(sigprocmask)
FORBIDDEN(pthread_sigmask)
FORBIDDEN(kill)
FORBIDDEN(setsid)
FORBIDDEN(chdir)
FORBIDDEN(getcwd)
FORBIDDEN(dl_iterate_phdr)
FORBIDDEN(localtime_r)
