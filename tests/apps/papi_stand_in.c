/* What a libpapi.so offers, as far as the profiler uses it, over the kernel's software events: real PAPI refuses even these on processors that it
 * does not know. STAND_IN_REFUSES names a function that fails. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef CHECK_AGAINST_PAPI
#include <papi.h>
#include <stddef.h>
#define SAME(claim) _Static_assert(claim, #claim)
SAME(offsetof(PAPI_event_info_t, symbol) == 4 && sizeof((PAPI_event_info_t *)0)->symbol == 1024);
SAME(offsetof(PAPI_event_info_t, long_descr) == 1092 && sizeof((PAPI_event_info_t *)0)->long_descr == 1024);
SAME(offsetof(PAPI_event_info_t, units) == 2120 && sizeof((PAPI_event_info_t *)0)->units == 64);
SAME(offsetof(PAPI_event_info_t, count) == 2208);
SAME(sizeof(PAPI_event_info_t) < 64 << 10);
SAME(PAPI_NULL == -1 && PAPI_OK == 0 && PAPI_DOM_USER == 1 && PAPI_DOM_ALL == 15);
SAME(PAPI_PRESET_MASK == (int)0x80000000);
SAME((PAPI_VER_CURRENT & 0xffff) == 0);
#else
enum { EVENTS = 8, SETS = 64, REFUSED = -7, NAMES = 3 };

static const struct { const char *name, *description; unsigned long config; } events[NAMES] = {
    { "perf::TASK-CLOCK", "PERF_COUNT_SW_TASK_CLOCK", PERF_COUNT_SW_TASK_CLOCK },
    { "perf::PAGE-FAULTS", "PERF_COUNT_SW_PAGE_FAULTS", PERF_COUNT_SW_PAGE_FAULTS },
    { "perf::CONTEXT-SWITCHES", "PERF_COUNT_SW_CONTEXT_SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES },
};
static struct { int used, count, code[EVENTS], fd[EVENTS]; } sets[SETS];

static int refuses(const char *function)
{
    const char *refused = getenv("STAND_IN_REFUSES");
    return refused != NULL && strcmp(refused, function) == 0;
}

int PAPI_library_init(int version)
{
    return refuses("library_init") ? REFUSED : version;
}

int PAPI_thread_init(unsigned long (*id)(void))
{
    return id() == (unsigned long)syscall(SYS_gettid) && !refuses("thread_init") ? 0 : REFUSED;
}

int PAPI_set_domain(int domain)
{
    return domain == 15 && refuses("set_domain") ? REFUSED : 0;
}

int PAPI_create_eventset(int *set)
{
    for (int i = 0; i < SETS; i++) {
        int expected = 0;
        if (__atomic_compare_exchange_n(&sets[i].used, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            sets[i].count = 0;
            *set = i;
            return 0;
        }
    }
    return REFUSED;
}

int PAPI_event_name_to_code(const char *name, int *code)
{
    for (*code = 0; *code < NAMES; ++*code)
        if (strcmp(events[*code].name, name) == 0)
            return 0;
    return REFUSED;
}

int PAPI_get_event_info(int code, char *info)
{
    strcpy(info + 4, events[code].name);
    strcpy(info + 1092, events[code].description);
    return 0;
}

int PAPI_add_event(int set, int code)
{
    sets[set].code[sets[set].count++] = code;
    return refuses("add_event") ? REFUSED : 0;
}

int PAPI_start(int set)
{
    if (refuses("start"))
        return REFUSED;
    for (int i = 0; i < sets[set].count; i++) {
        struct perf_event_attr asked = { .type = PERF_TYPE_SOFTWARE, .size = sizeof asked, .config = events[sets[set].code[i]].config, .exclude_hv = 1 };
        sets[set].fd[i] = (int)syscall(SYS_perf_event_open, &asked, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (sets[set].fd[i] < 0)
            return REFUSED;
    }
    return 0;
}

int PAPI_read(int set, long long *values)
{
    for (int i = 0; i < sets[set].count; i++)
        if (read(sets[set].fd[i], &values[i], sizeof values[i]) != sizeof values[i])
            return REFUSED;
    return 0;
}

int PAPI_stop(int set, long long *values)
{
    int result = PAPI_read(set, values);
    for (int i = 0; i < sets[set].count; i++)
        close(sets[set].fd[i]);
    return result;
}

int PAPI_cleanup_eventset(int set)
{
    sets[set].count = 0;
    return 0;
}

int PAPI_destroy_eventset(int *set)
{
    __atomic_store_n(&sets[*set].used, 0, __ATOMIC_SEQ_CST);
    *set = -1;
    return 0;
}

int PAPI_unregister_thread(void)
{
    return 0;
}

char *PAPI_strerror(int error)
{
    return error == REFUSED ? "refused by the stand-in" : "nothing";
}
#endif
