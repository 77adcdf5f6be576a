#include "site.h"

#include "bash.h"
#include "communication.h"
#include "module.h"
#include "peek.h"
#include "python.h"
#include "record.h"
#include "state.h"
#include "unwind.h"
#include "waits.h"

#include <stdio.h>
#include <string.h>

enum { SITE_PLACES = 1024, BULK = 64 };
/* A thousandth of the I/O time between two samples, by default; and what is paid of a sample that lost its processor meanwhile. */
enum { SAMPLE_COST_NS = 10000, SAMPLE_COST_MOST_NS = 10 * SAMPLE_COST_NS };

/* One frame of a stack, native or a script's. */
struct frame {
    uint64_t pc; /* 0: Python's or bash's */
    struct python_frame python;
};

/* The calling thread's stack and all that is known of call sites: guarded by the engine's lock. */
static struct {
    struct unwind_frame native[UNWIND_FRAMES_MAX];
    struct python_frame python[UNWIND_FRAMES_MAX];
    struct frame frame[SITE_DEPTH_MAX];
    unsigned frames;
} stack;
static struct {
    uint64_t key; /* 0: free */
    uint32_t site;
} places[SITE_PLACES];
static uint32_t sites_used;
uint64_t site_threads_code;

void site_forget(void)
{
    unwind_forget();
    memset(places, 0, sizeof places);
    sites_used = 0;
}

static uint64_t below(uint64_t most, uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint64_t)((unsigned __int128)*random * most >> 64);
}

/* The next stretch's instant: how far from this one it is. */
static uint64_t next_instant(struct thread *thread, uint64_t stretch)
{
    uint64_t rest = thread->site_rest_ns, at = below(stretch, &thread->site_random);
    thread->site_rest_ns = stretch - at;
    return rest + at;
}

/* How many stretches the instants in the call that took `site_left_ns` below zero stand for. */
static uint64_t instants(struct thread *thread, uint64_t stretch)
{
    uint64_t count = 0;
    if (thread->site_random == 0) {
        thread->site_random = (uint64_t)raw_gettid() * 0x9e3779b97f4a7c15ull ^ engine.home.segment->process ^ 1;
        thread->site_left_ns += (int64_t)next_instant(thread, stretch);
    }
    if (thread->site_left_ns < 0) {
        count += 1 + thread->site_joined;
        thread->site_joined = 0;
        thread->site_left_ns += (int64_t)next_instant(thread, stretch);
    }
    if (thread->site_left_ns < -(int64_t)(BULK * stretch)) { /* a stretch has one instant each, wherever it lies */
        uint64_t whole = (uint64_t)-thread->site_left_ns / stretch - 1;
        thread->site_left_ns += (int64_t)(whole * stretch);
        count += whole;
    }
    for (; thread->site_left_ns < 0; count++)
        thread->site_left_ns += (int64_t)next_instant(thread, stretch);
    return count;
}

/* Joins `more` stretches to the one whose instant is next: they have one instant together, which stands for them all. It lies where it did, or
 * in one of the others, with the same probability for each; so no call is likelier to be sampled for what this one cost. */
static void join_stretches(struct thread *thread, uint64_t more, uint64_t stretch)
{
    uint64_t at = below((more + 1) * stretch, &thread->site_random);
    if (at < stretch)
        thread->site_rest_ns += more * stretch;
    else {
        thread->site_left_ns += (int64_t)(thread->site_rest_ns + at - stretch);
        thread->site_rest_ns = (more + 1) * stretch - at;
    }
    thread->site_joined = more;
}

static void push(uint64_t pc, const struct python_frame *python)
{
    if (stack.frames < SITE_DEPTH_MAX)
        stack.frame[stack.frames++] = (struct frame){ .pc = pc, .python = python != NULL ? *python : (struct python_frame){ 0 } };
}

struct code {
    uint64_t begin, end;
};

/* The code around an address; 0: none. */
static struct code code_around(uint64_t address)
{
    const struct module *module = address != 0 ? module_of(address) : NULL;
    return module != NULL ? (struct code){ module->begin, module->end } : (struct code){ 0, 0 };
}

static bool is_in(struct code code, uint64_t pc)
{
    return pc >= code.begin && pc < code.end;
}

/* Takes the stack, innermost frame first, without ours: from here on, or of what was `interrupted`, whose own place is told by its function alone (there
 * are too many others). A C frame of the interpreter's loop becomes the Python frames that it runs, or where bash is in its script, and what else of the
 * interpreter is between them is left out. Returns false for a stack in which `is_call` finds a function of ours. */
static bool take_stack(struct unwind_state *interrupted, bool (*is_call)(uint64_t function))
{
    static struct unwind_state here;
    UNWIND_HERE(&here);
    unsigned natives = unwind(interrupted != NULL ? interrupted : &here, stack.native, UNWIND_FRAMES_MAX), given = 0;
    unsigned pythons = python_frames(stack.python, UNWIND_FRAMES_MAX, interrupted != NULL);
    uint64_t loop = python_loop();
    if (pythons == 0 && interrupted == NULL && (pythons = bash_frames(stack.python)) > 0)
        loop = bash_loop();
    const struct code ours = code_around((uint64_t)(uintptr_t)take_stack), interpreter = code_around(pythons > 0 ? loop : 0);
    const struct code turns = code_around(waits_code()), threads = code_around(site_threads_code);
    stack.frames = 0;
    for (unsigned i = 0; i < natives; i++) {
        struct unwind_frame *frame = &stack.native[i];
        if (is_in(ours, frame->pc) && is_call != NULL && is_call(frame->function))
            return false;
        if (is_in(ours, frame->pc) || is_in(turns, frame->pc) || is_in(threads, frame->pc))
            continue;
        if (i == 0 && interrupted != NULL && frame->function != 0)
            frame->pc = frame->function;
        if (!is_in(interpreter, frame->pc)) {
            push(frame->pc, NULL);
            continue;
        }
        bool is_loop = frame->function == loop;
        while (is_loop && given < pythons) {
            push(0, &stack.python[given]);
            if (stack.python[given++].is_entry)
                break;
        }
    }
    while (given < pythons)
        push(0, &stack.python[given++]);
    return true;
}

static uint64_t mix(uint64_t key, uint64_t more)
{
    key = (key ^ more) * 0xff51afd7ed558ccdull;
    return key ^ key >> 32;
}

static uint64_t key_of_stack(void)
{
    uint64_t key = stack.frames + 1;
    for (unsigned i = 0; i < stack.frames; i++) {
        const struct python_frame *python = &stack.frame[i].python;
        key = mix(mix(mix(key, stack.frame[i].pc), python->code ^ python->instruction), python->names[0] + 3 * python->names[1]);
    }
    return key != 0 ? key : 1;
}

static bool is_text(const struct segment *segment, uint64_t text, const char *string)
{
    return text != 0 && strcmp(segment_text(segment, text), string) == 0;
}

/* The profile's number of a module; SITE_MODULES_MAX if there is no room for it. */
static uint32_t enter_module(const struct module *module)
{
    struct segment *segment = engine.home.segment;
    char build_id[2 * BUILD_ID_BYTES + 1] = "";
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        snprintf(build_id + 2 * (size_t)i, 3, "%02x", module->build_id[i]);
    uint32_t used = segment->modules_used;
    for (uint32_t i = 0; i < used; i++)
        if (strcmp(segment_text(segment, segment->modules[i][modules_path]), module->path) == 0 &&
            strcmp(segment_text(segment, segment->modules[i][modules_build_id]), build_id) == 0)
            return i;
    if (used == SITE_MODULES_MAX || segment_reserve(&engine.home, segment->modules[used], sizeof segment->modules[used]) < 0)
        return SITE_MODULES_MAX;
    segment->modules[used][modules_module] = used;
    segment->modules[used][modules_path] = segment_add_text(&engine.home, module->path);
    segment->modules[used][modules_build_id] = segment_add_text(&engine.home, build_id);
    segment->modules_used = used + 1;
    return used;
}

/* A text that an earlier frame may have in the same column already. */
static uint64_t enter_text(const char *string, enum column column)
{
    struct segment *segment = engine.home.segment;
    for (uint32_t i = 0; i < segment->frames_used; i++)
        if (is_text(segment, segment->site_frames[i][column], string))
            return segment->site_frames[i][column];
    return segment_add_text(&engine.home, string);
}

static void describe(uint64_t *row, const struct frame *frame)
{
    char function[PYTHON_NAME_BYTES], file[PYTHON_FILE_BYTES];
    uint64_t line;
    static const struct module nowhere;
    const struct module *module = frame->pc != 0 ? module_of(frame->pc) : NULL;
    row[frames_module] = enter_module(module != NULL ? module : &nowhere);
    if (module != NULL && module->path[0] != '\0')
        row[frames_offset] = frame->pc - module->bias;
    bool is_bash = frame->python.code == 0;
    if (frame->pc == 0 && (is_bash ? bash_describe : python_describe)(&frame->python, function, file, &line)) {
        row[frames_function] = enter_text(function, frames_function);
        row[frames_file] = enter_text(file, frames_file);
        row[frames_line] = line;
    }
}

/* Enters the stack under the next number. Returns 0 if there is no room for it. */
static uint32_t enter_stack(void)
{
    struct segment *segment = engine.home.segment;
    uint32_t first = segment->frames_used;
    if (sites_used == SITES_MAX - 1 || first + stack.frames > SITE_FRAMES_MAX ||
        segment_reserve(&engine.home, segment->site_frames[first], (stack.frames + 1) * sizeof segment->site_frames[first]) < 0)
        return 0;
    for (unsigned depth = 0; depth < stack.frames; depth++) {
        uint64_t *row = segment->site_frames[first + depth];
        memset(row, 0, sizeof segment->site_frames[first]);
        row[frames_site] = sites_used + 1;
        row[frames_depth] = depth;
        describe(row, &stack.frame[depth]);
    }
    segment->frames_used = first + stack.frames;
    if (segment->frames_used - segment->frames_packed > SITE_FRAMES_UNPACKED_MAX)
        pack_records(&engine.home, false, 0);
    return ++sites_used;
}

/* The number of this stack; 0 if there is no room for more. */
static uint32_t find_site(void)
{
    uint64_t key = key_of_stack();
    unsigned place = key % SITE_PLACES;
    while (places[place].key != 0 && places[place].key != key)
        place = (place + 1) % SITE_PLACES;
    if (places[place].key == key)
        return places[place].site;
    uint32_t site = enter_stack();
    if (site != 0) {
        places[place].key = key;
        places[place].site = site;
    } else
        notice_problem(PROBLEM_sites_full, NULL);
    return site;
}
_Static_assert(SITE_PLACES >= 2 * SITES_MAX, "there is always a free place to stop at");

/* A place for one more row; the number of places if there is none. */
static uint32_t free_row(uint64_t slice)
{
    struct segment *segment = engine.home.segment;
    struct ledger *ledger = &segment->site_ledger;
    if (ledger->used < SITE_ROWS_MAX && segment_reserve(&engine.home, segment->sites[ledger->used], sizeof segment->sites[0]) == 0)
        return ledger->used++;
    for (int attempt = 0; attempt < 2; attempt++) {
        for (uint32_t i = 0; i < ledger->used; i++)
            if (!ledger_is_unpacked(ledger, i) && (segment->sites[i][sites_slice] != slice || attempt > 0))
                return i;
        if (attempt == 0 && pack_records(&engine.home, false, 0) < 0)
            break;
    }
    return SITE_ROWS_MAX;
}

static uint64_t *row_of(uint32_t site, unsigned operation, uint64_t slice)
{
    struct segment *segment = engine.home.segment;
    struct ledger *ledger = &segment->site_ledger;
    uint32_t place = 0;
    while (place < ledger->used && (segment->sites[place][sites_site] != site || segment->sites[place][sites_slice] != slice ||
                                    segment->sites[place][sites_operation] != operation))
        place++;
    if (place == ledger->used) {
        place = free_row(slice);
        if (place == SITE_ROWS_MAX)
            return NULL;
        memset(segment->sites[place], 0, sizeof segment->sites[place]);
        segment->sites[place][sites_number] = ledger->next_number++;
        segment->sites[place][sites_site] = site;
        segment->sites[place][sites_operation] = operation;
        segment->sites[place][sites_slice] = slice;
    }
    ledger_touch(ledger, place);
    return segment->sites[place];
}

/* Adds samples to the slices that the call spanned, by time; the call itself is where it ended. */
static void add_samples(const struct call *call, uint64_t whole_ns, uint64_t bytes, uint64_t samples)
{
    uint64_t slice_ns = engine.settings.slice_ns, end_ns = clock_wall_ns(call->end_tick), start_ns = end_ns - whole_ns;
    uint64_t last = end_ns / slice_ns, slice = samples == 1 ? last : start_ns / slice_ns, given = 0;
    uint32_t site = find_site();
    for (; slice <= last; slice++) {
        uint64_t until_ns = slice < last ? (slice + 1) * slice_ns - start_ns : whole_ns;
        uint64_t part = (uint64_t)((unsigned __int128)samples * until_ns / whole_ns) - given;
        uint64_t *row = part > 0 || slice == last ? row_of(site, call->operation, slice) : NULL;
        given += part;
        if (part > 0 && row == NULL)
            notice_problem(PROBLEM_sites_dropped, NULL);
        if (row == NULL)
            continue;
        unsigned __int128 stands_for_ns = (unsigned __int128)part * engine.settings.site_ns;
        row[sites_samples] += part;
        row[sites_likely_calls] += (uint64_t)(stands_for_ns * 1000 / whole_ns);
        row[sites_likely_bytes] += (uint64_t)(stands_for_ns * bytes / whole_ns);
        if (slice == last) {
            row[sites_calls]++;
            row[sites_bytes] += bytes;
            row[sites_ns] += whole_ns;
        }
    }
}

/* I/O time in the lane. MPI-IO's calls have calls below them that are counted as well, and requests run beside them. */
static uint64_t lane_ns(const struct lane *lane)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < lane->cells_used; i++)
        if (lane->cells[i].layer <= LAYER_stdio)
            for (enum call_kind kind = KIND_read; kind <= KIND_sync; kind++)
                sum += lane->cells[i].counts.counter[COUNTER_read_ns + kind];
    return sum;
}

/* What a stack cost is in the mean no more than SAMPLE_COST_NS for each of the stretches that its sample stands for, whatever the caches hold:
 * else the next stands for more of them. */
static void pay(struct thread *thread, uint64_t samples, uint64_t cost_ns)
{
    uint64_t paid_ns = (samples < BULK ? samples : BULK) * SAMPLE_COST_NS, due_ns = cost_ns < SAMPLE_COST_MOST_NS ? cost_ns : SAMPLE_COST_MOST_NS;
    thread->site_debt_ns = thread->site_debt_ns + due_ns > paid_ns ? thread->site_debt_ns + due_ns - paid_ns : 0;
    if (thread->site_debt_ns > 0)
        join_stretches(thread, (thread->site_debt_ns + SAMPLE_COST_NS - 1) / SAMPLE_COST_NS, engine.settings.site_ns);
}

static void sample(struct thread *thread, const struct call *call, uint64_t whole_ns, uint64_t bytes)
{
    uint64_t samples = instants(thread, engine.settings.site_ns);
    if (samples == 0 || whole_ns == 0)
        return;
    struct held_lock held = lock_take(&engine.lock);
    if (atomic_load(engine_switch) == ENGINE_ON) {
        uint64_t began = tick_now();
        uint32_t sites_before = sites_used;
        take_stack(NULL, NULL);
        add_samples(call, whole_ns, bytes, samples);
        uint64_t cost_ns = ticks_to_ns(tick_now() - began);
        engine.home.segment->process_row[processes_profiler_ns] += cost_ns;
        if (sites_used == sites_before) /* a stack is new once */
            pay(thread, samples, cost_ns);
    }
    lock_give_keeping_signals(held);
}

/* The kernel's own time in a system call is told when it is over. */
static bool is_after_system_call(uint64_t pc)
{
#if defined(__x86_64__)
    static const unsigned char instruction[] = { 0x0f, 0x05 };
#else
    static const unsigned char instruction[] = { 0x01, 0x00, 0x00, 0xd4 };
#endif
    unsigned char code[sizeof instruction];
    return peek(pc - sizeof code, code, sizeof code) && memcmp(code, instruction, sizeof code) == 0;
}

void site_computes(struct unwind_state *interrupted, uint64_t samples, bool (*is_call)(uint64_t function))
{
    if (!is_after_system_call(interrupted->pc)) /* stdio's own work, most of which is no I/O */
        is_call = NULL;
    uint64_t began = tick_now();
    bool is_in_mpi = communication_contains((const void *)(uintptr_t)interrupted->value[UNWIND_STACK_POINTER]);
    if (began > profiler_clock.base_tick + clock_trusted_ticks() && clock_calibrate())
        notice_problem(PROBLEM_clock_stepped, NULL);
    if (take_stack(interrupted, is_call)) {
        unsigned activity = is_in_mpi ? ACTIVITY_communicating : ACTIVITY_computing;
        uint64_t *row = row_of(find_site(), OPERATIONS + THREAD_WAITS + activity, clock_wall_ns(began) / engine.settings.slice_ns);
        if (row != NULL)
            row[sites_samples] += samples;
        else
            notice_problem(PROBLEM_sites_dropped, NULL);
    }
    engine.home.segment->process_row[processes_profiler_ns] += ticks_to_ns(tick_now() - began);
}

void site_begin(struct thread *thread)
{
    thread->site_base_ns = lane_ns(thread->lane);
}

void site_settle(struct thread *thread)
{
    thread->site_left_ns -= (int64_t)(lane_ns(thread->lane) - thread->site_base_ns);
    thread->site_base_ns = 0;
}

void site_look(struct thread *thread, const struct call *call, enum layer layer, uint64_t whole_ns, uint64_t share_ns, uint64_t bytes)
{
    struct lane *lane = thread->lane;
    if (engine.settings.site_ns == 0 || thread->is_aside)
        return;
    uint64_t now_ns = lane_ns(lane);
    bool is_timed = layer <= LAYER_stdio;
    thread->site_left_ns -= (int64_t)(now_ns - thread->site_base_ns + (is_timed ? whole_ns - share_ns : 0));
    thread->site_base_ns = now_ns;
    if (thread->site_left_ns < 0 && is_timed)
        sample(thread, call, whole_ns, bytes);
    uint64_t soonest = call->end_tick + (thread->site_left_ns > 0 ? ns_to_ticks((uint64_t)thread->site_left_ns) : 0);
    thread->end_tick = soonest < thread->turn_tick ? soonest : thread->turn_tick;
}
