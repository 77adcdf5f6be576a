/* Threads that begin: hardware counters are counted, and computing is sampled, from a thread's first moment on. */
#include "computing.h"
#include "hardware.h"
#include "interpose.h"

#include <pthread.h>
#include <sys/mman.h>

struct beginning {
    void *(*run)(void *);
    void *argument;
};

/* Not from the program's allocator: it begins threads itself (jemalloc's in the background), and then it is locked. */
static struct beginning *make(void)
{
    void *made = (void *)syscall(SYS_mmap, NULL, sizeof(struct beginning), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made != MAP_FAILED ? made : NULL;
}

static void unmake(struct beginning *beginning)
{
    syscall(SYS_munmap, beginning, sizeof *beginning);
}

static void *begin_counted(void *made)
{
    struct beginning beginning = *(struct beginning *)made;
    unmake(made);
    if (hardware_is_on())
        hardware_thread_begins();
    if (computing_is_on())
        computing_thread_begins();
    return beginning.run(beginning.argument);
}

INTERPOSE(int, pthread_create, (pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument))
{
    struct call call = call_begin(OP_pthread_create);
    struct beginning *beginning = hardware_is_on() || computing_is_on() ? make() : NULL;
    int result;
    if (beginning != NULL) {
        *beginning = (struct beginning){ run, argument };
        result = REAL(pthread_create)(thread, attributes, begin_counted, beginning);
        if (result != 0)
            unmake(beginning);
    } else
        result = REAL(pthread_create)(thread, attributes, run, argument);
    call_end(&call);
    call_lived(&call);
    call_close(&call);
    return result;
}
