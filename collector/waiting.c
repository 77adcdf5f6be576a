#include "waiting.h"

#include "clock.h"

#include <stdio.h>
#include <string.h>

/* One look reads a file for each of these, which takes about 10 us. */
enum { PROCESSES_LOOKED_AT = 8, THREADS_A_PROCESS = 8 };
enum { THREADS_LISTED = 256 }; /* of which those are taken in turn */
#define LONGEST_GAP_NS 1000000000ull /* for what was between two looks further apart than this, one does not stand */

static uint64_t *time_at(struct waiting *waiting, const char *place)
{
    unsigned at = 0;
    while (at < waiting->places_used && strcmp(waiting->places[at].name, place) != 0)
        at++;
    if (at == waiting->places_used && at < WAITING_PLACES) {
        snprintf(waiting->places[at].name, PLACE_BYTES, "%s", at < WAITING_PLACES - 1 ? place : "");
        waiting->places_used++;
    }
    return &waiting->places[at < WAITING_PLACES ? at : WAITING_PLACES - 1].ns;
}

/* Each thread that sleeps stands for `stands_for_ns`, and for as many more as were not looked at. */
static void look_at(struct waiting *waiting, struct under_way_table *under_way, const char *root, struct seen *one, double stands_for_ns)
{
    uint32_t threads[THREADS_LISTED] = { one->pid };
    struct process_look look;
    if (procfs_look(root, one->pid, &look) != 0 || look.start_ticks != one->start_ticks || look.has_ended)
        return;
    uint32_t all = look.threads;
    uint64_t former_ns = one->watched_ns;
    one->watched_ns = clock_read(CLOCK_REALTIME);
    long listed = all > 1 ? procfs_threads(root, one->pid, threads, THREADS_LISTED) : 1;
    long count = listed < THREADS_A_PROCESS ? listed : THREADS_A_PROCESS;
    for (long i = 0; i < count; i++) {
        char place[PLACE_BYTES];
        uint32_t thread = threads[listed <= THREADS_A_PROCESS ? i : waiting->next_thread++ % listed];
        if ((all > 1 && procfs_look(root, thread, &look) != 0) || !look.is_waiting)
            continue;
        procfs_place(root, thread, place, sizeof place);
        *time_at(waiting, place) += (uint64_t)(stands_for_ns * all / (double)count);
        under_way_look(under_way, root, one->pid, thread, former_ns);
    }
}

void waiting_look(struct waiting *waiting, struct under_way_table *under_way, const struct belonging *belonging, uint64_t now_ns)
{
    uint64_t gap_ns = waiting->looked_ns != 0 ? now_ns - waiting->looked_ns : 0;
    struct seen *some[PROCESSES_LOOKED_AT];
    unsigned of_job;
    waiting->looked_ns = now_ns;
    if (gap_ns == 0)
        return;
    unsigned looks = belonging_some(belonging, &waiting->next, PROCESSES_LOOKED_AT, some, &of_job);
    gap_ns = gap_ns < LONGEST_GAP_NS ? gap_ns : LONGEST_GAP_NS;
    for (unsigned i = 0; i < looks; i++)
        look_at(waiting, under_way, belonging->root, some[i], (double)gap_ns * of_job / looks);
}
