#include "mpi_pending.h"

enum { PLACES = 4096, REACH = 64 /* places from its home on where an entry may lie */ };

/* Keys lie apart, so that a search touches little memory. */
static _Atomic uint64_t keys[PLACES];
static const uint64_t is_free = 0, is_claimed = 1;
static struct mpi_pending entries[PLACES];
static _Atomic unsigned entries_of_home[PLACES]; /* how many started their search for a place here: mostly 0, and then the search is over */
_Atomic unsigned mpi_pending_count;

static unsigned home_of(uint64_t key)
{
    return (unsigned)(key * 0x9e3779b97f4a7c15u >> 32) % PLACES;
}

struct mpi_pending *mpi_pending_claim(uint64_t key)
{
    unsigned home = home_of(key);
    if (atomic_load_explicit(&entries_of_home[home], memory_order_relaxed) == 0)
        return NULL;
    for (unsigned step = 0; step < REACH; step++) {
        unsigned place = (home + step) % PLACES;
        uint64_t found = key;
        if (atomic_load_explicit(&keys[place], memory_order_acquire) == key &&
            atomic_compare_exchange_strong(&keys[place], &found, is_claimed))
            return &entries[place];
    }
    return NULL;
}

void mpi_pending_give_back(struct mpi_pending *pending)
{
    atomic_store_explicit(&keys[pending - entries], pending->key, memory_order_release);
}

void mpi_pending_finish(struct mpi_pending *pending, const struct call *completing, int64_t moved)
{
    struct mpi_pending done = *pending;
    atomic_fetch_sub(&entries_of_home[home_of(done.key)], 1);
    atomic_fetch_sub(&mpi_pending_count, 1);
    atomic_store_explicit(&keys[pending - entries], is_free, memory_order_release);
    done.call.end_tick = completing->end_tick;
    call_mpi_moved(&done.call, done.mount, moved);
}

static void finish_unseen(struct mpi_pending *pending)
{
    struct call begun = pending->call;
    engine_count_mishap(MISHAP_completion_unseen, 1);
    mpi_pending_finish(pending, &begun, pending->asked);
}

void mpi_pending_enter(const struct mpi_pending *begun)
{
    struct mpi_pending *earlier = mpi_pending_claim(begun->key);
    if (earlier != NULL) /* it was completed behind our back, for the key is another's now */
        finish_unseen(earlier);
    unsigned home = home_of(begun->key);
    for (unsigned step = 0; step < REACH && begun->key > is_claimed; step++) {
        unsigned place = (home + step) % PLACES;
        uint64_t found = is_free;
        if (atomic_load_explicit(&keys[place], memory_order_relaxed) != is_free ||
            !atomic_compare_exchange_strong(&keys[place], &found, is_claimed))
            continue;
        entries[place] = *begun;
        atomic_fetch_add(&entries_of_home[home], 1);
        atomic_fetch_add(&mpi_pending_count, 1);
        mpi_pending_give_back(&entries[place]);
        return;
    }
    engine_count_mishap(MISHAP_completion_unseen, 1);
    call_mpi_moved(&begun->call, begun->mount, begun->asked);
}

void mpi_pending_finish_all(void)
{
    for (unsigned place = 0; place < PLACES && mpi_pending_any(); place++)
        if (atomic_load_explicit(&keys[place], memory_order_acquire) != is_free) /* claimed, too: by a thread that was cancelled */
            finish_unseen(&entries[place]);
}
