/* HIP without an accelerator: a stand-in for its runtime and for ROCprofiler-SDK in one (-DSTAND_IN, a library), and a program that uses it for known times.
 * The runtime looks for a tool when it is used first, as AMD's does. Prints as accelerators_cuda.c. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((unused)) static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

#ifdef STAND_IN
enum { RUNTIME_API = 5, MEMORY_COPY = 10, KERNEL = 11, OPERATIONS = 5, RECORDS = 16 };
struct id {
    uint64_t handle;
};
struct called {
    uint64_t context, thread, correlation[3];
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    void *payload;
};
struct record {
    uint64_t bytes;
    uint32_t kind;
    int32_t operation;
    uint64_t correlation[2], thread, begin, end, to, from, copied, more[2];
};
struct header {
    uint32_t category, kind;
    void *payload;
};
typedef void on_call(struct called, uint64_t *, void *);
typedef void on_full(struct id, struct id, struct header **, size_t, void *, uint64_t);
struct tool {
    size_t size;
    int (*initialize)(void (*)(void), void *);
    void (*finalize)(void *);
    void *data;
};

static const char *const names[OPERATIONS] = { "hipModuleLaunchKernel", "hipMemcpyAsync", "hipMemcpyWithStream", "hipStreamSynchronize", "hipMalloc" };
static struct tool *tool;
static on_call *on_calls;
static on_full *on_fulls;
static int is_traced[OPERATIONS], has[16], is_started;
static struct record records[RECORDS];
static size_t used;

int rocprofiler_create_context(struct id *context)
{
    context->handle = 7;
    return 0;
}
int rocprofiler_start_context(struct id context)
{
    is_started = context.handle == 7;
    return 0;
}
int rocprofiler_create_buffer(struct id context, size_t size, size_t watermark, int policy, on_full *full, void *data, struct id *buffer)
{
    (void)context, (void)data;
    on_fulls = full;
    buffer->handle = 3;
    return size < watermark || policy != 1;
}
int rocprofiler_flush_buffer(struct id buffer)
{
    struct header all[RECORDS], *each[RECORDS];
    for (size_t i = 0; i < used; i++) {
        all[i] = (struct header){ 1, records[i].kind, &records[i] };
        each[i] = &all[i];
    }
    on_fulls((struct id){ 7 }, buffer, each, used, NULL, 0);
    used = 0;
    return buffer.handle != 3;
}
int rocprofiler_configure_buffer_tracing_service(struct id context, int kind, const int32_t *operations, size_t count, struct id buffer)
{
    (void)context, (void)operations, (void)count, (void)buffer;
    has[kind] = 1;
    return getenv("STAND_IN_REFUSES") != NULL;
}
int rocprofiler_configure_callback_tracing_service(struct id context, int kind, const int32_t *operations, size_t count, on_call *call, void *data)
{
    (void)context, (void)data;
    on_calls = call;
    for (size_t i = 0; i < count; i++)
        is_traced[operations[i]] = 1;
    return kind != RUNTIME_API;
}
int rocprofiler_iterate_callback_tracing_kind_operations(int kind, int (*operation)(int, int32_t, void *), void *data)
{
    for (int32_t i = 0; i < OPERATIONS; i++)
        operation(kind, i, data);
    return 0;
}
int rocprofiler_query_callback_tracing_kind_operation_name(int kind, int32_t operation, const char **name, uint64_t *length)
{
    *name = names[operation];
    *length = strlen(*name);
    return kind != RUNTIME_API;
}
int rocprofiler_get_timestamp(uint64_t *ns)
{
    *ns = now();
    return 0;
}

static void finish(void)
{
    if (tool != NULL)
        tool->finalize(tool->data);
}

static void nothing(void)
{
}

void stand_in_begin(unsigned version)
{
    struct tool *(*configure)(uint32_t, const char *, uint32_t, void *);
    *(void **)&configure = dlsym(RTLD_DEFAULT, "rocprofiler_configure");
    tool = configure != NULL ? configure(version, "stand-in", 0, NULL) : NULL;
    if (tool != NULL && tool->initialize(nothing, tool->data) != 0)
        tool = NULL;
    if (tool != NULL)
        atexit(finish);
}

static uint64_t free_at;

/* A call of the runtime: `kind` of work, which takes the accelerator so long. */
void stand_in_do(int32_t operation, uint32_t kind, int32_t direction, uint64_t bytes, uint64_t ns, int waits)
{
    struct called call = { .kind = RUNTIME_API, .operation = operation, .phase = 1 };
    uint64_t data = 0;
    if (tool != NULL && is_traced[operation])
        on_calls(call, &data, NULL);
    uint64_t begin = now() > free_at ? now() : free_at;
    free_at = begin + ns;
    if (tool != NULL && kind != 0 && has[kind]) {
        records[used++ % RECORDS] = (struct record){ .kind = kind, .operation = direction, .begin = begin, .end = free_at,
                                             .copied = kind == MEMORY_COPY ? bytes : 5 };
    }
    while (waits && now() < free_at)
        usleep(1000);
    call.phase = 2;
    if (tool != NULL && is_traced[operation])
        on_calls(call, &data, NULL);
}

#else
enum { LAUNCH, COPY_ASYNC, COPY, SYNCHRONIZE };

int main(int count, char **arguments)
{
    void *runtime = dlopen("libamdhip64.so", RTLD_NOW | RTLD_GLOBAL);
    void (*begin)(unsigned);
    void (*act)(int32_t, uint32_t, int32_t, uint64_t, uint64_t, int);
    *(void **)&begin = dlsym(runtime, "stand_in_begin");
    *(void **)&act = dlsym(runtime, "stand_in_do");
    begin(count > 1 ? (unsigned)atoi(arguments[1]) : 10000);
    uint64_t began = now(), waited;
    act(COPY, 10, 2, 3 << 20, 100000000, 1);
    waited = now() - began;
    act(LAUNCH, 11, 2, 0, 900000000, 0);
    act(COPY_ASYNC, 10, 3, 5 << 20, 50000000, 0);
    for (int i = 0; i < 5; i++)
        act(LAUNCH, 11, 2, 0, 20000000, 0);
    act(COPY_ASYNC, 10, 4, 1 << 10, 30000000, 0);
    began = now();
    act(SYNCHRONIZE, 0, 0, 0, 0, 1);
    waited += now() - began;
    printf("accelerator 2 %lu 0\nmain 2 %lu 0\nkernel 6 1000000000 0\nto_device 1 100000000 %d\n", waited, waited, 3 << 20);
    printf("from_device 1 50000000 %d\non_device 1 30000000 %d\n", 5 << 20, 1 << 10);
    return 0;
}
#endif
