/* pwrite in a loop while a timer's handler jumps out of whatever it interrupted: jumps FILE SECONDS HERTZ jump|return|deep|alternate.
 * Tells how many calls returned, how many handlers ran, and how much processor time that took. `return`: the handler comes
 * back instead. `deep`: the loop goes on further down the stack than where it was left. `alternate`: the handler
 * has a stack of its own, and writes too before it jumps. */
#include "scenario.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static sigjmp_buf before;
static volatile sig_atomic_t is_over;
static volatile long handled, returned, of_handler;
static int fd;
static const char *mode;

static void jump(int number)
{
    (void)number;
    handled++;
    if (mode[0] == 'a' && pwrite(fd, "1234", 4, 0) == 4)
        of_handler++;
    if (!is_over && mode[0] != 'r')
        siglongjmp(before, 1);
}

__attribute__((noinline)) static void work(double until, int depth)
{
    volatile char room[512];
    room[0] = 0;
    if (depth > 0)
        work(until, depth - 1);
    else
        for (;;) {
            for (int i = 0; i < 64; i++)
                if (pwrite(fd, "12345678", 8, 0) == 8)
                    returned++;
            if (now() > until)
                break;
        }
    (void)room[1]; /* and no call in place of a jump */
}

int main(int count, char **argument)
{
    scenario_begin();
    if (count != 5 || (fd = open(argument[1], O_RDWR | O_CREAT | O_TRUNC, 0600)) < 0)
        return 2;
    mode = argument[4];
    stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
    sigaltstack(&stack, NULL);
    struct sigaction action = { .sa_handler = jump, .sa_flags = mode[0] == 'a' ? SA_ONSTACK : 0 };
    sigaction(SIGALRM, &action, NULL);
    long period_us = 1000000 / atol(argument[3]);
    struct itimerval timer = { { 0, period_us }, { 0, period_us } }, none = { 0 };
    volatile double until = now() + atof(argument[2]);
    setitimer(ITIMER_REAL, &timer, NULL);
    int jumps = sigsetjmp(before, 1);
    work(until, mode[0] == 'd' ? 1 + jumps : 0);
    is_over = 1;
    setitimer(ITIMER_REAL, &none, NULL);
    struct timespec spent;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    tell("cpu_us", spent.tv_sec * 1000000 + spent.tv_nsec / 1000);
    tell("returned", returned);
    tell("handled", handled);
    tell("of_handler", of_handler);
    scenario_end();
    return 0;
}
