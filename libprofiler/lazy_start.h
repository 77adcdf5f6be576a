/* A process before its first counted call: it has no segment, no table of descriptors, nothing that is mapped or opened. One page, which a child of
 * fork finds zeroed however it was forked, notes what the process does meanwhile. Calls that transfer nothing and only manage descriptors (close,
 * dup, fclose of an empty stream) do not start the engine: they are deferred on that page, and counted when it starts. For any thread at any time,
 * signal handlers and vforked children included. */
#ifndef SLICEWISE_LAZY_START_H
#define SLICEWISE_LAZY_START_H

#include "call.h"

enum { DEFERRED_MAX = 32, DESCRIPTORS_NEAR = 128 };

struct deferred_call {
    uint64_t start_tick, end_tick;
    descriptor word;
    uint16_t operation;
    bool is_error;
    _Atomic bool is_whole;
};

struct own_page {
    _Atomic uint32_t state;       /* ENGINE_UNSTARTED, ENGINE_ON or ENGINE_OFF */
    _Atomic uint32_t starter;     /* the thread that starts the engine at this moment */
    uint32_t pid, parent;         /* whose memory this is, a vforked child's parent's; 0: a forked child that has not asked yet */
    bool is_child;                /* of fork */
    uint64_t began_ns, began_tick; /* CLOCK_REALTIME, not read in a child that may do nothing */
    struct own_io parents_io;     /* of `own_io`: the kernel's count of a child begins at zero */
    _Atomic uint32_t lived[OPERATIONS];
    _Atomic uint32_t deferred_used;
    struct deferred_call deferred[DEFERRED_MAX];
    /* Changes whenever a descriptor that was known becomes another one: in the upper half, where it is even. 0: not changed yet. */
    uint64_t trust;
    /* The beginning of the table of descriptors (descriptor.h): most processes have no others. */
    _Atomic descriptor near_words[DESCRIPTORS_NEAR];
    _Atomic uint64_t near_ids[DESCRIPTORS_NEAR];
};
_Static_assert(sizeof(struct own_page) <= PAGE_BYTES, "it is one page");

extern union own_page_bytes {
    struct own_page page;
    unsigned char bytes[PAGE_BYTES];
} lazy_start_bytes HIDDEN;
#define lazy_start_page (lazy_start_bytes.page)

/* At a process's beginning: notes who it is, and has the kernel zero the page in children of fork. */
void lazy_start_begin(void);

/* From now on nothing is noted and nothing looked at. */
void lazy_start_stop(void);

/* Returns the id of the process whose memory this is: where a vforked child asks, its parent's. A child of fork asks the kernel first. */
uint32_t lazy_start_pid(void);

/* In a child of fork. Where the kernel is too old to have zeroed the page, this does it. */
void lazy_start_begin_child(void);

/* What a descriptor leads to, as a word that no table has: for a call that is deferred. It means the same in a child of fork, whose mounts have
 * numbers of their own. */
descriptor lazy_start_look(int fd);
descriptor lazy_start_word(enum object object, uint64_t device);

/* Whether it is such a word, and what it says. */
static inline bool lazy_start_is_look(descriptor word)
{
    return word != 0 && (word & 0x80) == 0;
}
static inline enum object lazy_start_object(descriptor word)
{
    return (enum object)(word >> 8 & 0xff);
}
uint64_t lazy_start_device(descriptor word);

/* Whether the engine is not started and the call may wait; then it is noted. */
bool lazy_start_defers(const struct call *call, descriptor word, bool is_error);
static inline bool lazy_start_may_defer(enum operation operation)
{
    return operation == OP_close || operation == OP_close_range || operation == OP_dup || operation == OP_dup2 || operation == OP_fcntl ||
           operation == OP_fclose || operation == OP_fflush || operation == OP_fdopen;
}

/* Notes a call that is no I/O. Returns false if it is one that matters by itself: MPI's. */
bool lazy_start_note(enum operation operation, uint32_t times);

/* Counts what was noted, now that the engine is on. */
void lazy_start_count(void);

#endif
