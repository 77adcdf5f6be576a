/* CUDA without an accelerator: a stand-in for CUPTI (-DCUPTI), one for the driver and its runtime (-DDRIVER), and a program that opens the driver as
 * CUDA's runtime does and uses it for known times. Its arguments: "none", it does not open it; "first", it looks for nothing before it has a subscriber of
 * its own. It prints lines "KIND TIMES NS BYTES": "accelerator", what its calls waited by its own clock, "main", of these the first thread's, and what it
 * had done; and whether CUPTI is in the process. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__attribute__((unused)) static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

enum { DRIVER_API = 1, RUNTIME_API = 2, CALLS = 8 };
struct called {
    int site;
    const char *name;
};
struct record {
    uint32_t kind;
    uint8_t copy, rest[3];
    uint64_t bytes, begin, end, more[4];
};
typedef void callback(void *data, int domain, uint32_t id, const struct called *call);

#if defined(CUPTI)
/* Times are of another clock than the profiler's. */
static const char *const names[3][CALLS] = {
    [DRIVER_API] = { NULL, "cuLaunchKernel", "cuMemcpyHtoD_v2", "cuMemcpyDtoHAsync_v2", "cuCtxSynchronize", "cuGraphAddMemcpyNode" },
    [RUNTIME_API] = { NULL, "cudaLaunchKernel_v7000", "cudaMemcpy_v3020", "cudaMemcpyAsync_v3020", "cudaDeviceSynchronize_v3020" },
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static callback *subscribed;
static int is_enabled[3][CALLS], has_kind[64], wants;
static void (*request)(uint8_t **, size_t *, size_t *);
static void (*full)(void *, uint32_t, uint8_t *, size_t, size_t);
static uint8_t *buffer;
static size_t room, used, lost;

int cuptiSubscribe(void **subscriber, callback *call, void *data)
{
    (void)data;
    if (subscribed != NULL || getenv("STAND_IN_REFUSES") != NULL)
        return 39;
    subscribed = call;
    *subscriber = &subscribed;
    return 0;
}
int cuptiUnsubscribe(void *subscriber)
{
    (void)subscriber;
    subscribed = NULL;
    return 0;
}
int cuptiGetCallbackName(int domain, uint32_t id, const char **name)
{
    *name = id < CALLS ? names[domain][id] : NULL;
    return *name == NULL;
}
int cuptiEnableCallback(uint32_t is_on, void *subscriber, int domain, uint32_t id)
{
    (void)subscriber;
    is_enabled[domain][id] = (int)is_on;
    return 0;
}
int cuptiActivityRegisterCallbacks(void (*of_request)(uint8_t **, size_t *, size_t *), void (*of_full)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    request = of_request;
    full = of_full;
    return 0;
}
int cuptiActivityEnable(int kind)
{
    has_kind[kind] = 1;
    return 0;
}
int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, struct record **record)
{
    uint8_t *next = *record == NULL ? from : (uint8_t *)(*record + 1);
    *record = (struct record *)(void *)next;
    return next + sizeof **record > from + valid;
}
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    *count = lost;
    lost = 0;
    return 0;
}
int cuptiGetTimestamp(uint64_t *ns)
{
    *ns = now(CLOCK_MONOTONIC);
    return 0;
}
int cuptiActivityFlushAll(uint32_t forced)
{
    (void)forced;
    pthread_mutex_lock(&lock);
    uint8_t *filled = buffer;
    size_t valid = used;
    buffer = NULL;
    used = 0;
    pthread_mutex_unlock(&lock);
    if (filled != NULL)
        full(NULL, 0, filled, room, valid);
    return 0;
}
/* For the stand-in of the driver. */
void stand_in_call(int domain, uint32_t id, int site)
{
    struct called call = { site, names[domain][id] };
    if (subscribed != NULL && is_enabled[domain][id])
        subscribed(NULL, domain, id, &call);
}
void stand_in_record(const struct record *record)
{
    if (!has_kind[record->kind])
        return;
    pthread_mutex_lock(&lock);
    if (buffer == NULL) {
        size_t records;
        request(&buffer, &room, &records);
    }
    if (buffer != NULL && getenv("STAND_IN_LOSES") == NULL)
        memcpy(buffer + used, record, sizeof *record);
    else
        lost++;
    used += buffer != NULL && getenv("STAND_IN_LOSES") == NULL ? sizeof *record : 0;
    int is_full = buffer != NULL && used + sizeof *record > (wants = 4 * (int)sizeof *record);
    pthread_mutex_unlock(&lock);
    if (is_full)
        cuptiActivityFlushAll(0);
}

#elif defined(DRIVER)
static void (*tell_call)(int, uint32_t, int);
static void (*tell_record)(const struct record *);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t free_at; /* the accelerator does one thing after the other */

static void *known(const char *name)
{
    void *cupti = dlopen("libcupti.so", RTLD_NOW | RTLD_NOLOAD);
    return cupti != NULL ? dlsym(cupti, name) : NULL;
}

int cuInit(unsigned flags)
{
    (void)flags;
    *(void **)&tell_call = known("stand_in_call");
    *(void **)&tell_record = known("stand_in_record");
    return 0;
}

/* The driver's waiting is a wait at a semaphore. */
static void wait_until(uint64_t end)
{
    sem_t never;
    sem_init(&never, 0, 0);
    end += now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
    struct timespec until = { (time_t)(end / 1000000000), (long)(end % 1000000000) };
    while (sem_timedwait(&never, &until) != 0 && now(CLOCK_REALTIME) < end)
        ;
}

static void both(uint32_t id, int site)
{
    for (int domain = site == 0 ? RUNTIME_API : DRIVER_API; tell_call != NULL && domain >= DRIVER_API && domain <= RUNTIME_API; domain += site == 0 ? -1 : 1)
        tell_call(domain, id, site);
}

/* One call of the runtime, and of the driver within it. Returns how long the accelerator takes for what it gave it. */
void stand_in_do(uint32_t id, uint32_t kind, uint8_t copy, uint64_t bytes, uint64_t ns, int waits)
{
    both(id, 0);
    pthread_mutex_lock(&lock);
    struct record record = { .kind = kind, .copy = copy, .bytes = bytes };
    record.begin = now(CLOCK_MONOTONIC) > free_at ? now(CLOCK_MONOTONIC) : free_at;
    uint64_t end = free_at = record.end = record.begin + ns;
    pthread_mutex_unlock(&lock);
    if (kind != 0 && tell_record != NULL)
        tell_record(&record);
    if (waits)
        wait_until(end);
    both(id, 1);
}

#else
enum { LAUNCH = 1, COPY = 2, COPY_ASYNC = 3, SYNCHRONIZE = 4 };
static void (*act)(uint32_t, uint32_t, uint8_t, uint64_t, uint64_t, int);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t waited, waited_main, waits;

static void waiting(uint32_t id, uint32_t kind, uint64_t bytes, uint64_t ns, int is_main)
{
    uint64_t began = now(CLOCK_MONOTONIC);
    act(id, kind, 1, bytes, ns, 1);
    uint64_t took = now(CLOCK_MONOTONIC) - began;
    pthread_mutex_lock(&lock);
    waits++;
    waited += took;
    waited_main += is_main ? took : 0;
    pthread_mutex_unlock(&lock);
}

static void *other(void *nothing)
{
    waiting(COPY, 1, 1 << 20, 150000000, 0);
    waiting(SYNCHRONIZE, 0, 0, 0, 0);
    return nothing;
}

int main(int count, char **arguments)
{
    void *driver = count == 1 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    if (driver != NULL) {
        int (*init)(unsigned);
        *(void **)&init = dlsym(driver, "cuInit");
        init(0);
        *(void **)&act = dlsym(driver, "stand_in_do");
        pthread_t thread;
        waiting(COPY, 1, 3 << 20, 100000000, 1);
        act(LAUNCH, 10, 0, 0, 1200000000, 0);
        waiting(SYNCHRONIZE, 0, 0, 0, 1);
        for (int i = 0; i < 10; i++)
            act(LAUNCH, 10, 0, 0, 20000000, 0);
        act(COPY_ASYNC, 1, 2, 5 << 20, 50000000, 0);
        act(LAUNCH, 2, 0, 7 << 10, 10000000, 0); /* a fill */
        pthread_create(&thread, NULL, other, NULL);
        waiting(SYNCHRONIZE, 0, 0, 0, 1);
        pthread_join(thread, NULL);
    }
    printf("accelerator %lu %lu 0\nmain %lu %lu 0\n", waits, waited, waits, waited_main);
    if (driver != NULL)
        printf("kernel 11 1400000000 0\nto_device 2 250000000 %d\nfrom_device 1 50000000 %d\nfill 1 10000000 %d\n", 4 << 20, 5 << 20, 7 << 10);
    printf("cupti %d 0 0\n", dlopen("libcupti.so", RTLD_NOW | RTLD_NOLOAD) != NULL);
    (void)arguments;
    return 0;
}
#endif
