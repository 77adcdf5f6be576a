/* What call.c and call_stream.c, which count calls, share: nobody else includes it. */
#ifndef SLICEWISE_CALL_COUNT_H
#define SLICEWISE_CALL_COUNT_H

#include "descriptor.h"
#include "engine.h"
#include "fast_path.h"
#include "lane.h"
#include "lazy_start.h"
#include "mount.h"
#include "state.h"
#include "vfork_child.h"

/* Starts the engine where that is due; else false. */
bool call_is_on_after_all(void);

static inline bool is_on(void)
{
    return LIKELY(thread_is_set_up()) && (LIKELY(atomic_load_explicit(engine_switch, memory_order_relaxed) == ENGINE_ON && !thread_state.holds_lock &&
                                                 atomic_load_explicit(&vfork_children, memory_order_relaxed) == 0) ||
                                          call_is_on_after_all());
}

static inline bool is_unstarted(void)
{
    return !LIKELY(atomic_load_explicit(engine_switch, memory_order_relaxed) != ENGINE_UNSTARTED);
}

static inline uint64_t at_least_0(int64_t number)
{
    return number > 0 ? (uint64_t)number : 0;
}

static inline struct effect touch(const struct call *call, bool is_error)
{
    return (struct effect){ .kind = operation_kind[call->operation], .is_error = is_error };
}

/* By whatever way is open: of a call on a mount and no stream, and of one that moved bytes of a descriptor. */
void call_count_unusually(const struct call *call, uint32_t mount, const struct effect *effect);
void call_count_moved(const struct call *call, int fd, descriptor word, int64_t offset, const struct effect *effect);

/* As count_usual, of a call on a mount and no stream. */
INLINE bool count_usual_on_mount(const struct call *call, uint32_t mount, const struct effect *effect)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    if (!LIKELY(guard_is_free(thread, &frame)))
        return false;
    guard_set(thread, &frame);
    struct lane *lane = thread->lane;
    bool is_usual = LIKELY(is_within(thread, call->start_tick, call->end_tick));
    unsigned place = is_usual ? lane->cell_of[operation_layer[call->operation]][mount] : 0;
    is_usual = LIKELY(place != 0);
    if (is_usual) {
        struct share share = { .ns = ticks_to_ns(call->end_tick - call->start_tick), .bytes = effect->bytes };
        add_to_cell(lane_cell(lane, place), effect, &share, share.ns);
        lane->calls[call->operation] += !effect->is_reading_of_copy;
    }
    guard_clear(thread);
    return is_usual;
}

INLINE void count(const struct call *call, uint32_t mount, const struct effect *effect)
{
    if (is_on() && !count_usual_on_mount(call, mount, effect))
        call_count_unusually(call, mount, effect);
}

/* Before the engine started nothing but the descriptor's device was looked up. */
uint32_t call_mount_of_look(descriptor look);

static inline uint32_t mount_of_word(descriptor word)
{
    if (word == 0)
        return MOUNT_OTHER;
    return LIKELY(!lazy_start_is_look(word)) ? descriptor_mount(word) : call_mount_of_look(word);
}

/* A descriptor whose position the call moved, and counted that already. */
void call_reposition(const struct call *call, int fd, descriptor word, int64_t position);

#endif
