/* HIP, by ROCprofiler-SDK (1.0 and later, of ROCm 7): AMD's runtimes look for `rocprofiler_configure` when they start, and only where they find it do they
 * open its library and call us. What is used of its headers stands here. */
#include "accelerators.h"

#include <stddef.h>

enum { HIP_RUNTIME_API = 5 }; /* kind of calls that are told of */
enum { MEMORY_COPY = 10, KERNEL_DISPATCH = 11 }; /* kinds of buffered records */
enum { HOST_TO_DEVICE = 2, DEVICE_TO_HOST = 3 }; /* operations of MEMORY_COPY */
enum { ENTER = 1 }; /* a phase of a call */
enum { CATEGORY_TRACING = 1, DISCARD_WHERE_FULL = 1 };
enum { BUFFER_BYTES = 1 << 20, OPERATIONS_MOST = 128 };
#define FIRST_VERSION 10000 /* before, records of calls had another form */

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
struct buffered {
    uint32_t category, kind;
    const struct {
        uint64_t bytes; /* of this record */
        uint32_t kind;
        int32_t operation;
        uint64_t correlation[2], thread, begin, end;
        uint64_t to, from, copied; /* of MEMORY_COPY alone */
    } *record;
};
struct result {
    size_t bytes;
    int (*initialize)(function finalize, void *data);
    void (*finalize)(void *data);
    void *data;
};

static struct {
    int (*create_context)(struct id *context);
    int (*start_context)(struct id context);
    int (*create_buffer)(struct id context, size_t bytes, size_t watermark, int policy,
                         void (*full)(struct id, struct id, struct buffered **, size_t, void *, uint64_t), void *data, struct id *buffer);
    int (*flush_buffer)(struct id buffer);
    int (*buffer_tracing)(struct id context, int kind, const int32_t *operations, size_t count, struct id buffer);
    int (*callback_tracing)(struct id context, int kind, const int32_t *operations, size_t count, void (*calls)(struct called, uint64_t *, void *),
                            void *data);
    int (*each_operation)(int kind, int (*operation)(int, int32_t, void *), void *data);
    int (*operation_name)(int kind, int32_t operation, const char **name, uint64_t *length);
    int (*timestamp)(uint64_t *ns);
} sdk;
static struct id context, buffer;
static int32_t operations[OPERATIONS_MOST];
static unsigned operations_used;

static bool find_all(void)
{
    static const struct {
        const char *name;
        void *place;
    } functions[] = {
        { "rocprofiler_create_context", &sdk.create_context },
        { "rocprofiler_start_context", &sdk.start_context },
        { "rocprofiler_create_buffer", &sdk.create_buffer },
        { "rocprofiler_flush_buffer", &sdk.flush_buffer },
        { "rocprofiler_configure_buffer_tracing_service", &sdk.buffer_tracing },
        { "rocprofiler_configure_callback_tracing_service", &sdk.callback_tracing },
        { "rocprofiler_iterate_callback_tracing_kind_operations", &sdk.each_operation },
        { "rocprofiler_query_callback_tracing_kind_operation_name", &sdk.operation_name },
        { "rocprofiler_get_timestamp", &sdk.timestamp },
    };
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        *(function *)functions[i].place = accelerators_function(functions[i].name);
        if (*(function *)functions[i].place == NULL)
            return false;
    }
    return true;
}

/* A call that waits begins or ends. */
static void calls(struct called call, uint64_t *data, void *of_all)
{
    (void)data;
    (void)of_all;
    accelerators_wait(call.phase == ENTER);
}

static void full(struct id of, struct id which, struct buffered **headers, size_t count, void *data, uint64_t dropped)
{
    (void)of;
    (void)which;
    (void)data;
    struct gathered gathered;
    gathered_begin(&gathered, sdk.timestamp);
    for (size_t i = 0; i < count; i++) {
        const struct buffered *header = headers[i];
        if (header->category != CATEGORY_TRACING || (header->kind != MEMORY_COPY && header->kind != KERNEL_DISPATCH))
            continue;
        enum accelerated kind = header->kind == KERNEL_DISPATCH               ? ACCELERATED_kernel
                                : header->record->operation == HOST_TO_DEVICE ? ACCELERATED_to_device
                                : header->record->operation == DEVICE_TO_HOST ? ACCELERATED_from_device
                                                                              : ACCELERATED_on_device;
        gathered_add(&gathered, kind, header->record->begin, header->record->end, header->kind == MEMORY_COPY ? header->record->copied : 0);
    }
    gathered_end(&gathered);
    if (dropped > 0)
        slicewise_accelerators_failed(dropped);
}

static int note_operation(int kind, int32_t operation, void *data)
{
    (void)data;
    const char *name = NULL;
    uint64_t length = 0;
    if (operations_used < OPERATIONS_MOST && sdk.operation_name(kind, operation, &name, &length) == 0 && name != NULL &&
        accelerators_is_waiting(name))
        operations[operations_used++] = operation;
    return 0; /* and the next one */
}

static int initialize(function end, void *data)
{
    (void)end;
    (void)data;
    bool is_begun = find_all() && sdk.create_context(&context) == 0 &&
                    sdk.create_buffer(context, BUFFER_BYTES, BUFFER_BYTES / 2, DISCARD_WHERE_FULL, full, NULL, &buffer) == 0 &&
                    sdk.buffer_tracing(context, KERNEL_DISPATCH, NULL, 0, buffer) == 0 &&
                    sdk.buffer_tracing(context, MEMORY_COPY, NULL, 0, buffer) == 0 &&
                    sdk.each_operation(HIP_RUNTIME_API, note_operation, NULL) == 0 && operations_used > 0 &&
                    sdk.callback_tracing(context, HIP_RUNTIME_API, operations, operations_used, calls, NULL) == 0 && sdk.start_context(context) == 0;
    if (!is_begun)
        slicewise_accelerators_failed(0);
    return is_begun ? 0 : -1; /* what was made is ignored */
}

static void finalize(void *data)
{
    (void)data;
    sdk.flush_buffer(buffer);
}

EXPORT struct result *rocprofiler_configure(uint32_t version, const char *runtime, uint32_t priority, void *client);
EXPORT struct result *rocprofiler_configure(uint32_t version, const char *runtime, uint32_t priority, void *client)
{
    (void)runtime;
    (void)priority;
    (void)client;
    static struct result ours = { sizeof ours, initialize, finalize, NULL };
    if (slicewise_accelerated == NULL)
        return NULL;
    if (version >= FIRST_VERSION)
        return &ours;
    slicewise_accelerators_failed(0);
    return NULL;
}
