/* Contexts that wander from thread to thread: contexts FILE SECONDS yield|preempt. More contexts than threads each write 8 bytes again and again, and
 * whichever thread is free goes on with one. `yield`: a context gives its thread up between two calls. `preempt`: a timer's handler takes the
 * thread away in the middle of whatever the context does. Tells how many writes returned, and how often a handler ran. */
#include "scenario.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

enum { THREADS = 3, CONTEXTS = 8, STACK_BYTES = 256 << 10, TURN = 16 };

struct context {
    ucontext_t own, *back;
    long returned;
    bool is_over;
};

static struct context contexts[CONTEXTS];
static struct context *ready[CONTEXTS];
static int ready_count, over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int fd;
static bool is_preempted;
static volatile bool is_time;
static long handled;
static __thread struct context *volatile running;

/* Not inlined: the thread before and after is not the same one. */
__attribute__((noinline)) static struct context *here(void)
{
    __asm__ volatile("" ::: "memory");
    return running;
}

__attribute__((noinline)) static void give_up(void)
{
    struct context *context = here();
    running = NULL;
    swapcontext(&context->own, context->back);
}

static void take_away(int number)
{
    (void)number;
    int saved_errno = errno;
    if (here() != NULL) {
        __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
        give_up();
    }
    errno = saved_errno;
}

static void write_on(int index)
{
    struct context *context = &contexts[index];
    while (!is_time) {
        for (int i = 0; i < TURN; i++)
            if (pwrite(fd, "12345678", 8, 0) == 8)
                context->returned++;
        if (!is_preempted)
            give_up();
    }
    context->is_over = true;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    give_up();
}

static void *go_on(void *unused)
{
    ucontext_t back;
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    while (__atomic_load_n(&over, __ATOMIC_ACQUIRE) < CONTEXTS) {
        pthread_mutex_lock(&lock);
        struct context *context = ready_count > 0 ? ready[0] : NULL;
        if (context != NULL) {
            ready_count--;
            memmove(ready, ready + 1, (size_t)ready_count * sizeof *ready);
        }
        pthread_mutex_unlock(&lock);
        if (context == NULL)
            continue;
        context->back = &back;
        running = context; /* its own mask lets the timer through */
        swapcontext(&back, &context->own);
        pthread_mutex_lock(&lock);
        if (context->is_over)
            __atomic_fetch_add(&over, 1, __ATOMIC_RELEASE);
        else
            ready[ready_count++] = context;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int count, char **argument)
{
    pthread_t threads[THREADS];
    scenario_begin();
    if (count != 4 || (fd = open(argument[1], O_RDWR | O_CREAT | O_TRUNC, 0600)) < 0)
        return 2;
    is_preempted = argument[3][0] == 'p';
    for (int i = 0; i < CONTEXTS; i++) {
        REQUIRE(getcontext(&contexts[i].own) == 0);
        contexts[i].own.uc_stack = (stack_t){ .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };
        makecontext(&contexts[i].own, (void (*)(void))write_on, 1, i);
        ready[ready_count++] = &contexts[i];
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, go_on, NULL) == 0);
    sigset_t alarm; /* for the contexts alone */
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    struct sigaction action = { .sa_handler = take_away };
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = { { 0, 500 }, { 0, 500 } }, none = { 0 };
    if (is_preempted)
        setitimer(ITIMER_REAL, &timer, NULL);
    double seconds = atof(argument[2]);
    struct timespec pause = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    while (nanosleep(&pause, &pause) != 0)
        continue;
    is_time = true;
    setitimer(ITIMER_REAL, &none, NULL);
    long returned = 0;
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < CONTEXTS; i++)
        returned += contexts[i].returned;
    tell("returned", returned);
    tell("handled", handled);
    scenario_end();
    return 0;
}
