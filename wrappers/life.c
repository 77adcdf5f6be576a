/* A process's beginnings and ends. A vforked child (vfork.c) runs in our memory until it execs or exits, and what it calls until
 * then is counted as its parent's; exec and _exit see by the process id that they are not the parent's own. */
#include "interpose.h"

#include <alloca.h>
#include <stdarg.h>
#include <string.h>

static void look_up_exit(void);

INTERPOSE(pid_t, fork, (void))
{
    engine_before_child();
    look_up_exit();
    struct call call = call_begin(OP_fork);
    pid_t pid = REAL(fork)();
    call_end(&call);
    if (pid == 0) /* the child starts at zero, with a segment of its own */
        engine_begin_child();
    else
        call_lived(&call);
    call_close(&call);
    return pid;
}
SAME_AS(__fork, fork);

INTERPOSE(pid_t, _Fork, (void))
{
    engine_before_child();
    struct call call = call_begin(OP_fork);
    pid_t pid = REAL(_Fork)();
    call_end(&call);
    if (pid == 0)
        engine_begin_child();
    else
        call_lived(&call);
    call_close(&call);
    return pid;
}

/* What exec returns from, if it returns: it failed, and we go on. */
static int stayed(struct call *call, int failed, char *const *envp, char *const *carried)
{
    call_end(call);
    CARRIED_END(envp, carried);
    engine_stay();
    call_lived(call);
    call_close(call);
    return failed;
}

INTERPOSE(int, execve, (const char *path, char *const argv[], char *const envp[]))
{
    char *const *carried = CARRIED(envp);
    struct call call = call_begin(OP_exec);
    engine_leave(AT_FDCWD, path);
    return stayed(&call, REAL(execve)(path, argv, carried), envp, carried);
}

INTERPOSE(int, execv, (const char *path, char *const argv[]))
{
    char *const *envp = environ, *const *carried = CARRIED(envp);
    struct call call = call_begin(OP_exec);
    engine_leave(AT_FDCWD, path);
    return stayed(&call, REAL(execve)(path, argv, carried), envp, carried);
}

INTERPOSE(int, execvpe, (const char *file, char *const argv[], char *const envp[]))
{
    char *const *carried = CARRIED(envp);
    struct call call = call_begin(OP_exec);
    engine_leave_for_command(file);
    return stayed(&call, REAL(execvpe)(file, argv, carried), envp, carried);
}

INTERPOSE(int, execvp, (const char *file, char *const argv[]))
{
    char *const *envp = environ, *const *carried = CARRIED(envp);
    struct call call = call_begin(OP_exec);
    engine_leave_for_command(file);
    return stayed(&call, REAL(execvpe)(file, argv, carried), envp, carried);
}

INTERPOSE(int, fexecve, (int fd, char *const argv[], char *const envp[]))
{
    char *const *carried = envp != NULL ? CARRIED(envp) : NULL; /* which it refuses, unlike the others */
    struct call call = call_begin(OP_exec);
    engine_leave(fd, "");
    return stayed(&call, REAL(fexecve)(fd, argv, carried), envp, carried);
}

INTERPOSE(int, execveat, (int dirfd, const char *path, char *const argv[], char *const envp[], int flags))
{
    char *const *carried = CARRIED(envp);
    struct call call = call_begin(OP_exec);
    engine_leave(dirfd, path);
    return stayed(&call, REAL(execveat)(dirfd, path, argv, carried, flags), envp, carried);
}

static size_t count_arguments(va_list arguments)
{
    size_t count = 1;
    va_list counted;
    va_copy(counted, arguments);
    while (va_arg(counted, char *) != NULL)
        count++;
    va_end(counted);
    return count;
}

/* The arguments of the list forms as an array; on the stack, since a vforked child must not allocate. */
#define ARGV_OF(first, arguments) \
    __extension__({ \
        size_t argument_count = count_arguments(arguments); \
        char **vector = alloca((argument_count + 1) * sizeof *vector); \
        vector[0] = (char *)(first); \
        for (size_t i = 1; i <= argument_count; i++) \
            vector[i] = va_arg(arguments, char *); \
        vector; \
    })

INTERPOSE(int, execl, (const char *path, const char *first, ...))
{
    va_list arguments;
    va_start(arguments, first);
    char **argv = ARGV_OF(first, arguments);
    va_end(arguments);
    char *const *envp = environ, *const *carried = CARRIED(envp);
    struct call call = call_begin(OP_exec);
    engine_leave(AT_FDCWD, path);
    return stayed(&call, REAL(execve)(path, argv, carried), envp, carried);
}

INTERPOSE(int, execlp, (const char *file, const char *first, ...))
{
    va_list arguments;
    va_start(arguments, first);
    char **argv = ARGV_OF(first, arguments);
    va_end(arguments);
    char *const *envp = environ, *const *carried = CARRIED(envp);
    struct call call = call_begin(OP_exec);
    engine_leave_for_command(file);
    return stayed(&call, REAL(execvpe)(file, argv, carried), envp, carried);
}

INTERPOSE(int, execle, (const char *path, const char *first, ...))
{
    va_list arguments;
    va_start(arguments, first);
    char **argv = ARGV_OF(first, arguments);
    char *const *envp = va_arg(arguments, char *const *);
    va_end(arguments);
    char *const *carried = CARRIED(envp);
    struct call call = call_begin(OP_exec);
    engine_leave(AT_FDCWD, path);
    return stayed(&call, REAL(execve)(path, argv, carried), envp, carried);
}

INTERPOSE(void, _exit, (int status))
{
    struct call call = call_begin(OP__exit);
    call_lived(&call);
    engine_finish(ENDING_underscore_exit);
    REAL(_exit)(status);
    __builtin_unreachable();
}
SAME_AS(_Exit, _exit);

/* Once, in a parent: each of its children would have to look for it. */
static void look_up_exit(void)
{
    (void)REAL(_exit);
    ENTRY_DECIDE(_exit);
}
