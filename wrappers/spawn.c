/* How processes begin other than by fork and exec. A child that shares our memory until it execs or exits (vfork, and what posix_spawn does
 * inside) is counted as its parent. */
#include "environment.h"
#include "interpose.h"
#include "name.h"
#include "shell.h"
#include "vfork_child.h"

#include <alloca.h>
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* posix_spawn and posix_spawnp, of the same kind. */
typedef int spawn_function(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                           char *const argv[], char *const envp[]);
struct spawn {
    spawn_function *spawn;
    enum reason (*spawns)(const char *path, char *const *environment);
    void (*spawned)(int pid, const char *path, enum reason reason);
};

static int begin(struct spawn way, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const argv[], char *const envp[])
{
    enum reason reason = way.spawns(path, envp); /* the child's exec is libc's own: nobody else looks at what it runs */
    char *const *carried = CARRIED(envp, reason);
    engine_before_child();
    struct call call = call_begin(OP_posix_spawn);
    int error = way.spawn(pid, path, actions, attributes, argv, carried);
    call_end(&call);
    CARRIED_END(envp, carried);
    if (error == E2BIG) { /* perhaps for what the environment has of ours */
        char *const *bare = CARRIED(envp, REASON_no_room);
        if (bare != envp || carried != envp) {
            errno_put(call.saved_errno);
            error = way.spawn(pid, path, actions, attributes, argv, bare);
            call_end(&call);
            reason = reason == REASON_unknown ? REASON_no_room : reason;
        }
        CARRIED_END(envp, bare);
    }
    if (error == 0)
        way.spawned(pid != NULL ? *pid : 0, path, reason);
    call_lived(&call);
    call_close(&call);
    return error;
}

INTERPOSE(int, posix_spawn,
          (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
           char *const argv[], char *const envp[]))
{
    return begin((struct spawn){ REAL(posix_spawn), engine_spawns, engine_spawned }, pid, path, actions, attributes, argv, envp);
}

INTERPOSE(int, posix_spawnp,
          (pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
           char *const argv[], char *const envp[]))
{
    return begin((struct spawn){ REAL(posix_spawnp), engine_spawns_command, engine_spawned_command }, pid, file, actions, attributes, argv, envp);
}

struct system {
    int (*function)(const char *command);
    const char *command;
    int status;
};

static void make_system(void *call)
{
    struct system *system = call;
    system->status = system->function(system->command);
}

enum { NO_SHELL = 127 << 8 };

/* The shell is libc's own to start, and gets the program's environment. */
INTERPOSE(int, system, (const char *command))
{
    const int errno_before = errno_now();
    char *const *own = environ, *const *carried = CARRIED(own, REASON_unknown);
    const char *made = environment_command(carried, command);
    CARRIED_END(own, carried);
    engine_before_child();
    struct call call = call_begin(OP_system);
    struct system system = { REAL(system), made, 0 };
    make_system(&system);
    call_end(&call);
    environment_command_end(made, command);
    enum reason reason = engine_spawns("/bin/sh", environ);
    if (system.status == NO_SHELL && call.saved_errno == E2BIG && errno_before != E2BIG) {
        system.command = command;
        errno_put(errno_before);
        if (shell_again(command, make_system, &system)) {
            call_end(&call);
            reason = REASON_no_room;
        }
    }
    if (command != NULL)
        engine_spawned(0, "/bin/sh", reason);
    call_lived(&call);
    call_close(&call);
    return system.status;
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
    const bool shares_thread = (flags & CLONE_SETTLS) == 0, is_vfork_child = (flags & (CLONE_VM | CLONE_FILES)) == CLONE_VM;
    struct call call = call_begin(OP_clone);
    if (is_vfork_child)
        (flags & CLONE_VFORK) != 0 ? vfork_child_begin(shares_thread) : vfork_child_begin_unwaited(shares_thread);
    /* A function that is none is the kernel's or libc's to refuse. */
    int pid = (flags & CLONE_VM) != 0 || function == NULL ? REAL(clone)(function, stack, flags, argument, parents_tid, tls, childs_tid)
                                      : REAL(clone)(live_alone, stack, flags, &beginning, parents_tid, tls, childs_tid);
    call_end(&call);
    if (is_vfork_child && (flags & CLONE_VFORK) != 0)
        vfork_child_end(shares_thread);
    name_forget(); /* of one without CLONE_FS and with CLONE_FILES, which ran as this thread */
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

/* libc's own forks and exits inside itself, and we would not see that the parent ended well. So these are the same steps, by our names,
 * and what we have no name for is done by the kernel itself, as in libc. */
INTERPOSE(int, daemon, (int keeps_directory, int keeps_streams))
{
    pid_t child = fork();
    if (child > 0)
        _exit(0);
    if (child < 0 || syscall(SYS_setsid) < 0)
        return -1;
    struct call call = call_begin(OP_daemon);
    call_end(&call);
    call_lived(&call);
    if (!keeps_directory && syscall(SYS_chdir, "/") < 0)
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
