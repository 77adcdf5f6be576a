/* A process's beginnings and ends. A vforked child (vfork.c) runs in our memory until it execs or exits, and what it calls until
 * then is counted as its parent's; exec and _exit see by the process id that they are not the parent's own. */
#include "interpose.h"

#include <alloca.h>
#include <errno.h>
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

/* What is to be run: a file by its name or by a descriptor, or a command that the PATH is searched for. */
struct image {
    enum { IMAGE_PATH, IMAGE_COMMAND, IMAGE_DESCRIPTOR, IMAGE_PLACE } by;
    int fd;
    const char *path;
    char *const *argv;
    int flags;
};

/* If it returns, it failed, and we go on. */
static int become(struct image image, char *const *envp);

INTERPOSE(int, execve, (const char *path, char *const argv[], char *const envp[]))
{
    return become((struct image){ IMAGE_PATH, AT_FDCWD, path, argv, 0 }, envp);
}

INTERPOSE(int, execv, (const char *path, char *const argv[]))
{
    return become((struct image){ IMAGE_PATH, AT_FDCWD, path, argv, 0 }, environ);
}

INTERPOSE(int, execvpe, (const char *file, char *const argv[], char *const envp[]))
{
    return become((struct image){ IMAGE_COMMAND, AT_FDCWD, file, argv, 0 }, envp);
}

INTERPOSE(int, execvp, (const char *file, char *const argv[]))
{
    return become((struct image){ IMAGE_COMMAND, AT_FDCWD, file, argv, 0 }, environ);
}

INTERPOSE(int, fexecve, (int fd, char *const argv[], char *const envp[]))
{
    return become((struct image){ IMAGE_DESCRIPTOR, fd, "", argv, 0 }, envp);
}

INTERPOSE(int, execveat, (int dirfd, const char *path, char *const argv[], char *const envp[], int flags))
{
    return become((struct image){ IMAGE_PLACE, dirfd, path, argv, flags }, envp);
}

static int execute(const struct image *image, char *const *envp)
{
    switch (image->by) {
    case IMAGE_PATH: return REAL(execve)(image->path, image->argv, envp);
    case IMAGE_COMMAND: return REAL(execvpe)(image->path, image->argv, envp);
    case IMAGE_DESCRIPTOR: return REAL(fexecve)(image->fd, image->argv, envp);
    case IMAGE_PLACE: break;
    }
    return REAL(execveat)(image->fd, image->path, image->argv, envp, image->flags);
}

/* Once more, if it was perhaps for what the environment has of ours that there was no room. Then the program is not profiled. */
static void execute_bare(const struct image *image, char *const *envp, bool was_changed, enum reason reason)
{
    int saved_errno = errno_now();
    char *const *bare = CARRIED(envp, REASON_no_room);
    bool is_other = bare != envp || was_changed;
    if (is_other && reason == REASON_unknown)
        image->by == IMAGE_COMMAND ? engine_leave_alone_for_command(image->path) : engine_leave_alone(image->fd, image->path);
    errno_put(saved_errno);
    if (is_other)
        execute(image, bare);
    saved_errno = errno_now();
    CARRIED_END(envp, bare);
    errno_put(saved_errno);
}

static int become(struct image image, char *const *envp)
{
    struct call call = call_begin(OP_exec);
    enum reason reason = image.by == IMAGE_COMMAND ? engine_leave_for_command(image.path, envp) : engine_leave(image.fd, image.path, envp);
    bool is_given = envp != NULL || image.by != IMAGE_DESCRIPTOR; /* fexecve refuses it, unlike the others */
    char *const *carried = is_given ? CARRIED(envp, reason) : NULL;
    execute(&image, carried);
    if (errno_now() == E2BIG)
        execute_bare(&image, envp, carried != envp, reason);
    call_end(&call);
    CARRIED_END(envp, carried);
    engine_stay();
    call_lived(&call);
    call_close(&call);
    return -1;
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
    return become((struct image){ IMAGE_PATH, AT_FDCWD, path, argv, 0 }, environ);
}

INTERPOSE(int, execlp, (const char *file, const char *first, ...))
{
    va_list arguments;
    va_start(arguments, first);
    char **argv = ARGV_OF(first, arguments);
    va_end(arguments);
    return become((struct image){ IMAGE_COMMAND, AT_FDCWD, file, argv, 0 }, environ);
}

INTERPOSE(int, execle, (const char *path, const char *first, ...))
{
    va_list arguments;
    va_start(arguments, first);
    char **argv = ARGV_OF(first, arguments);
    char *const *envp = va_arg(arguments, char *const *);
    va_end(arguments);
    return become((struct image){ IMAGE_PATH, AT_FDCWD, path, argv, 0 }, envp);
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
