/* Threads that compute, wait and do I/O for known times: computing [calls|small|cancel|filter|text|fork]. Prints, by its own clocks, the us of processor
 * time in `heavy` and in `light`, and the us that `wait_here` took: "heavy N", "light N", "wait N". With calls: instead how many system calls ended as
 * without the profiler: none may end with EINTR, or have moved less. */
#include "scenario.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double PART = 0.5; /* seconds */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t sink;
static _Atomic long spent[3]; /* heavy, light, wait */

static double processor(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static __attribute__((noinline)) void turn(double until)
{
    while (processor() < until)
        for (int i = 0; i < 10000; i++)
            sink += (uint64_t)i * sink;
}

static __attribute__((noinline)) void heavy(void)
{
    double began = processor();
    turn(began + 3 * PART);
    spent[0] += (long)(1e6 * (processor() - began));
}

static __attribute__((noinline)) void light(void)
{
    double began = processor();
    turn(began + PART);
    spent[1] += (long)(1e6 * (processor() - began));
}

static __attribute__((noinline)) void wait_here(void)
{
    double began = now();
    REQUIRE(pthread_mutex_lock(&mutex) == 0);
    spent[2] += (long)(1e6 * (now() - began));
    pthread_mutex_unlock(&mutex);
}

static void *work(void *unused)
{
    (void)unused;
    wait_here();
    heavy();
    light();
    return NULL;
}

/* Through a pipe whose reader is slow, and by calls that no flag of a handler begins anew; while this thread computes as well. */
static void *write_all(void *fd)
{
    static char block[1 << 20];
    long whole = 0;
    for (int i = 0; i < 20; i++) {
        turn(processor() + 0.02);
        memset(block, i, sizeof block);
        whole += write(*(int *)fd, block, sizeof block) == sizeof block;
    }
    close(*(int *)fd);
    return (void *)whole;
}

static void *wait_often(void *unused)
{
    long whole = 0;
    int epoll = epoll_create1(0), pair[2];
    struct epoll_event event = { .events = EPOLLIN };
    (void)unused;
    REQUIRE(pipe(pair) == 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event) == 0);
    for (int i = 0; i < 50000; i++) {
        const struct timespec moment = { .tv_nsec = i % 100 == 0 ? 100000 : 1 };
        struct pollfd one = { .fd = pair[0], .events = POLLIN };
        turn(processor());
        whole += nanosleep(&moment, NULL) == 0;
        whole += epoll_wait(epoll, &event, 1, i % 1000 == 0) == 0;
        whole += poll(&one, 1, 0) == 0;
    }
    return (void *)whole;
}

static void calls(void)
{
    pthread_t writer, waiter;
    void *wrote, *waited;
    int pair[2];
    static char block[4096];
    REQUIRE(pipe(pair) == 0 && pthread_create(&writer, NULL, write_all, &pair[1]) == 0 && pthread_create(&waiter, NULL, wait_often, NULL) == 0);
    while (read(pair[0], block, sizeof block) > 0)
        sink += 1;
    REQUIRE(pthread_join(writer, &wrote) == 0 && pthread_join(waiter, &waited) == 0);
    printf("whole %ld of 20, %ld of 150000\n", (long)wrote, (long)waited);
}

static void *compute(void *unused)
{
    turn(processor() + PART);
    return unused;
}

static void *cancelled(void *unused)
{
    for (;;) {
        turn(processor() + 0.001);
        pthread_testcancel();
    }
    return unused;
}

int main(int count, char **argument)
{
    const char *mode = count > 1 ? argument[1] : "";
    pthread_t thread[2];
    pthread_attr_t small;
    if (strcmp(mode, "calls") == 0) {
        calls();
        return 0;
    }
    if (strcmp(mode, "cancel") == 0) {
        void *end;
        REQUIRE(pthread_create(&thread[0], NULL, cancelled, NULL) == 0);
        usleep(300000);
        REQUIRE(pthread_cancel(thread[0]) == 0 && pthread_join(thread[0], &end) == 0);
        printf("%d\n", end == PTHREAD_CANCELED);
        return 0;
    }
    if (strcmp(mode, "small") == 0) { /* stacks, and signals of the program's own */
        REQUIRE(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 16384) == 0);
        sigset_t all;
        sigfillset(&all);
        REQUIRE(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
        for (int i = 0; i < 2; i++)
            REQUIRE(pthread_create(&thread[i], &small, compute, NULL) == 0);
        for (int i = 0; i < 2; i++)
            REQUIRE(pthread_join(thread[i], NULL) == 0);
        const struct timespec none = { 0 };
        printf("%d\n", sigtimedwait(&all, NULL, &none) == -1 && errno == EAGAIN);
        return 0;
    }
    if (strcmp(mode, "filter") == 0) { /* which ends the process if somebody deals with timers */
        struct sock_filter steps[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 2, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_delete, 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };
        struct sock_fprog program = { sizeof steps / sizeof *steps, steps };
        light();
        REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
        REQUIRE(pthread_create(&thread[0], NULL, compute, NULL) == 0 && pthread_join(thread[0], NULL) == 0);
        return 0;
    }
    if (strcmp(mode, "text") == 0) {
        FILE *file = fopen("/dev/null", "w");
        double began = processor();
        for (double end = began + 3 * PART; processor() < end;)
            for (int i = 0; i < 100; i++)
                fprintf(file, "%g\n", (double)i / 7);
        printf("text %ld\n", (long)(1e6 * (processor() - began)));
        return 0;
    }
    if (strcmp(mode, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            light();
            return 0;
        }
        REQUIRE(waitpid(child, NULL, 0) == child);
        return 0;
    }
    REQUIRE(pthread_mutex_lock(&mutex) == 0);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&thread[i], NULL, work, NULL) == 0);
    usleep(1000000);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_join(thread[i], NULL) == 0);
    printf("heavy %ld\nlight %ld\nwait %ld\n", spent[0], spent[1], spent[2]);
    return 0;
}
