/* Threads that wait for each other for known times: thread_waits [KIND]...; without a kind, all of them. Prints for each kind what its waits took by the
 * program's own clock, of all threads and of the first: "KIND WAITS NS MAIN_NS". */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 4 };
static const useconds_t HELD_US = 50000;

enum kind { LOCK, CONDITION, BARRIER, JOIN, SEMAPHORE, KINDS };
static const char *const names[KINDS] = { "lock", "condition", "barrier", "join", "semaphore" };
static _Atomic uint64_t waits[KINDS], ns[KINDS], main_ns[KINDS];
static pthread_t first;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static struct timespec in_seconds(clockid_t clock, time_t seconds)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += seconds;
    return time;
}

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1); \
        } \
    } while (0)

#define WAITED(kind, call) \
    do { \
        uint64_t began = now(); \
        REQUIRE((call) == 0); \
        uint64_t took = now() - began; \
        waits[kind]++; \
        ns[kind] += took; \
        if (pthread_equal(pthread_self(), first)) \
            main_ns[kind] += took; \
    } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t read_write = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier, start;
static sem_t semaphore;
static int ready;

static int meet(pthread_barrier_t *where)
{
    int met = pthread_barrier_wait(where);
    return met == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : met;
}

/* Whoever comes later waits for all before: a lock is held each time for HELD_US. */
static void *lock(void *argument)
{
    const struct timespec until = in_seconds(CLOCK_REALTIME, 60), steady = in_seconds(CLOCK_MONOTONIC, 60);
    (void)argument;
    WAITED(BARRIER, meet(&start));
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 4 == 0)
            WAITED(LOCK, pthread_mutex_lock(&mutex));
        else if (round % 4 == 1)
            WAITED(LOCK, pthread_mutex_timedlock(&mutex, &until));
        else
            WAITED(LOCK, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &steady));
        usleep(HELD_US);
        pthread_mutex_unlock(&mutex);
        if (round % 2 == 0)
            WAITED(LOCK, pthread_rwlock_wrlock(&read_write));
        else
            WAITED(LOCK, pthread_rwlock_rdlock(&read_write));
        usleep(HELD_US / 2);
        pthread_rwlock_unlock(&read_write);
    }
    return NULL;
}

static void *wait_for_condition(void *argument)
{
    const struct timespec until = in_seconds(CLOCK_REALTIME, 60), steady = in_seconds(CLOCK_MONOTONIC, 60);
    intptr_t which = (intptr_t)argument;
    WAITED(LOCK, pthread_mutex_lock(&mutex));
    while (!ready)
        if (which == 0)
            WAITED(CONDITION, pthread_cond_wait(&condition, &mutex));
        else if (which == 1)
            WAITED(CONDITION, pthread_cond_timedwait(&condition, &mutex, &until));
        else
            WAITED(CONDITION, pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &steady));
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *meet_late(void *argument)
{
    for (int round = 0; round < ROUNDS; round++) {
        usleep(HELD_US * (useconds_t)(intptr_t)argument);
        WAITED(BARRIER, meet(&barrier));
    }
    return NULL;
}

static void *sleep_long(void *argument)
{
    usleep(HELD_US * (useconds_t)(4 + (intptr_t)argument));
    return NULL;
}

static void *take(void *argument)
{
    const struct timespec until = in_seconds(CLOCK_REALTIME, 60), steady = in_seconds(CLOCK_MONOTONIC, 60);
    intptr_t which = (intptr_t)argument;
    errno = E2BIG;
    if (which == 0)
        WAITED(SEMAPHORE, sem_timedwait(&semaphore, &until));
    else if (which == 1)
        WAITED(SEMAPHORE, sem_clockwait(&semaphore, CLOCK_MONOTONIC, &steady));
    else
        WAITED(SEMAPHORE, sem_wait(&semaphore));
    REQUIRE(errno == E2BIG);
    return NULL;
}

static void run(enum kind kind)
{
    static void *(*const bodies[KINDS])(void *) = { lock, wait_for_condition, meet_late, sleep_long, take };
    pthread_t thread[THREADS];
    REQUIRE(pthread_barrier_init(&barrier, NULL, THREADS + 1) == 0 && pthread_barrier_init(&start, NULL, THREADS) == 0 &&
            sem_init(&semaphore, 0, 0) == 0);
    for (intptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&thread[i], NULL, bodies[kind], (void *)i) == 0);
    if (kind == BARRIER)
        meet_late((void *)(intptr_t)1); /* the first thread waits for those that come later */
    usleep(2 * HELD_US);
    WAITED(LOCK, pthread_mutex_lock(&mutex));
    ready = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; kind == SEMAPHORE && i < THREADS; i++)
        sem_post(&semaphore);
    const struct timespec until = in_seconds(CLOCK_REALTIME, 60), steady = in_seconds(CLOCK_MONOTONIC, 60);
    for (int i = 0; i < THREADS; i++)
        if (i == 0)
            WAITED(JOIN, pthread_timedjoin_np(thread[i], NULL, &until));
        else if (i == 1)
            WAITED(JOIN, pthread_clockjoin_np(thread[i], NULL, CLOCK_MONOTONIC, &steady));
        else
            WAITED(JOIN, pthread_join(thread[i], NULL));
}

int main(int count, char **argument)
{
    first = pthread_self();
    for (int kind = 0; kind < KINDS; kind++) {
        int is_asked = count == 1;
        for (int i = 1; i < count; i++)
            is_asked |= strcmp(argument[i], names[kind]) == 0;
        ready = 0;
        if (is_asked)
            run(kind);
    }
    for (int kind = 0; kind < KINDS; kind++)
        printf("%s %ju %ju %ju\n", names[kind], (uintmax_t)waits[kind], (uintmax_t)ns[kind], (uintmax_t)main_ns[kind]);
    return 0;
}
