#include "regions.h"

#include "engine.h"
#include "guard.h"
#include "lane.h"
#include "mount.h"
#include "own_errno.h"
#include "record.h"
#include "region.h"
#include "site.h"
#include "state.h"
#include "text.h"

#include <string.h>

/* Levels that a thread has begun and not ended: perhaps they mean something else. */
#define DOUBTFUL_MAX 8

static struct region *region_at(uint32_t number)
{
    return number != 0 ? &engine.home.segment->regions.open[number - 1] : NULL;
}

/* The lane comes to the slice of this moment, as if a call ended in it. Returns false if there is none to be had. */
static bool come_to(struct thread *thread, uint64_t tick)
{
    if (thread->lane != NULL && tick >= thread->begin_tick && tick < thread->turn_tick)
        return true;
    struct call call = { .start_tick = tick, .end_tick = tick };
    struct share share = { 0 };
    if (!lane_turn(thread, &call, MOUNT_OTHER, RECORD_COMMUNICATION, 0, 0, &share) || thread->lane == NULL)
        return false;
    site_look(thread, &call, LAYER_mpiio, 0, 0, 0); /* when the next sample is due in the new slice */
    return true;
}

/* A place for one more on this lane. Caller holds the lock. */
static struct region *take_place(uint32_t lane)
{
    struct segment *segment = engine.home.segment;
    struct regions *regions = &segment->regions;
    if (segment->has_regions == 0) {
        if (segment_reserve(&engine.home, regions, offsetof(struct regions, rows)) < 0 ||
            segment_reserve(&engine.home, &regions->names[0], sizeof regions->names[0]) < 0)
            return NULL;
        regions->names_used = 1;
        segment->has_regions = 1;
    }
    if (lane_closed(segment, lane) == NULL) {
        if (lane >= REGION_LANES || segment_reserve(&engine.home, regions->closed[lane], sizeof regions->closed[lane]) < 0)
            return NULL;
        regions->has_closed[lane / 64] |= UINT64_C(1) << lane % 64;
    }
    struct region *region = region_at(regions->free);
    if (region != NULL) {
        regions->free = region->outer;
        return region;
    }
    if (regions->used == REGIONS_MAX || segment_reserve(&engine.home, &regions->open[regions->used], sizeof *region) < 0)
        return NULL;
    return &regions->open[regions->used++];
}

/* What is to be done at this moment with the thread's bookkeeping and the lock held. */
struct mark {
    uint64_t tick, token, object;
    uint32_t level;
    const char *name;
};

/* Caller holds the lock. */
static uint64_t begin(struct thread *thread, const struct mark *mark)
{
    static uint32_t begun;
    struct segment *segment = engine.home.segment;
    struct region *region = take_place(thread->lane_index);
    if (region == NULL) {
        notice_problem(PROBLEM_regions_dropped, NULL);
        return 0;
    }
    region->begin_ns = clock_wall_ns(mark->tick);
    region->lane = thread->lane_index;
    region->thread = (uint32_t)atomic_load_explicit(&thread->lane->owner, memory_order_relaxed);
    region->outer = thread->region;
    region->level = mark->level;
    region->object = mark->object;
    region->name[0] = '\0';
    text_put(region->name, region->name + sizeof region->name, mark->name);
    lane_sums(segment, thread->lane_index, region->begun);
    atomic_thread_fence(memory_order_release);
    region->token = (uint64_t)segment->pid << 32 | ++begun;
    thread->region = 1 + (uint32_t)(region - segment->regions.open);
    atomic_store_explicit(&segment->last_call_ns, region->begin_ns, memory_order_relaxed);
    return region->token;
}

static bool is_it(const struct region *region, const struct mark *mark, bool has_name)
{
    if (mark->object != 0)
        return region->object == mark->object;
    if (mark->token != 0)
        return region->token == mark->token;
    return region->level == mark->level && (!has_name || mark->name == NULL || strcmp(region->name, mark->name) == 0);
}

static struct region *find(const struct thread *thread, const struct mark *mark, bool has_name)
{
    struct region *region = region_at(thread->region);
    while (region != NULL && !is_it(region, mark, has_name))
        region = region_at(region->outer);
    return region;
}

/* Ends those within `last`, and it. Caller holds the lock. */
static void end_through(struct thread *thread, const struct region *last, uint64_t end_ns, bool is_left)
{
    struct region *region;
    do {
        region = region_at(thread->region);
        thread->region = region->outer;
        region_end(&engine.home, region, end_ns, is_left || region != last);
    } while (region != last && thread->region != 0);
    atomic_store_explicit(&engine.home.segment->last_call_ns, end_ns, memory_order_relaxed);
}

/* Of doubtful ones the oldest makes room. */
static void begin_mark(struct thread *thread, struct mark *mark)
{
    unsigned doubtful = 0;
    uint32_t *oldest = NULL;
    for (uint32_t *link = &thread->region; mark->level != 0 && *link != 0; link = &region_at(*link)->outer)
        if (region_is_doubtful(engine.home.segment, region_at(*link))) {
            oldest = link;
            doubtful++;
        }
    if (doubtful == DOUBTFUL_MAX) {
        struct region *gone = region_at(*oldest);
        *oldest = gone->outer;
        region_end(&engine.home, gone, gone->begin_ns, true);
    }
    mark->token = begin(thread, mark);
}

/* The name of a level's region without one. */
static void put_level_name(char name[REGION_NAME_BYTES], uint32_t level)
{
    text_put_number(text_put(name, name + REGION_NAME_BYTES, "MPI_Pcontrol "), name + REGION_NAME_BYTES, level);
}

static void end_mark(struct thread *thread, struct mark *mark)
{
    struct region *found = find(thread, mark, true);
    if (found == NULL && mark->level != 0) { /* what seemed to be its name is none */
        found = find(thread, mark, false);
        if (found != NULL)
            put_level_name(found->name, mark->level);
    }
    if (found != NULL)
        end_through(thread, found, clock_wall_ns(mark->tick), false);
    else if (mark->object == 0)
        notice_problem(PROBLEM_region_ends_ignored, NULL);
}

static void mark_now(void (*at)(struct thread *, struct mark *), struct mark *mark)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    mark->tick = tick_now();
    int saved_errno = errno_now();
    if (!call_is_on()) {
        mark->token = 0;
    } else if (!guard_begin(thread, &frame)) { /* in a signal handler, within bookkeeping */
        __atomic_fetch_add(&engine.home.segment->problems[PROBLEM_regions_dropped], 1, __ATOMIC_RELAXED);
        mark->token = 0;
    } else {
        bool has_lane = come_to(thread, mark->tick);
        struct held_lock held = lock_take(&engine.lock);
        if (has_lane && atomic_load(engine_switch) == ENGINE_ON)
            at(thread, mark);
        else
            mark->token = 0;
        lock_give_keeping_signals(held);
        guard_end(thread);
    }
    errno_put(saved_errno);
}

uint64_t slicewise_region_begin(const char *name)
{
    struct mark mark = { .name = name };
    if (name != NULL)
        mark_now(begin_mark, &mark);
    return mark.token;
}

void slicewise_region_end(uint64_t token)
{
    struct mark mark = { .token = token };
    if (token != 0)
        mark_now(end_mark, &mark);
}

void regions_begin_object(const void *object, const char *name)
{
    struct mark mark = { .object = (uint64_t)(uintptr_t)object, .name = name };
    mark_now(begin_mark, &mark);
}

void regions_end_object(const void *object)
{
    struct mark mark = { .object = (uint64_t)(uintptr_t)object };
    mark_now(end_mark, &mark);
}

void regions_mark_level(int level, const char *name)
{
    char numbered[REGION_NAME_BYTES];
    struct mark mark = { .level = level < 0 ? -(uint32_t)level : (uint32_t)level, .name = name[0] != '\0' ? name : numbered };
    put_level_name(numbered, mark.level);
    mark_now(level < 0 ? end_mark : begin_mark, &mark);
}

void regions_thread_ends(struct thread *thread)
{
    while (thread->region != 0)
        end_through(thread, NULL, clock_wall_ns(tick_now()), true);
}
