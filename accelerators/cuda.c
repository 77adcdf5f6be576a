/* CUDA, by CUPTI: its callbacks tell of calls that wait, its activity records of kernels, copies and fills. It is opened where the program looks for the
 * driver's first functions in the driver that it has opened itself, or where the driver opens us (CUDA_INJECTION64_PATH); never else. What is used of its
 * headers stands here: the beginnings of records are the same in all versions. */
#include "accelerators.h"

#include "symbol.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __clang__
#pragma GCC optimize("O2") /* whatever the rest is compiled with: a call in the last place is a jump then */
#endif

enum { DRIVER_API = 1, RUNTIME_API = 2 }; /* domains of callbacks */
enum { ENTER = 0 }; /* a site of a callback */
enum { MEMCPY = 1, MEMSET = 2, CONCURRENT_KERNEL = 10, MEMCPY_PEERS = 22 }; /* kinds of activities; kernels may run beside each other */
enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, HOST_TO_ARRAY = 3, ARRAY_TO_HOST = 4 }; /* copies */
enum { CALLBACKS_MOST = 4096, INVALID_PARAMETER = 1 };
enum { BUFFERS = 8, BUFFER_BYTES = 512 << 10, FLUSH_MS = 1000 };

struct called {
    int site;
    const char *name; /* and more */
};
struct done {
    uint32_t kind;
    uint8_t copy, kinds[3];
    uint64_t bytes; /* of a kernel: something else */
    uint64_t begin, end; /* and more */
};

typedef void on_call(void *data, int domain, uint32_t id, const struct called *call);
typedef void on_request(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void on_full(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);

static struct {
    int (*subscribe)(void **subscriber, on_call *call, void *data);
    int (*unsubscribe)(void *subscriber);
    int (*callback_name)(int domain, uint32_t id, const char **name);
    int (*enable_callback)(uint32_t is_on, void *subscriber, int domain, uint32_t id);
    int (*register_callbacks)(on_request *request, on_full *full);
    int (*enable)(int kind);
    int (*next_record)(uint8_t *buffer, size_t valid, struct done **record);
    int (*dropped)(void *context, uint32_t stream, size_t *count);
    int (*flush_all)(uint32_t forced);
    int (*timestamp)(uint64_t *ns);
    int (*flush_period)(uint32_t ms); /* CUDA 11.1 and later */
} cupti;
static pid_t own_pid;

static struct {
    _Atomic int is_taken;
    uint8_t *bytes;
} buffers[BUFFERS];

/* Where none is free CUPTI drops records, and counts them. */
static void request(uint8_t **buffer, size_t *bytes, size_t *records)
{
    *records = 0; /* as many as it has room for */
    *buffer = NULL;
    *bytes = 0;
    for (unsigned i = 0; i < BUFFERS; i++) {
        int is_taken = 0;
        if (!atomic_compare_exchange_strong(&buffers[i].is_taken, &is_taken, 1))
            continue;
        if (buffers[i].bytes == NULL) {
            void *made = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            buffers[i].bytes = made != MAP_FAILED ? made : NULL;
        }
        *buffer = buffers[i].bytes;
        *bytes = buffers[i].bytes != NULL ? BUFFER_BYTES : 0;
        if (buffers[i].bytes == NULL)
            atomic_store(&buffers[i].is_taken, 0);
        return;
    }
}

static enum accelerated kind_of(const struct done *activity)
{
    if (activity->kind == CONCURRENT_KERNEL || activity->kind == MEMSET)
        return activity->kind == MEMSET ? ACCELERATED_fill : ACCELERATED_kernel;
    if (activity->kind == MEMCPY && (activity->copy == HOST_TO_DEVICE || activity->copy == HOST_TO_ARRAY))
        return ACCELERATED_to_device;
    if (activity->kind == MEMCPY && (activity->copy == DEVICE_TO_HOST || activity->copy == ARRAY_TO_HOST))
        return ACCELERATED_from_device;
    return ACCELERATED_on_device;
}

static void full(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    (void)bytes;
    struct gathered gathered;
    struct done *activity = NULL;
    gathered_begin(&gathered, cupti.timestamp);
    while (valid > 0 && cupti.next_record(buffer, valid, &activity) == 0) {
        if (activity->kind == CONCURRENT_KERNEL || activity->kind == MEMCPY || activity->kind == MEMSET || activity->kind == MEMCPY_PEERS)
            gathered_add(&gathered, kind_of(activity), activity->begin, activity->end, activity->kind == CONCURRENT_KERNEL ? 0 : activity->bytes);
    }
    gathered_end(&gathered);
    size_t dropped = 0;
    if (cupti.dropped(context, stream, &dropped) == 0 && dropped > 0)
        slicewise_accelerators_failed(dropped);
    for (unsigned i = 0; i < BUFFERS; i++)
        if (buffers[i].bytes == buffer)
            atomic_store(&buffers[i].is_taken, 0);
}

static void calls(void *data, int domain, uint32_t id, const struct called *call)
{
    (void)data;
    (void)domain;
    (void)id;
    accelerators_wait(call->site == ENTER);
}

/* By names, since each version has new numbers. Returns how many. */
static unsigned enable_calls(void *subscriber, int domain)
{
    unsigned enabled = 0;
    for (uint32_t id = 1; id < CALLBACKS_MOST; id++) {
        const char *name = NULL;
        if (cupti.callback_name(domain, id, &name) == 0 && name != NULL && accelerators_is_waiting(name))
            enabled += cupti.enable_callback(1, subscriber, domain, id) == 0;
    }
    return enabled;
}

/* The last records: the process is still whole, and its counts are not closed. */
static void flush(void)
{
    if (getpid() == own_pid) /* CUPTI has no thread in a child */
        cupti.flush_all(1);
}

static bool find_all(void *library)
{
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        { "cuptiSubscribe", &cupti.subscribe },
        { "cuptiUnsubscribe", &cupti.unsubscribe },
        { "cuptiGetCallbackName", &cupti.callback_name },
        { "cuptiEnableCallback", &cupti.enable_callback },
        { "cuptiActivityRegisterCallbacks", &cupti.register_callbacks },
        { "cuptiActivityEnable", &cupti.enable },
        { "cuptiActivityGetNextRecord", &cupti.next_record },
        { "cuptiActivityGetNumDroppedRecords", &cupti.dropped },
        { "cuptiActivityFlushAll", &cupti.flush_all },
        { "cuptiGetTimestamp", &cupti.timestamp },
        { "cuptiActivityFlushPeriod", &cupti.flush_period },
    };
    const unsigned count = sizeof functions / sizeof *functions;
    for (unsigned i = 0; i < count; i++) {
        *(function *)functions[i].place = (function)(uintptr_t)dlsym(library, functions[i].name);
        if (*(function *)functions[i].place == NULL && i < count - 1)
            return false;
    }
    return true;
}

/* CUPTI takes one subscriber in a process: where it is another one, that one has all. */
static bool begin(void)
{
    void *subscriber = NULL;
    if (cupti.subscribe(&subscriber, calls, NULL) != 0)
        return false;
    bool is_begun = cupti.register_callbacks(request, full) == 0 && cupti.enable(CONCURRENT_KERNEL) == 0 && cupti.enable(MEMCPY) == 0 &&
                    cupti.enable(MEMSET) == 0 && enable_calls(subscriber, RUNTIME_API) + enable_calls(subscriber, DRIVER_API) > 0;
    if (!is_begun) {
        cupti.unsubscribe(subscriber);
        return false;
    }
    cupti.enable(MEMCPY_PEERS);
    if (cupti.flush_period != NULL)
        cupti.flush_period(FLUSH_MS);
    own_pid = getpid();
    atexit(flush);
    return true;
}

/* A library of this process whose file is called so; copies its path. */
struct looked_for {
    const char *name;
    char path[4096];
};
static int is_looked_for(struct dl_phdr_info *object, size_t bytes, void *data)
{
    (void)bytes;
    struct looked_for *looked_for = data;
    const char *slash = strrchr(object->dlpi_name, '/');
    if (slash == NULL || strncmp(slash + 1, looked_for->name, strlen(looked_for->name)) != 0)
        return 0;
    return snprintf(looked_for->path, sizeof looked_for->path, "%s", object->dlpi_name) < (int)sizeof looked_for->path;
}

static void *open_in(const char *directory, const char *rest)
{
    char path[4096 + 64];
    snprintf(path, sizeof path, "%s%s", directory, rest);
    return access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* The program's own; that of the toolkit or of the Python packages that the program has its runtime from; or one that the loader finds. */
static void *open_cupti(void)
{
    struct looked_for known = { "libcupti.so", "" };
    if (dl_iterate_phdr(is_looked_for, &known) != 0)
        return dlopen(known.path, RTLD_NOW | RTLD_NOLOAD);
    static const char *const beside_runtime[] = { "/../extras/CUPTI/lib64/libcupti.so", "/libcupti.so", "/../../cuda_cupti/lib/libcupti.so.12",
                                                  "/libcupti.so.13", "/libcupti.so.12" };
    void *opened = NULL;
    struct looked_for runtime = { "libcudart.so", "" };
    if (dl_iterate_phdr(is_looked_for, &runtime) != 0) {
        *strrchr(runtime.path, '/') = '\0';
        for (unsigned i = 0; i < sizeof beside_runtime / sizeof *beside_runtime && opened == NULL; i++)
            opened = open_in(runtime.path, beside_runtime[i]);
    }
    static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH" };
    for (unsigned i = 0; i < 2 && opened == NULL; i++)
        if (getenv(variables[i]) != NULL)
            opened = open_in(getenv(variables[i]), "/extras/CUPTI/lib64/libcupti.so");
    static const char *const names[] = { "libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.0" };
    for (unsigned i = 0; i < sizeof names / sizeof *names && opened == NULL; i++)
        opened = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return opened != NULL ? opened : open_in("/usr/local/cuda", "/extras/CUPTI/lib64/libcupti.so");
}

/* Once a process. What is called here may look for the driver's functions as well. */
static void begin_once(void)
{
    static _Atomic int is_begun;
    if (slicewise_accelerated == NULL || atomic_exchange(&is_begun, 1) != 0)
        return;
    void *library = open_cupti();
    if (library == NULL || !find_all(library) || !begin())
        slicewise_accelerators_failed(0);
    symbol_forget_error();
}

/* The driver calls it where CUDA_INJECTION64_PATH names this library. */
EXPORT int InitializeInjection(void);
EXPORT int InitializeInjection(void)
{
    begin_once();
    return 1;
}

static bool is_first_of_driver(const char *name)
{
    return name[0] == 'c' && name[1] == 'u' &&
           (strcmp(name, "cuInit") == 0 || strncmp(name, "cuGetProcAddress", 16) == 0 || strcmp(name, "cuDriverGetVersion") == 0);
}

static __attribute__((noinline)) void look(void)
{
    if (symbol_find("cuInit", false) != NULL)
        begin_once();
}

static __attribute__((noinline)) void *no_dlsym(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    return NULL;
}

/* CUDA's runtime, and whoever opens the driver, finds its functions by this one. libc's looks at its caller's address, and is jumped to. */
EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*_Atomic known)(void *, const char *);
    void *(*real)(void *, const char *) = atomic_load_explicit(&known, memory_order_relaxed);
    if (real == NULL) {
        real = (void *(*)(void *, const char *))(uintptr_t)symbol_next("dlsym").address;
        real = real != NULL ? real : no_dlsym;
        atomic_store_explicit(&known, real, memory_order_relaxed);
    }
    if (is_first_of_driver(name))
        look();
    return real(handle, name);
}
