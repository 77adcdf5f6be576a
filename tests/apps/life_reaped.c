/* Threads that write and end, and children that are waited for, in the order that the argument says, a letter each: what the kernel counts
 * for the process has both in it, and only what the threads did is its own. */
#define PUT_INTO "reaped"
#include "scenario.h"

#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

enum { SMALL = 1000, BYTES = 100000 };
static char block[BYTES];
static pthread_key_t at_end;

/* Runs after the library's own look at the thread's end, as often as destructors may. */
static void put_late(void *rounds)
{
    put(SMALL);
    if (rounds != &block[1])
        pthread_setspecific(at_end, (char *)rounds - 1);
}

static void *write_and_end(void *rounds)
{
    put(BYTES);
    if (rounds != NULL)
        pthread_setspecific(at_end, rounds);
    return NULL;
}

static void thread(void *rounds)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, write_and_end, rounds) == 0 && pthread_join(thread, NULL) == 0);
}

static pid_t begin(char how)
{
    static char *const argv[] = { "true", NULL };
    extern char **environ;
    pid_t pid = -1;
    if (how == 's')
        REQUIRE(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0);
    else if ((pid = how == 'v' ? vfork() : fork()) == 0) {
        for (int times = how == 'f' ? 7 : 0; times > 0; times--)
            put(BYTES);
        execv("/bin/true", argv);
        _exit(99);
    }
    return pid;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 3 && chdir(argv[1]) == 0 && pthread_key_create(&at_end, put_late) == 0);
    pid_t left = -1;
    for (const char *at = argv[2]; *at != '\0'; at++) {
        int status = 0;
        pid_t child = -1;
        if (*at == 't')
            thread(NULL);
        else if (*at == 'd')
            thread(&block[3]);
        else if (*at == 'l') /* a child that is waited for later */
            left = begin('f');
        else if (*at == 'w')
            REQUIRE(waitpid(left, &status, 0) == left && status == 0);
        else {
            child = begin(*at);
            REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        }
    }
    put(BYTES);
    return 0;
}
