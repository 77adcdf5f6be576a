#include "hardware.h"

#include "engine.h"
#include "slice_row.h"
#include "sparse.h"
#include "state.h"

#include <dlfcn.h>
#pragma weak dlsym /* before 2.34 glibc has it in a library of its own, which a program that opens no library may lack */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

/* PAPI's interface, as its header has it since version 5: no header is needed to build, and no PAPI to run. */
enum { PAPI_OK = 0, PAPI_NULL = -1, PAPI_DOMAIN_USER = 1, PAPI_DOMAIN_ALL = 15, DESCRIPTORS_LOOKED_AT = 1024 };
static struct {
    int (*library_init)(int version);
    int (*thread_init)(unsigned long (*id)(void));
    int (*set_domain)(int domain);
    int (*create_eventset)(int *set);
    int (*event_name_to_code)(const char *name, int *code);
    int (*get_event_info)(int code, void *info);
    int (*add_event)(int set, int code);
    int (*start)(int set);
    int (*read)(int set, long long *values);
    int (*stop)(int set, long long *values);
    int (*cleanup_eventset)(int set);
    int (*destroy_eventset)(int *set);
    int (*unregister_thread)(void);
    char *(*strerror)(int error);
} papi;
/* clang-format off */
static const struct { const char *name; void *function; } papi_functions[] = {
#define PAPI(name) { "PAPI_" #name, &papi.name }
    PAPI(library_init), PAPI(thread_init), PAPI(set_domain), PAPI(create_eventset), PAPI(event_name_to_code), PAPI(get_event_info), PAPI(add_event),
    PAPI(start), PAPI(read), PAPI(stop), PAPI(cleanup_eventset), PAPI(destroy_eventset), PAPI(unregister_thread), PAPI(strerror),
#undef PAPI
};
/* clang-format on */

/* PAPI asks for the very version of its header, which its libraries have in their names. */
static const struct {
    const char *file;
    int version;
} libraries[] = {
#define LIBRARY(major, minor) { "libpapi.so." #major "." #minor, (major) << 24 | (minor) << 16 }
    LIBRARY(7, 3), LIBRARY(7, 2), LIBRARY(7, 1), LIBRARY(7, 0), LIBRARY(6, 0), LIBRARY(5, 7), LIBRARY(5, 6), LIBRARY(5, 5), LIBRARY(5, 4),
#undef LIBRARY
};

/* PAPI_event_info_t, of which the versions from 5.4 to 7.0 have these fields in these places, and room for what follows. */
struct event_info {
    unsigned code;
    char symbol[1024], short_description[64], description[1024];
    int component;
    char units[64];
    int about_the_value[6];
    unsigned terms; /* native events that a preset is made of */
    char rest[64 << 10];
};
#define IS_PRESET 0x80000000u

static START_DATA struct {
    int codes[EVENTS_MAX];
    unsigned count; /* 0: nothing is counted */
    bool is_derived; /* an event is more than one of the kernel's */
} hardware;

/* One thread's counters. */
struct counting {
    struct counting *next; /* of those that are running, and whose end will be noticed */
    int set;
    bool is_running;
    uint64_t since_ns;
    long long counted[EVENTS_MAX];
    int descriptors[EVENTS_MAX]; /* PAPI's; a program that closes what it does not know may have made other files of them */
    unsigned descriptor_count;
};
static __thread struct counting own;
static struct counting *all; /* guarded by the engine's lock */

static unsigned long thread_id(void)
{
    return (unsigned long)raw_gettid();
}

static void cannot(const char *what, const char *why)
{
    static char detail[400];
    snprintf(detail, sizeof detail, "%s: %s", what, why);
    notice_problem(PROBLEM_papi_failed, detail);
    hardware.count = 0;
}

/* Returns the version of the library that was opened, or 0. */
static int open_library(void)
{
    void *(*open)(const char *, int);
    void *found = engine_real("dlopen"), *library = NULL;
    int version = 0;
    memcpy(&open, &found, sizeof open);
    for (size_t i = 0; dlsym != NULL && i < sizeof libraries / sizeof *libraries && library == NULL; i++) {
        library = open(libraries[i].file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        version = libraries[i].version;
    }
    for (size_t i = 0; library != NULL && i < sizeof papi_functions / sizeof *papi_functions; i++) {
        void *function = dlsym(library, papi_functions[i].name);
        if (function == NULL)
            return 0;
        memcpy(papi_functions[i].function, &function, sizeof function);
    }
    return library != NULL ? version : 0;
}

static void describe(int code, const char *name)
{
    static void *_Atomic memory; /* 66 KiB that are needed where PAPI is */
    struct event_info *info = sparse_once(&memory, sizeof *info);
    struct segment *segment = engine.home.segment;
    uint64_t *row = segment->events[hardware.count];
    const char *unit = "", *meaning = "";
    if (info != NULL)
        memset(info, 0, sizeof *info);
    if (info != NULL && papi.get_event_info(code, info) == PAPI_OK && strncmp(info->symbol, name, sizeof info->symbol) == 0) {
        info->description[sizeof info->description - 1] = info->units[sizeof info->units - 1] = '\0';
        meaning = info->description;
        unit = info->units;
    }
    hardware.is_derived |= ((unsigned)code & IS_PRESET) != 0 && info != NULL && info->terms != 1;
    if (unit[0] == '\0' && (strstr(name, "TASK-CLOCK") != NULL || strstr(name, "CPU-CLOCK") != NULL))
        unit = "ns";
    row[events_event] = hardware.count;
    row[events_name] = segment_add_text(&engine.home, name);
    row[events_unit] = segment_add_text(&engine.home, unit);
    row[events_meaning] = segment_add_text(&engine.home, meaning);
}

/* An event set of this thread with all events, counting. Returns what PAPI says. */
static int count_here(void)
{
    own.set = PAPI_NULL;
    int result = papi.create_eventset(&own.set);
    for (unsigned i = 0; i < hardware.count && result == PAPI_OK; i++)
        result = papi.add_event(own.set, hardware.codes[i]);
    if (result == PAPI_OK)
        result = papi.start(own.set);
    if (result != PAPI_OK && own.set != PAPI_NULL) {
        papi.cleanup_eventset(own.set);
        papi.destroy_eventset(&own.set);
    }
    return result;
}

static bool is_perf_event(int fd)
{
    static const char kind[] = "anon_inode:[perf_event]";
    char path[32], target[sizeof kind];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return raw_readlink(path, target, sizeof target) == (long)sizeof kind - 1 && memcmp(target, kind, sizeof kind - 1) == 0;
}

/* Which descriptors are open that were not before: a bit each, in `seen`. */
static void look_for_descriptors(uint64_t seen[DESCRIPTORS_LOOKED_AT / 64], bool is_after)
{
    for (int fd = 0; fd < DESCRIPTORS_LOOKED_AT; fd++) {
        bool is_open = is_perf_event(fd), was_open = (seen[fd / 64] >> (fd % 64) & 1) != 0;
        if (!is_after && is_open)
            seen[fd / 64] |= 1ull << (fd % 64);
        else if (is_after && is_open && !was_open && own.descriptor_count < EVENTS_MAX)
            own.descriptors[own.descriptor_count++] = fd;
    }
}

/* The kernel numbers its events as they are opened, and so in the order in which they were added. */
static void sort_descriptors(void)
{
    uint64_t ids[EVENTS_MAX] = { 0 };
    for (unsigned i = 0; i < own.descriptor_count; i++) {
        int fd = own.descriptors[i];
        uint64_t id = 0;
        syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ID, &id);
        unsigned place = i;
        for (; place > 0 && ids[place - 1] > id; place--) {
            ids[place] = ids[place - 1];
            own.descriptors[place] = own.descriptors[place - 1];
        }
        ids[place] = id;
        own.descriptors[place] = fd;
    }
}

/* A thread that says when it ends, whether or not it calls anything that is wrapped, may be read by others until then. */
static void enter(void)
{
    if (!engine.has_thread_key)
        return;
    thread_state.is_registered = 1;
    pthread_setspecific(engine.thread_key, &thread_state);
    own.next = all;
    all = &own;
}

static void leave(void)
{
    struct counting **at = &all;
    while (*at != NULL && *at != &own)
        at = &(*at)->next;
    if (*at != NULL)
        *at = own.next;
    own.is_running = false;
}

/* Caller holds the engine's lock, or is the first thread that there is. */
static int begin(void)
{
    uint64_t seen[DESCRIPTORS_LOOKED_AT / 64] = { 0 };
    memset(&own, 0, sizeof own);
    look_for_descriptors(seen, false);
    int result = count_here();
    look_for_descriptors(seen, true);
    if (result == PAPI_OK) {
        sort_descriptors();
        own.since_ns = clock_read(CLOCK_REALTIME);
        own.is_running = true;
        enter();
    }
    return result;
}

void hardware_forget(void)
{
    hardware.count = 0;
    own.is_running = false;
    all = NULL;
}

void hardware_start(void)
{
    static char list[512], unknown[400];
    const char *asked = engine.settings.events;
    if (asked[0] == '\0')
        return;
    int version = open_library();
    if (version == 0) {
        cannot("SLICEWISE_PAPI", "there is no PAPI library (libpapi.so of version 5.4 to 7) where the loader looks for it");
        return;
    }
    int result = papi.library_init(version);
    if (result != version || papi.thread_init(thread_id) != PAPI_OK) {
        cannot("PAPI does not start", result < 0 ? papi.strerror(result) : "another version of it is in use");
        return;
    }
    size_t told = 0;
    snprintf(list, sizeof list, "%s", asked);
    char *rest = list, *name;
    while ((name = strsep(&rest, ", ")) != NULL) {
        int code;
        const char *wrong = NULL;
        if (name[0] == '\0')
            continue;
        if (hardware.count == EVENTS_MAX)
            wrong = "more than 8 events";
        else if ((result = papi.event_name_to_code(name, &code)) != PAPI_OK)
            wrong = papi.strerror(result);
        else {
            hardware.codes[hardware.count] = code;
            describe(code, name);
            hardware.count++;
            if ((result = count_here()) == PAPI_OK) {
                long long values[EVENTS_MAX];
                papi.stop(own.set, values);
                papi.cleanup_eventset(own.set);
                papi.destroy_eventset(&own.set);
                continue;
            }
            hardware.count--;
            wrong = papi.strerror(result);
        }
        if (told < sizeof unknown)
            told +=
                (size_t)snprintf(unknown + told, sizeof unknown - told, "%s%s (%s)", told > 0 ? ", " : "", name, wrong != NULL ? wrong : "not known");
    }
    if (told > 0)
        notice_problem(PROBLEM_papi_event, unknown);
    if (hardware.count == 0)
        return;
    /* What the kernel does for the program counts too, where we may see it. */
    bool is_all = papi.set_domain(PAPI_DOMAIN_ALL) == PAPI_OK && (result = begin()) == PAPI_OK;
    if (!is_all && (papi.set_domain(PAPI_DOMAIN_USER) != PAPI_OK || (result = begin()) != PAPI_OK)) {
        cannot("PAPI does not count", papi.strerror(result));
        return;
    }
    if (!is_all)
        notice_problem(PROBLEM_papi_user_only, NULL);
    engine.home.segment->events_used = hardware.count;
}

bool hardware_is_on(void)
{
    return hardware.count > 0;
}

void hardware_thread_begins(void)
{
    /* One at a time: a thread knows its descriptors by their being new. */
    struct held_lock held = lock_take(&engine.lock);
    int result = begin();
    if (result != PAPI_OK && engine.home.segment != NULL)
        notice_problem(PROBLEM_papi_threads, papi.strerror(result));
    lock_give(held);
}

static void add(uint64_t since_ns, uint64_t now_ns, const uint64_t more[EVENTS_MAX])
{
    uint64_t slice_ns = engine.settings.slice_ns, whole_ns = now_ns > since_ns ? now_ns - since_ns : 1, given[EVENTS_MAX] = { 0 };
    uint64_t last = now_ns / slice_ns, slice = whole_ns > 1 ? since_ns / slice_ns : last;
    for (; slice <= last; slice++) {
        uint64_t until_ns = slice < last ? (slice + 1) * slice_ns - since_ns : whole_ns;
        uint64_t *row =
            slice_row(&engine.home.segment->hardware_ledger, engine.home.segment->hardware[0], HARDWARE_COLUMNS, HARDWARE_ROWS_MAX, slice);
        if (row == NULL) {
            notice_problem(PROBLEM_hardware_dropped, NULL);
            continue;
        }
        for (unsigned i = 0; i < hardware.count; i++) {
            uint64_t until = slice < last ? (uint64_t)((unsigned __int128)more[i] * until_ns / whole_ns) : more[i];
            row[hardware_event_0 + i] += until - given[i];
            given[i] = until;
        }
    }
}

/* What a thread's counters have reached: what is new of it goes to the slices since the last time. */
static void take(struct counting *counting, uint64_t now_ns, const long long values[EVENTS_MAX])
{
    uint64_t more[EVENTS_MAX] = { 0 }, any = 0;
    for (unsigned i = 0; i < hardware.count; i++) {
        more[i] = values[i] > counting->counted[i] ? (uint64_t)(values[i] - counting->counted[i]) : 0;
        counting->counted[i] += (long long)more[i];
        any |= more[i];
    }
    if (any != 0)
        add(counting->since_ns, now_ns, more);
    counting->since_ns = now_ns;
}

static bool has_its_descriptors(const struct counting *counting)
{
    for (unsigned i = 0; i < counting->descriptor_count; i++)
        if (!is_perf_event(counting->descriptors[i]))
            return false;
    return true;
}

/* Another thread's counters, from the kernel: PAPI's own read may look into the processor that it runs on. A group's leader gives a count of
 * events and then theirs, its own first. */
static void read_from_outside(struct counting *counting, uint64_t now_ns)
{
    long long values[EVENTS_MAX] = { 0 }, words[1 + EVENTS_MAX];
    if (hardware.is_derived || counting->descriptor_count != hardware.count || !has_its_descriptors(counting))
        return;
    for (unsigned i = 0; i < hardware.count; i++) {
        long got = raw_read(counting->descriptors[i], words, sizeof words);
        if (got == (long)sizeof *words)
            values[i] = words[0];
        else if (got > (long)sizeof *words && (uint64_t)got == (1 + (uint64_t)words[0]) * sizeof *words)
            values[i] = words[1];
        else
            return;
    }
    take(counting, now_ns, values);
}

static void read_own(uint64_t now_ns)
{
    long long values[EVENTS_MAX] = { 0 };
    if (!own.is_running)
        return;
    if (!has_its_descriptors(&own)) { /* closed under PAPI: it would read whatever has the number now */
        leave();
        notice_problem(PROBLEM_papi_threads, "its descriptors were closed by the program");
        return;
    }
    if (papi.read(own.set, values) == PAPI_OK)
        take(&own, now_ns, values);
}

void hardware_read(uint64_t now_ns, bool is_last)
{
    if (hardware.count == 0)
        return;
    read_own(now_ns);
    uint64_t slice_ns = engine.settings.slice_ns, slice_start_ns = now_ns / slice_ns * slice_ns;
    for (struct counting *counting = all; counting != NULL; counting = counting->next)
        if (counting != &own && (is_last || counting->since_ns < slice_start_ns))
            read_from_outside(counting, now_ns);
}

void hardware_thread_ends(void)
{
    long long values[EVENTS_MAX];
    if (!own.is_running)
        return;
    struct held_lock held = lock_take(&engine.lock);
    if (engine.home.segment != NULL && atomic_load(engine_switch) == ENGINE_ON && hardware.count > 0)
        read_own(clock_read(CLOCK_REALTIME));
    if (own.is_running) {
        leave();
        papi.stop(own.set, values);
        papi.cleanup_eventset(own.set);
        papi.destroy_eventset(&own.set);
        papi.unregister_thread();
    }
    lock_give(held);
}
