/* A handler, called by a timer every 50 microseconds, writes to one file while the thread writes to another: inside the call, between calls,
 * and inside the bookkeeping. */
#include "scenario.h"

#include <signal.h>
#include <sys/time.h>

static int handlers_file;
static volatile long handled;

static void handle(int signal)
{
    int saved = errno;
    (void)signal;
    REQUIRE(pwrite(handlers_file, "s", 1, 0) == 1);
    handled++;
    errno = saved;
}

int main(int argc, char **argv)
{
    static const char block[10];
    REQUIRE(argc == 2);
    int file = open("thread", O_WRONLY | O_CREAT, 0600);
    handlers_file = open("handler", O_WRONLY | O_CREAT, 0600);
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { 0 };
    REQUIRE(file >= 0 && handlers_file >= 0 && sigaction(SIGALRM, &action, NULL) == 0);
    scenario_begin();
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < atol(argv[1]); i++) {
        errno = 55;
        REQUIRE(pwrite(file, block, sizeof block, i % 100) == sizeof block && errno == 55);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    tell("handled", handled);
    scenario_end();
    return 0;
}
