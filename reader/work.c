#include "inside.h"

#include "memory.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK_BYTES ((size_t)32 << 10)
#define MOST_BLOCK_BYTES ((size_t)4 << 20)
enum { FIRST_ROOM = 16 };

struct arena_block {
    struct arena_block *next;
    size_t room;
    _Alignas(16) unsigned char bytes[];
};

void *list_add(struct list *list, size_t item_bytes)
{
    if (list->count == list->room) {
        size_t room = list->room > 0 ? list->room * 2 : FIRST_ROOM;
        void *grown = reallocarray(list->items, room, item_bytes);
        if (grown == NULL)
            return NULL;
        list->items = grown;
        list->room = room;
    }
    return memset((char *)list->items + list->count++ * item_bytes, 0, item_bytes);
}

void *arena_take(struct arena *arena, size_t bytes)
{
    bytes = (bytes + 7) & ~(size_t)7;
    if ((size_t)(arena->end - arena->at) < bytes) {
        size_t room = arena->blocks == NULL ? FIRST_BLOCK_BYTES : arena->blocks->room * 4;
        room = room > MOST_BLOCK_BYTES ? MOST_BLOCK_BYTES : room;
        room = bytes > room ? bytes : room;
        struct arena_block *block = memory_zeroed(sizeof *block + room);
        if (block == NULL)
            return NULL;
        block->next = arena->blocks;
        block->room = room;
        arena->blocks = block;
        arena->at = block->bytes;
        arena->end = block->bytes + room;
    }
    void *taken = arena->at;
    arena->at += bytes;
    return taken;
}

void arena_free(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks, *next; block != NULL; block = next) {
        next = block->next;
        memory_free(block, sizeof *block + block->room);
    }
    *arena = (struct arena){ 0 };
}

void *scratch_take(struct scratch *scratch, size_t bytes)
{
    if (scratch->room < bytes || scratch->bytes == NULL) {
        size_t room = bytes + bytes / 2 + 64;
        free(scratch->bytes);
        scratch->bytes = malloc(room);
        scratch->room = scratch->bytes != NULL ? room : 0;
    }
    return scratch->bytes;
}

struct work {
    void (*body)(struct worker *, size_t, void *);
    void *argument;
    size_t count;
    atomic_size_t next;
};

struct share {
    struct work *work;
    struct worker *worker;
    pthread_t thread;
    bool is_begun;
};

static void *do_share(void *argument)
{
    struct share *share = argument;
    for (size_t i; (i = atomic_fetch_add(&share->work->next, 1)) < share->work->count;)
        share->work->body(share->worker, i, share->work->argument);
    return NULL;
}

/* Our threads take no signal: those are for the program that uses us. */
void work_in_parallel(struct reader *reader, size_t count, bool is_little, void (*body)(struct worker *, size_t, void *), void *argument)
{
    struct work work = { .body = body, .argument = argument, .count = count };
    struct share shares[THREADS_MAX] = { { .work = &work, .worker = &reader->workers[0] } };
    sigset_t all, before;
    unsigned threads = is_little ? 1 : reader->thread_count;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 1; i < threads && i < count; i++) {
        shares[i] = (struct share){ .work = &work, .worker = &reader->workers[i] };
        shares[i].is_begun = pthread_create(&shares[i].thread, NULL, do_share, &shares[i]) == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    do_share(&shares[0]);
    for (unsigned i = 1; i < threads; i++)
        if (shares[i].is_begun)
            pthread_join(shares[i].thread, NULL);
}
