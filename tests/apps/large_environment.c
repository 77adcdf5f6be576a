/* Starts a program with an environment of one MiB in many strings, and nothing else in it, from a thread with the smallest stack. argv[1]
 * says how: fork, vfork, spawn, failing (a vforked child's exec that fails, and one that does not), or system. argv[2] is the program. Tells
 * how much more memory is mapped after ROUNDS of it than after the first. */
#include "scenario.h"

#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#define BYTES (1 << 20)
#define ENTRY_BYTES 256
#define COUNT (BYTES / ENTRY_BYTES)
#define ROUNDS 20

extern char **environ;
static char entries[COUNT][ENTRY_BYTES], *large[COUNT + 1], **arguments;
static const char *how;

static int wait_for(pid_t child)
{
    int status;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int once(void)
{
    char *const *argv = arguments;
    pid_t child = -1;
    if (strcmp(how, "spawn") == 0) {
        REQUIRE(posix_spawn(&child, argv[0], NULL, NULL, argv, large) == 0);
        return wait_for(child);
    }
    if (strcmp(how, "system") == 0)
        return WEXITSTATUS(system("exit 7"));
    child = strcmp(how, "fork") == 0 ? fork() : vfork();
    if (child == 0) {
        if (strcmp(how, "failing") == 0)
            execve("/nowhere/at/all", argv, large);
        execve(argv[0], argv, large);
        _exit(99);
    }
    return wait_for(child);
}

/* In pages. */
static long mapped(void)
{
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    REQUIRE(fd >= 0 && read(fd, text, sizeof text - 1) > 0 && close(fd) == 0);
    return strtol(text, NULL, 10);
}

static void *run(void *unused)
{
    long before = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int status = once();
        if (status != 7)
            return (void *)(long)(status + 1);
        if (i == 0)
            before = mapped();
    }
    tell("pages_more", mapped() - before);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *failed;
    REQUIRE(argc > 2);
    how = argv[1];
    arguments = argv + 2;
    for (int i = 0; i < COUNT; i++) {
        snprintf(entries[i], ENTRY_BYTES, "V%06d=%0240d", i, i);
        large[i] = entries[i];
    }
    scenario_begin();
    REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    char **own = environ;
    if (strcmp(how, "system") == 0)
        environ = large;
    REQUIRE(pthread_create(&thread, &attributes, run, NULL) == 0 && pthread_join(thread, &failed) == 0);
    environ = own;
    REQUIRE(failed == NULL);
    scenario_end();
    return 0;
}
