/* Waits in OpenMP's runtime, told by OMPT, the interface for tools of OpenMP 5.0: LLVM's runtime, and those made of it, have it; GCC's has not. The
 * runtime asks for `ompt_start_tool` when it starts. Of the interface's types, what is used stands here: its header comes with LLVM's runtime. */
#include "symbol.h"
#include "threads.h"

#include <stdlib.h>

union task_data {
    uint64_t is_waiting; /* ours to use: it begins as 0 */
    void *pointer;
};
enum { THREAD_BEGIN = 1, TASK_SCHEDULE = 6, SYNC_REGION_WAIT = 16 }; /* events */
enum { WORKER = 2 }; /* a type of threads */
enum endpoint { SCOPE_BEGIN = 1, SCOPE_END = 2 };
typedef void (*function)(void);
typedef function look_up(const char *name);
typedef int set_callback(int event, function callback);
struct start_tool {
    int (*initialize)(look_up *look_up, int device, union task_data *tool);
    void (*finalize)(union task_data *tool);
    union task_data tool;
};

typedef struct start_tool *start_tool(unsigned version, const char *runtime);

__thread uint64_t openmp_since_tick;
static __thread int is_worker;

static void stop(enum thread_wait kind)
{
    uint64_t since_tick = openmp_since_tick;
    openmp_since_tick = 0;
    if (since_tick != 0)
        wait_end(kind, since_tick);
}

/* A barrier, or a wait for tasks. At the end of a parallel region a worker's ends when the next region begins, and then belongs to none. */
static void waits(int kind, enum endpoint endpoint, union task_data *parallel, union task_data *task, const void *code)
{
    (void)kind;
    (void)code;
    if (task != NULL)
        task->is_waiting = endpoint == SCOPE_BEGIN;
    if (endpoint == SCOPE_BEGIN)
        openmp_since_tick = wait_begin();
    else
        stop(parallel == NULL && is_worker ? THREAD_WAIT_idle : THREAD_WAIT_barrier);
}

/* A thread that waits runs tasks meanwhile. */
static void switches(union task_data *prior, int status, union task_data *next)
{
    (void)status;
    if (prior != NULL && prior->is_waiting)
        stop(THREAD_WAIT_barrier);
    if (next != NULL && next->is_waiting)
        openmp_since_tick = wait_begin();
}

static void begins(int type, union task_data *thread)
{
    (void)thread;
    is_worker = type == WORKER;
}

static int initialize(look_up *entry_of, int device, union task_data *tool)
{
    (void)device;
    (void)tool;
    set_callback *set = (set_callback *)entry_of("ompt_set_callback");
    if (set == NULL)
        return 0;
    set(THREAD_BEGIN, (function)(uintptr_t)begins);
    set(SYNC_REGION_WAIT, (function)(uintptr_t)waits);
    set(TASK_SCHEDULE, (function)(uintptr_t)switches);
    return 1; /* stay */
}

static void finalize(union task_data *tool)
{
    (void)tool;
}

/* Another tool goes first, for there is but one: one that is linked, or one that the user names. The runtime's own function of this name looks for
 * more of them, behind itself. */
EXPORT struct start_tool *ompt_start_tool(unsigned version, const char *runtime);
EXPORT struct start_tool *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct start_tool ours = { initialize, finalize, { 0 } };
    const char *named = getenv("OMP_TOOL_LIBRARIES");
    start_tool *next = (start_tool *)(uintptr_t)symbol_next("ompt_start_tool").address;
    struct start_tool *others = next != NULL ? next(version, runtime) : NULL;
    if (others != NULL || (named != NULL && named[0] != '\0'))
        return others;
    return slicewise_thread_wait_end != NULL ? &ours : NULL;
}
