#include "usage.h"

#include "sections.h"
#include "slice_row.h"
#include "state.h"
#include "text.h"

#include <string.h>

enum { KIBIBYTE = 1024 };
/* A process that had a processor for so long before its program began was another program: what it waited for then is not ours. To look costs a
 * short process more than all else that is read at its begin. */
#define OLD_NS 50000000
#define YOUNG_NS 10000000

static START_DATA struct {
    struct rusage counted;
    struct first_thread {
        uint64_t ran_ns;
        uint64_t delayed_ns;
    } first;
    uint64_t until_ns; /* 0: nothing is counted yet */
} usage;

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * 1000;
}

static uint64_t ran_ns(const struct rusage *counted)
{
    return ns_of(counted->ru_utime) + ns_of(counted->ru_stime);
}

/* How long the first thread ever had a processor, and waited for one; 0 where the kernel does not tell. */
static struct first_thread read_first_thread(void)
{
    char text[64];
    raw_read_at_once("/proc/self/schedstat", text, sizeof text);
    const char *second = strchr(text, ' ');
    return second != NULL ? (struct first_thread){ text_number(text), text_number(second) } : (struct first_thread){ 0 };
}

void usage_note(const struct rusage *now)
{
    usage.counted = *now;
    usage.first.ran_ns = ran_ns(now);
    if (usage.first.ran_ns >= OLD_NS)
        usage.first = read_first_thread();
}

void usage_start(bool is_forked)
{
    if (is_forked) {
        memset(&usage.counted, 0, sizeof usage.counted);
        memset(&usage.first, 0, sizeof usage.first);
    }
    usage.until_ns = engine.home.segment->process_row[processes_start_ns];
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

void usage_sample(uint64_t now_ns)
{
    struct segment *segment = engine.home.segment;
    struct rusage now;
    /* A vforked child runs in our memory but is not us. */
    if (usage.until_ns == 0 || now_ns <= usage.until_ns || (uint32_t)raw_getpid() != segment->pid || raw_getrusage(RUSAGE_SELF, &now) != 0)
        return;
    uint64_t slice_ns = engine.settings.slice_ns, slice = usage.until_ns / slice_ns;
    uint64_t *row = slice_row(&segment->usage_ledger, segment->usage[0], USAGE_COLUMNS, USAGE_ROWS_MAX, slice);
    if (row == NULL) /* the next look takes it in */
        return;
    if (row[usage_sampled_ns] == 0)
        row[usage_late_ns] = usage.until_ns % slice_ns;
    row[usage_sampled_ns] += now_ns - usage.until_ns;
    row[usage_user_ns] += more(ns_of(now.ru_utime), ns_of(usage.counted.ru_utime));
    row[usage_system_ns] += more(ns_of(now.ru_stime), ns_of(usage.counted.ru_stime));
    row[usage_voluntary_switches] += more((uint64_t)now.ru_nvcsw, (uint64_t)usage.counted.ru_nvcsw);
    row[usage_involuntary_switches] += more((uint64_t)now.ru_nivcsw, (uint64_t)usage.counted.ru_nivcsw);
    row[usage_minor_faults] += more((uint64_t)now.ru_minflt, (uint64_t)usage.counted.ru_minflt);
    row[usage_major_faults] += more((uint64_t)now.ru_majflt, (uint64_t)usage.counted.ru_majflt);
    row[usage_peak_bytes] = (uint64_t)now.ru_maxrss * KIBIBYTE;
    /* Whoever kept the processor since the last look has not waited for one: the look costs a short process as much as an open. The next one takes in
     * what its first thread ran. */
    if (now.ru_nvcsw != usage.counted.ru_nvcsw || now.ru_nivcsw != usage.counted.ru_nivcsw) {
        struct first_thread first = read_first_thread();
        row[usage_first_thread_ns] += more(first.ran_ns, usage.first.ran_ns);
        row[usage_delayed_ns] += more(first.delayed_ns, usage.first.delayed_ns);
        if (first.delayed_ns >= usage.first.delayed_ns)
            usage.first = first;
    }
    usage.counted = now;
    usage.until_ns = now_ns;
}

void usage_sample_first(uint64_t now_ns)
{
    uint64_t slice_ns = engine.settings.slice_ns;
    if (usage.until_ns / slice_ns != now_ns / slice_ns || more(now_ns, usage.until_ns) >= YOUNG_NS)
        usage_sample(now_ns);
}
