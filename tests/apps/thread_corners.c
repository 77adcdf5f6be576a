/* What calls that wait for other threads answer in all corners, told on stdout: the same with and without a library in front of them. thread_corners
 * stress: 16 threads on all kinds of them at once for a while, some of which are cancelled, with forks and signals in between. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct timespec after(clockid_t clock, long ms)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static const struct timespec past, wrong = { .tv_nsec = 2000000000 };

/* The result of a call, and errno if it is of those that use it. */
#define TELL(call) \
    do { \
        errno = 77; \
        int answer = (int)(call); \
        printf("%s: %d %d\n", #call, answer, errno); \
        fflush(stdout); \
    } while (0)

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, early = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t read_write = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore, handled;

__attribute__((constructor)) static void before_main(void)
{
    pthread_mutex_lock(&early);
    pthread_mutex_unlock(&early);
}

static pthread_mutex_t made(int type, int robust, int protocol)
{
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutex_init(&mutex, &attributes);
    return mutex;
}

static void *lock_and_die(void *mutex)
{
    return (void *)(intptr_t)pthread_mutex_lock(mutex);
}

static void *hold_both(void *ms)
{
    pthread_mutex_lock(&held);
    pthread_rwlock_wrlock(&read_write);
    pthread_barrier_wait(&barrier);
    usleep((useconds_t)(intptr_t)ms * 1000);
    pthread_rwlock_unlock(&read_write);
    pthread_mutex_unlock(&held);
    return NULL;
}

static void in_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    pthread_create(&thread, NULL, body, argument);
    pthread_join(thread, NULL);
}

static void mutexes(void)
{
    for (int protocol = PTHREAD_PRIO_NONE; protocol <= PTHREAD_PRIO_INHERIT; protocol++) {
        pthread_mutex_t checking = made(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, protocol);
        TELL(pthread_mutex_lock(&checking));
        TELL(pthread_mutex_lock(&checking));
        const struct timespec soon = after(CLOCK_REALTIME, 10);
        TELL(pthread_mutex_timedlock(&checking, &soon));
        TELL(pthread_mutex_trylock(&checking));
        TELL(pthread_mutex_unlock(&checking));
        TELL(pthread_mutex_unlock(&checking));
        pthread_mutex_t recursive = made(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, protocol);
        for (int i = 0; i < 3; i++)
            TELL(pthread_mutex_lock(&recursive));
        for (int i = 0; i < 4; i++)
            TELL(pthread_mutex_unlock(&recursive));
        pthread_mutex_t robust = made(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, protocol);
        in_thread(lock_and_die, &robust);
        TELL(pthread_mutex_lock(&robust));
        TELL(pthread_mutex_consistent(&robust));
        TELL(pthread_mutex_unlock(&robust));
        in_thread(lock_and_die, &robust);
        TELL(pthread_mutex_timedlock(&robust, &past));
        TELL(pthread_mutex_unlock(&robust));
        TELL(pthread_mutex_lock(&robust));
    }
    pthread_mutex_t free_one = PTHREAD_MUTEX_INITIALIZER, adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    TELL(pthread_mutex_lock(&adaptive));
    TELL(pthread_mutex_timedlock(&free_one, &wrong));
    TELL(pthread_mutex_timedlock(&free_one, &wrong));
    TELL(pthread_mutex_timedlock(&free_one, &past));
    TELL(pthread_mutex_unlock(&free_one));
    TELL(pthread_mutex_clocklock(&free_one, 12345, &past));
    TELL(pthread_mutex_clocklock(&free_one, CLOCK_MONOTONIC, &past));
    TELL(pthread_mutex_clocklock(&free_one, CLOCK_MONOTONIC, &past));
}

static void held_by_others(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, hold_both, (void *)(intptr_t)200);
    pthread_barrier_wait(&barrier);
    const struct timespec soon = after(CLOCK_REALTIME, 20), steady = after(CLOCK_MONOTONIC, 20);
    TELL(pthread_mutex_trylock(&held));
    TELL(pthread_mutex_timedlock(&held, &soon));
    TELL(pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &steady));
    TELL(pthread_rwlock_tryrdlock(&read_write));
    TELL(pthread_rwlock_timedrdlock(&read_write, &soon));
    TELL(pthread_rwlock_timedwrlock(&read_write, &soon));
    TELL(pthread_rwlock_clockrdlock(&read_write, CLOCK_MONOTONIC, &steady));
    TELL(pthread_timedjoin_np(thread, NULL, &soon));
    TELL(pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &steady));
    TELL(pthread_tryjoin_np(thread, NULL));
    TELL(pthread_mutex_lock(&held));
    TELL(pthread_mutex_unlock(&held));
    TELL(pthread_join(thread, NULL));
    TELL(pthread_join(pthread_self(), NULL));
    TELL(pthread_rwlock_timedrdlock(&read_write, &wrong));
    TELL(pthread_rwlock_clockwrlock(&read_write, 12345, &soon));
    TELL(pthread_rwlock_rdlock(&read_write));
    TELL(pthread_rwlock_rdlock(&read_write));
    TELL(pthread_rwlock_timedwrlock(&read_write, &past));
    TELL(pthread_rwlock_unlock(&read_write));
    TELL(pthread_rwlock_unlock(&read_write));
    TELL(pthread_rwlock_wrlock(&read_write));
    TELL(pthread_rwlock_wrlock(&read_write));
    TELL(pthread_rwlock_rdlock(&read_write));
    TELL(pthread_rwlock_unlock(&read_write));
}

static void on_signal(int signal)
{
    (void)signal;
    sem_post(&handled);
}

static void semaphores_and_conditions(void)
{
    const struct timespec soon = after(CLOCK_REALTIME, 20), steady = after(CLOCK_MONOTONIC, 20);
    sem_init(&semaphore, 0, 2);
    sem_init(&handled, 0, 0);
    TELL(sem_wait(&semaphore));
    TELL(sem_timedwait(&semaphore, &wrong));
    TELL(sem_clockwait(&semaphore, 12345, &soon));
    TELL(sem_timedwait(&semaphore, &past));
    TELL(sem_timedwait(&semaphore, &soon));
    TELL(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &steady));
    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_signal }, NULL);
    ualarm(20000, 0);
    TELL(sem_wait(&semaphore));
    TELL(sem_wait(&handled));
    pthread_mutex_lock(&held);
    TELL(pthread_cond_timedwait(&condition, &held, &soon));
    TELL(pthread_cond_clockwait(&condition, &held, CLOCK_MONOTONIC, &steady));
    TELL(pthread_cond_timedwait(&condition, &held, &wrong));
    TELL(pthread_cond_clockwait(&condition, &held, 12345, &soon));
    TELL(pthread_mutex_unlock(&held));
}

static int cleanups;
static void unlock(void *mutex)
{
    cleanups++;
    pthread_mutex_unlock(mutex);
}

static void *wait_for_good(void *which)
{
    pthread_t self = pthread_self();
    (void)self;
    pthread_mutex_lock(&held);
    pthread_cleanup_push(unlock, &held);
    if ((intptr_t)which == 0)
        pthread_cond_wait(&condition, &held);
    if ((intptr_t)which == 1)
        sem_wait(&handled);
    if ((intptr_t)which == 2) {
        sem_post(&semaphore);
        pthread_cancel(self);
        sem_wait(&semaphore); /* it need not wait, and is cancelled all the same */
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void *join_for_good(void *thread)
{
    pthread_join(*(pthread_t *)thread, NULL);
    return NULL;
}

static void *pause_for_good(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void cancelled(void)
{
    pthread_t thread, other;
    void *ended;
    for (intptr_t which = 0; which < 3; which++) {
        pthread_create(&thread, NULL, wait_for_good, (void *)which);
        usleep(20000);
        pthread_cancel(thread);
        TELL(pthread_join(thread, &ended));
        TELL(ended == PTHREAD_CANCELED);
        TELL(cleanups);
    }
    pthread_create(&other, NULL, pause_for_good, NULL);
    pthread_create(&thread, NULL, join_for_good, &other);
    usleep(20000);
    pthread_cancel(thread);
    TELL(pthread_join(thread, &ended));
    pthread_cancel(other);
    TELL(pthread_join(other, &ended));
    TELL(ended == PTHREAD_CANCELED);
}

#if defined(__x86_64__)
/* As a program of before 2003 has them: libc makes the condition in memory of its own, at the first use. */
extern int old_init(void *, const void *), old_timedwait(void *, pthread_mutex_t *, const struct timespec *);
__asm__(".symver old_init, pthread_cond_init@GLIBC_2.2.5\n.symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
static void old_condition(void)
{
    void *old[6] = { 0 };
    const struct timespec soon = after(CLOCK_REALTIME, 20);
    TELL(old_init(old, NULL));
    pthread_mutex_lock(&held);
    TELL(old_timedwait(old, &held, &soon));
    pthread_mutex_unlock(&held);
    TELL(old[0] != NULL);
    TELL(old[1] == NULL && old[2] == NULL && old[3] == NULL);
}
#else
static void old_condition(void)
{
}
#endif

static void in_children(void)
{
    pthread_t thread;
    int status;
    pthread_create(&thread, NULL, hold_both, (void *)(intptr_t)50);
    pthread_barrier_wait(&barrier);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
        in_thread(lock_and_die, &own);
        const struct timespec soon = after(CLOCK_REALTIME, 20);
        _exit(pthread_mutex_timedlock(&own, &soon));
    }
    waitpid(child, &status, 0);
    TELL(WEXITSTATUS(status));
    TELL(pthread_join(thread, NULL));
}

/* 16 threads for two seconds. What they leave behind must be whole: a sum that a mutex guards, one that a writer's lock guards. */
static _Atomic int is_over;
static uint64_t guarded, written, done[2];

static void *work(void *argument)
{
    unsigned seed = (unsigned)(intptr_t)argument;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    while (!is_over) {
        unsigned what = (unsigned)rand_r(&seed) % 8;
        const struct timespec soon = after(CLOCK_REALTIME, 2);
        if (what < 3) {
            pthread_mutex_lock(&held);
            guarded++;
            pthread_mutex_unlock(&held);
            __atomic_fetch_add(&done[0], 1, __ATOMIC_RELAXED);
        } else if (what == 3) {
            pthread_rwlock_wrlock(&read_write);
            written++;
            pthread_rwlock_unlock(&read_write);
            __atomic_fetch_add(&done[1], 1, __ATOMIC_RELAXED);
        } else if (what == 4) {
            pthread_rwlock_rdlock(&read_write);
            pthread_rwlock_unlock(&read_write);
        } else if (what == 5) {
            pthread_mutex_lock(&held);
            pthread_cond_timedwait(&condition, &held, &soon);
            pthread_cond_broadcast(&condition);
            pthread_mutex_unlock(&held);
        } else if (what == 6) {
            sem_post(&semaphore);
            sem_wait(&semaphore);
        } else {
            pthread_t thread;
            pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
            if (pthread_create(&thread, NULL, wait_for_good, (void *)(intptr_t)(seed % 2)) == 0) {
                usleep(seed % 300);
                pthread_cancel(thread);
                pthread_join(thread, NULL);
            }
            pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        }
    }
    return NULL;
}

static int stress(void)
{
    enum { THREADS = 16 };
    pthread_t thread[THREADS];
    sem_init(&semaphore, 0, 0);
    sem_init(&handled, 0, 0);
    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_RESTART }, NULL);
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(3);
        ualarm(50000, 0);
        while (waitpid(child, &status, 0) < 0) {}
        if (WEXITSTATUS(status) != 3)
            return 1;
        usleep(50000);
    }
    is_over = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf("%d %d\n", guarded == done[0], written == done[1]);
    return 0;
}

int main(int count, char **argument)
{
    if (count > 1 && strcmp(argument[1], "stress") == 0)
        return stress();
    mutexes();
    held_by_others();
    semaphores_and_conditions();
    cancelled();
    old_condition();
    in_children();
    return 0;
}
