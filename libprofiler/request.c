#include "request.h"

#include "key_table.h"
#include "sections.h"
#include "state.h"

enum { REQUESTS_MAX = 4096 };

static struct key_table table = KEY_TABLE_OF(REQUESTS_MAX, struct request);
static CALL_DATA _Atomic uint64_t abandoned;

static struct request *at(unsigned place)
{
    return key_table_entry(&table, place);
}

void request_begin(request_id id, enum operation operation, const struct call *call, int fd, int64_t offset)
{
    request_begin_on(id, operation, call, fd, call_descriptor(fd), offset);
}

void request_begin_on(request_id id, enum operation operation, const struct call *call, int fd, descriptor word, int64_t offset)
{
    if (word == 0)
        return;
    unsigned place = key_table_insert(&table, id);
    if (place == KEY_TABLE_NONE) {
        __atomic_fetch_add(&engine.home.segment->problems[PROBLEM_requests_untracked], 1, __ATOMIC_RELAXED);
        return;
    }
    *at(place) = (struct request){ .operation = operation, .fd = fd, .word = word, .offset = offset, .start_tick = call->start_tick };
    key_table_publish(&table, place, id);
}

static bool take(request_id id, struct request *request)
{
    unsigned place = key_table_take(&table, id);
    if (place == KEY_TABLE_NONE)
        return false;
    *request = *at(place);
    key_table_remove(&table, place, id);
    return true;
}

void request_drop(request_id id)
{
    struct request dropped;
    take(id, &dropped);
}

void request_abandon(request_id id)
{
    struct request earlier;
    if (take(id, &earlier))
        atomic_fetch_add_explicit(&abandoned, 1, memory_order_relaxed);
}

void request_noticed(request_id id, uint64_t tick)
{
    unsigned place = key_table_take(&table, id);
    if (place == KEY_TABLE_NONE)
        return;
    if (at(place)->done_tick == 0)
        at(place)->done_tick = tick;
    key_table_publish(&table, place, id);
}

/* POSIX aio is preads and pwrites by libc's threads; the kernel's own requests are not in its count of the process's bytes. */
static bool is_in_kernel_count(enum operation operation)
{
    return operation == OP_aio_read || operation == OP_aio_write;
}

descriptor request_done(request_id id, const struct call *call, int64_t moved)
{
    struct request request;
    if (!take(id, &request))
        return 0;
    struct call whole = { .operation = request.operation,
                          .start_tick = request.start_tick,
                          .end_tick = request.done_tick != 0 ? request.done_tick : call->end_tick };
    call_request_done(&whole, request.fd, request.word, request.offset, moved, is_in_kernel_count(request.operation));
    return request.word;
}

uint64_t request_count(void)
{
    return atomic_load_explicit(&abandoned, memory_order_relaxed) + key_table_used(&table);
}

void request_forget_all(void)
{
    if (key_table_used(&table) != 0)
        key_table_clear(&table);
    abandoned = 0;
}
