#include "request.h"

#include "state.h"

#include <string.h>

enum { PLACES = 4096, REACH = 64 }; /* a request lies within REACH places from its hash on */

/* free: never a key; being_changed: the place is somebody's, its request not there yet or gone already */
static const uint64_t free_place = 0, being_changed = 1;

static _Atomic uint64_t keys[PLACES];
static struct request requests[PLACES];
static _Atomic bool are_any; /* have been */
static _Atomic uint64_t abandoned;

/* One to one, but for the two ids that would be no key. */
static uint64_t key_of(request_id id)
{
    id = (id ^ id >> 32) * 0xd6e8feb86659fd93u;
    id = (id ^ id >> 32) * 0xd6e8feb86659fd93u;
    id ^= id >> 32;
    return id > being_changed ? id : id + 2;
}

static unsigned place_of(uint64_t key, unsigned step)
{
    return (unsigned)(key + step) % PLACES;
}

/* Changes the first place within reach that holds `from` to being_changed, and gives it to the caller. Returns PLACES if there is none. */
static unsigned claim(uint64_t key, uint64_t from)
{
    for (unsigned step = 0; step < REACH; step++) {
        unsigned place = place_of(key, step);
        uint64_t found = atomic_load_explicit(&keys[place], memory_order_relaxed);
        if (found == from && atomic_compare_exchange_strong(&keys[place], &found, being_changed))
            return place;
    }
    return PLACES;
}

static void release(unsigned place, uint64_t key)
{
    atomic_store_explicit(&keys[place], key, memory_order_release);
}

void request_begin(request_id id, enum operation operation, const struct call *call, int fd, int64_t offset)
{
    request_begin_on(id, operation, call, fd, call_descriptor(fd), offset);
}

void request_begin_on(request_id id, enum operation operation, const struct call *call, int fd, descriptor word, int64_t offset)
{
    if (word == 0)
        return;
    uint64_t key = key_of(id);
    unsigned place = claim(key, free_place);
    if (place == PLACES) {
        __atomic_fetch_add(&engine.home.segment->mishaps[MISHAP_requests_untracked], 1, __ATOMIC_RELAXED);
        return;
    }
    atomic_store_explicit(&are_any, true, memory_order_relaxed);
    requests[place] = (struct request){ .operation = operation, .fd = fd, .word = word, .offset = offset, .start_tick = call->start_tick };
    release(place, key);
}

static bool take(request_id id, struct request *request)
{
    unsigned place = claim(key_of(id), key_of(id));
    if (place == PLACES)
        return false;
    *request = requests[place];
    release(place, free_place);
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
    unsigned place = claim(key_of(id), key_of(id));
    if (place == PLACES)
        return;
    if (requests[place].done_tick == 0)
        requests[place].done_tick = tick;
    release(place, key_of(id));
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
    struct call whole = { .operation = request.operation, .start_tick = request.start_tick,
                          .end_tick = request.done_tick != 0 ? request.done_tick : call->end_tick };
    call_request_done(&whole, request.fd, request.word, request.offset, moved, is_in_kernel_count(request.operation));
    return request.word;
}

uint64_t request_count(void)
{
    uint64_t count = atomic_load_explicit(&abandoned, memory_order_relaxed);
    if (!atomic_load_explicit(&are_any, memory_order_relaxed)) /* as in nearly all processes, whose table is never touched */
        return count;
    for (unsigned place = 0; place < PLACES; place++)
        count += atomic_load_explicit(&keys[place], memory_order_relaxed) != free_place;
    return count;
}

void request_forget_all(void)
{
    if (atomic_load_explicit(&are_any, memory_order_relaxed))
        memset(keys, 0, sizeof keys);
    abandoned = 0;
}
