/* How processes begin other than by fork and exec. A child that shares our memory until it execs or exits (vfork, and what posix_spawn does
 * inside) is counted as its parent. */
#include "environment.h"
#include "interpose.h"
#include "lend.h"

#include <alloca.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

INTERPOSE(int, posix_spawn,
          (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
           char *const argv[], char *const envp[]))
{
    char *const *carried = CARRIED(envp);
    engine_before_child();
    struct call call = call_begin(OP_posix_spawn);
    int error = REAL(posix_spawn)(pid, path, actions, attributes, argv, carried);
    call_end(&call);
    CARRIED_END(envp, carried);
    if (error == 0) /* the child's exec is libc's own: nobody else looks at what it runs */
        engine_spawned(pid != NULL ? *pid : 0, path);
    call_lived(&call);
    call_close(&call);
    return error;
}

INTERPOSE(int, posix_spawnp,
          (pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
           char *const argv[], char *const envp[]))
{
    char *const *carried = CARRIED(envp);
    engine_before_child();
    struct call call = call_begin(OP_posix_spawn);
    int error = REAL(posix_spawnp)(pid, file, actions, attributes, argv, carried);
    call_end(&call);
    CARRIED_END(envp, carried);
    if (error == 0)
        engine_spawned_command(pid != NULL ? *pid : 0, file);
    call_lived(&call);
    call_close(&call);
    return error;
}

/* The shell is libc's own to start, and gets the program's environment. */
INTERPOSE(int, system, (const char *command))
{
    char *const *own = environ, *const *carried = CARRIED(own);
    const char *made = environment_command(carried, command);
    CARRIED_END(own, carried);
    engine_before_child();
    struct call call = call_begin(OP_system);
    int status = REAL(system)(made);
    call_end(&call);
    environment_command_end(made, command);
    if (command != NULL)
        engine_spawned(0, "/bin/sh");
    call_lived(&call);
    call_close(&call);
    return status;
}

struct beginning {
    int (*function)(void *);
    void *argument;
};

/* A cloned process with memory of its own: libc ends it, past _exit, when its function returns. */
static int live_alone(void *beginning)
{
    struct beginning own = *(struct beginning *)beginning;
    engine_begin_child();
    int status = own.function(own.argument);
    engine_finish(ENDING_underscore_exit);
    return status;
}

/* The words after `argument` are there only if the flags ask for them. One that shares our memory is a thread, or like a vforked child. */
INTERPOSE(int, clone, (int (*function)(void *), void *stack, int flags, void *argument, ...))
{
    va_list arguments;
    va_start(arguments, argument);
    void *parents_tid = va_arg(arguments, void *), *tls = va_arg(arguments, void *), *childs_tid = va_arg(arguments, void *);
    va_end(arguments);
    struct beginning beginning = { function, argument };
    engine_before_child();
    const bool shares_thread = (flags & CLONE_SETTLS) == 0, is_lent = (flags & (CLONE_VM | CLONE_FILES)) == CLONE_VM;
    struct call call = call_begin(OP_clone);
    if (is_lent)
        (flags & CLONE_VFORK) != 0 ? lend_begin(shares_thread) : lend_for_good(shares_thread);
    /* A function that is none is the kernel's or libc's to refuse. */
    int pid = (flags & CLONE_VM) != 0 || function == NULL ? REAL(clone)(function, stack, flags, argument, parents_tid, tls, childs_tid)
                                      : REAL(clone)(live_alone, stack, flags, &beginning, parents_tid, tls, childs_tid);
    call_end(&call);
    if (is_lent && (flags & CLONE_VFORK) != 0)
        lend_end(shares_thread);
    call_lived(&call);
    call_close(&call);
    return pid;
}
SAME_AS(__clone, clone);

/* By the kernel's number: before 2.33 glibc has no function of the name fstat that ours could lead to. */
static bool is_null_device(int fd)
{
    struct stat status;
    return syscall(SYS_fstat, fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

/* libc's own forks and exits inside itself, and we would not see that the parent ended well. So these are the same steps, by our names. */
INTERPOSE(int, daemon, (int keeps_directory, int keeps_streams))
{
    pid_t child = fork();
    if (child > 0)
        _exit(0);
    if (child < 0 || setsid() < 0)
        return -1;
    struct call call = call_begin(OP_daemon);
    call_end(&call);
    call_lived(&call);
    if (!keeps_directory && chdir("/") < 0)
        return -1;
    if (keeps_streams)
        return 0;
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || !is_null_device(null))
        return -1;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    if (null > STDERR_FILENO)
        close(null);
    return 0;
}
