/* Threads that begin: hardware counters are counted from a thread's first moment on. */
#include "hardware.h"
#include "interpose.h"

#include <pthread.h>
#include <stdlib.h>

struct beginning {
    void *(*run)(void *);
    void *argument;
};

static void *begin_counted(void *allocated)
{
    struct beginning beginning = *(struct beginning *)allocated;
    free(allocated);
    hardware_thread_begins();
    return beginning.run(beginning.argument);
}

INTERPOSE(int, pthread_create, (pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument))
{
    struct call call = call_begin(OP_pthread_create);
    struct beginning *beginning = hardware_is_on() ? malloc(sizeof *beginning) : NULL;
    int result;
    if (beginning != NULL) {
        *beginning = (struct beginning){ run, argument };
        result = REAL(pthread_create)(thread, attributes, begin_counted, beginning);
        if (result != 0)
            free(beginning);
    } else
        result = REAL(pthread_create)(thread, attributes, run, argument);
    call_end(&call);
    call_lived(&call);
    call_close(&call);
    return result;
}
