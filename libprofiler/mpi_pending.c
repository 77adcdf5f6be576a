#include "mpi_pending.h"

enum { PENDING_MAX = 4096 };

struct key_table mpi_pending_table = KEY_TABLE_OF(PENDING_MAX, struct mpi_pending);

static unsigned place_of(const struct mpi_pending *pending)
{
    return key_table_place_of(&mpi_pending_table, pending);
}

struct mpi_pending *mpi_pending_claim(uint64_t key)
{
    unsigned place = key != 0 ? key_table_take(&mpi_pending_table, key) : KEY_TABLE_NONE;
    return place != KEY_TABLE_NONE ? key_table_entry(&mpi_pending_table, place) : NULL;
}

void mpi_pending_give_back(struct mpi_pending *pending)
{
    key_table_publish(&mpi_pending_table, place_of(pending), pending->key);
}

void mpi_pending_finish(struct mpi_pending *pending, const struct call *completing, int64_t moved)
{
    struct mpi_pending done = *pending;
    key_table_remove(&mpi_pending_table, place_of(pending), done.key);
    done.call.end_tick = completing->end_tick;
    call_mpi_moved(&done.call, done.mount, moved);
}

static void finish_unseen(struct mpi_pending *pending)
{
    struct call begun = pending->call;
    engine_count_problem(PROBLEM_completion_unseen, 1);
    mpi_pending_finish(pending, &begun, pending->asked);
}

void mpi_pending_enter(const struct mpi_pending *begun)
{
    struct mpi_pending *earlier = mpi_pending_claim(begun->key);
    if (earlier != NULL) /* it was completed behind our back, for the key is another's now */
        finish_unseen(earlier);
    /* 0 is no request of any MPI, and arrays that are not in use are full of it: it costs no search. */
    unsigned place = begun->key != 0 ? key_table_insert(&mpi_pending_table, begun->key) : KEY_TABLE_NONE;
    if (place != KEY_TABLE_NONE) {
        struct mpi_pending *entry = key_table_entry(&mpi_pending_table, place);
        *entry = *begun;
        mpi_pending_give_back(entry);
        return;
    }
    engine_count_problem(PROBLEM_completion_unseen, 1);
    call_mpi_moved(&begun->call, begun->mount, begun->asked);
}

void mpi_pending_finish_all(void)
{
    for (unsigned place = 0; place < PENDING_MAX && mpi_pending_any(); place++)
        if (key_table_is_used(&mpi_pending_table, place)) /* claimed, too: by a thread that was cancelled */
            finish_unseen(key_table_entry(&mpi_pending_table, place));
}
