/* libslicewise-threads.so: times what threads of a process wait for each other, and counts it in the profiler, which is another library. Preloaded
 * where it is asked for, and never else. For any thread at any time: it takes no lock, allocates nothing, and holds nothing across the real call,
 * so that a thread may be cancelled in it. Each function does what libc's does, and errno is as that left it. */
#include "threads.h"

#include "symbol.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>

static int missing(void)
{
    return errno = ENOSYS;
}

/* For an attempt that is missing: libc before 2.34 has locks without libpthread, and no attempts. The call that may wait is made then. */
static int busy(void)
{
    return EBUSY;
}

/* May be called before our relocations are done, and from within allocators. */
void *threads_look_up(void *_Atomic *known, const char *name)
{
    int saved_errno = errno;
    struct symbol found = symbol_next(name);
    bool is_attempt = strstr(name, "try") != NULL;
    void *function = found.address != NULL ? found.address : (void *)(uintptr_t)(is_attempt ? busy : missing);
    if (!found.is_later || (found.address == NULL && is_attempt))
        atomic_store_explicit(known, function, memory_order_relaxed);
    errno = saved_errno;
    return function;
}

#define TIMED(kind, name, arguments) \
    __extension__({ \
        uint64_t start_tick = openmp_since_tick == 0 ? wait_begin() : 0; \
        int waited_for = NEXT(name) arguments; /* NOLINT(bugprone-macro-parentheses): a list in parentheses */ \
        if (start_tick != 0) \
            wait_end(THREAD_WAIT_##kind, start_tick); \
        waited_for; \
    })

/* Every call is timed. So are calls with a deadline or a clock that libc refuses also where there is nothing to wait for. */
#define WAIT(kind, name, parameters, arguments) \
    EXPORT int name parameters \
    { \
        return TIMED(kind, name, arguments); \
    }

/* What is free is taken by the call that never waits, which answers EBUSY in all cases in which the other one waits, or knows better (EDEADLK). */
#define LOCK(name, attempt, parameters, arguments, object) \
    EXPORT int name parameters \
    { \
        int result = NEXT(attempt)(object); \
        return LIKELY(result != EBUSY) ? result : TIMED(lock, name, arguments); \
    }

typedef const struct timespec *deadline;

LOCK(pthread_mutex_lock, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex), mutex)
LOCK(pthread_mutex_timedlock, pthread_mutex_trylock, (pthread_mutex_t * mutex, deadline until), (mutex, until), mutex)
WAIT(lock, pthread_mutex_clocklock, (pthread_mutex_t * mutex, clockid_t clock, deadline until), (mutex, clock, until))

/* Before glibc 2.30, which brought the function that is looked for, attempts can leave another thread asleep for good (its bug 23844): there these
 * locks are not timed. */
#define READ_WRITE_LOCK(name, attempt) \
    EXPORT int name(pthread_rwlock_t *object) \
    { \
        if (!LIKELY(NEXT(pthread_rwlock_clockrdlock) != (__typeof__(&pthread_rwlock_clockrdlock))(uintptr_t)missing)) \
            return NEXT(name)(object); \
        int result = NEXT(attempt)(object); \
        return LIKELY(result != EBUSY) ? result : TIMED(lock, name, (object)); \
    }
READ_WRITE_LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock)
READ_WRITE_LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock)
WAIT(lock, pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, deadline until), (lock, until))
WAIT(lock, pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, deadline until), (lock, until))
WAIT(lock, pthread_rwlock_clockrdlock, (pthread_rwlock_t * lock, clockid_t clock, deadline until), (lock, clock, until))
WAIT(lock, pthread_rwlock_clockwrlock, (pthread_rwlock_t * lock, clockid_t clock, deadline until), (lock, clock, until))

/* The first two have an older form on x86-64, for programs of before 2003: versions.map keeps those out of here. */
WAIT(condition, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex))
WAIT(condition, pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t *mutex, deadline until), (condition, mutex, until))
WAIT(condition, pthread_cond_clockwait, (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock, deadline until),
     (condition, mutex, clock, until))

WAIT(barrier, pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier))

WAIT(join, pthread_join, (pthread_t thread, void **result_of), (thread, result_of))
WAIT(join, pthread_timedjoin_np, (pthread_t thread, void **result_of, deadline until), (thread, result_of, until))
WAIT(join, pthread_clockjoin_np, (pthread_t thread, void **result_of, clockid_t clock, deadline until), (thread, result_of, clock, until))

/* A point of cancellation, also where the semaphore is there to be taken. */
EXPORT int sem_wait(sem_t *semaphore)
{
    int saved_errno = errno;
    NEXT(pthread_testcancel)();
    if (LIKELY(NEXT(sem_trywait)(semaphore) == 0))
        return 0;
    errno = saved_errno;
    return TIMED(semaphore, sem_wait, (semaphore));
}
WAIT(semaphore, sem_timedwait, (sem_t * semaphore, deadline until), (semaphore, until))
WAIT(semaphore, sem_clockwait, (sem_t * semaphore, clockid_t clock, deadline until), (semaphore, clock, until))
