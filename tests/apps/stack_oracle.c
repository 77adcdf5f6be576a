/* A library that walks stacks twice, by our unwinder (libprofiler/unwind.c) and by libunwind, and tells where they differ. A program is
 * walked at its instructions from stack_oracle_step() to stack_oracle_rest(), twice at each for each pair of calls that led there: then the
 * calls and returns themselves say which of the two is right. A program that knows nothing of it, loaded with LD_PRELOAD, is walked each
 * STACK_ORACLE_EVERY_US microseconds. What was found goes to the file STACK_ORACLE_OUT.PID when the process ends. For x86-64. */
#define UNW_LOCAL_ONLY
#include "module.h"
#include "own_errno.h"
#include "raw.h"
#include "sparse.h"
#include "unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <libunwind.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

_Atomic bool sparse_is_new_memory_locked; /* which is the engine's own */

enum {
    FRAMES_MAX = 256,
    DIFFERENCES_MAX = 256,
    PLACES = 1 << 16,
    TRAP_FLAG = 0x100,
    STEPS_MAX = 400000,
    CALLS_MAX = 200,
    CALL_BYTES_MAX = 8,
    LEAP_BYTES = 1 << 14,
    STACKS_BITS = 20,
    STACKS = 1 << STACKS_BITS,
    TIMES_WALKED = 2,
    CALLS_TOLD_APART = 2
};

void stack_oracle_step(void);
void stack_oracle_rest(void);

/* What our unwinder needs of the rest of the engine. */
struct own_io own_io;
int64_t errno_offset;

struct walk {
    unsigned count;
    uint64_t pc[FRAMES_MAX], function[FRAMES_MAX];
};

/* Calls that were seen in single steps and have not returned: the truth about the inner part of the stack. */
static struct {
    unsigned count;
    uint64_t at[CALLS_MAX], return_address[CALLS_MAX];
    uint64_t last_pc, last_sp;
} calls;

static struct difference {
    const char *kind;
    uint64_t times, at; /* at: the frame that one of them leaves in another way, or not at all */
    unsigned frame;
    struct walk ours, theirs;
} differences[DIFFERENCES_MAX];
static unsigned differences_used;
static uint64_t points, frames_compared, frames_known, steps, places, unfit;
static uint64_t place[PLACES];
static atomic_flag walking = ATOMIC_FLAG_INIT;
static atomic_bool is_stepping;

static void walk_by_ours(const ucontext_t *context, struct walk *walk)
{
    static const int by_dwarf[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
    static struct unwind_state state;
    static struct unwind_frame frames[FRAMES_MAX];
    state = (struct unwind_state){ .pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP] };
    for (unsigned i = 0; i < sizeof by_dwarf / sizeof *by_dwarf; i++)
        state.value[i] = (uint64_t)context->uc_mcontext.gregs[by_dwarf[i]];
    walk->count = unwind(&state, frames, FRAMES_MAX);
    for (unsigned i = 0; i < walk->count; i++) {
        walk->pc[i] = frames[i].pc;
        walk->function[i] = frames[i].function;
    }
}

static void walk_by_libunwind(ucontext_t *context, struct walk *walk)
{
    unw_cursor_t cursor;
    walk->count = 0;
    if (unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME) != 0)
        return;
    do {
        unw_word_t pc;
        unw_proc_info_t about;
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0)
            return;
        walk->function[walk->count] = unw_get_proc_info(&cursor, &about) == 0 ? about.start_ip : 0;
        walk->pc[walk->count++] = pc;
    } while (walk->count < FRAMES_MAX && unw_step(&cursor) > 0);
}

/* `at`: the innermost function, which says what was going on, or the frame that they leave in different ways. */
static void note(const char *kind, uint64_t at, unsigned frame, const struct walk *ours, const struct walk *theirs)
{
    for (unsigned i = 0; i < differences_used; i++)
        if (differences[i].at == at && differences[i].kind == kind) {
            differences[i].times++;
            return;
        }
    if (differences_used == DIFFERENCES_MAX) {
        unfit++;
        return;
    }
    differences[differences_used++] = (struct difference){ kind, 1, at, frame, *ours, *theirs };
}

/* Ours has addresses within the call, libunwind those after it. */
static bool is_same(uint64_t ours, uint64_t theirs)
{
    return ours == theirs || ours == theirs - 1;
}

/* What the last instruction did: a call wrote its return address; whatever is below the stack pointer is over; on another stack all is new. */
static void see_step(uint64_t pc, uint64_t sp)
{
    if (sp - calls.last_sp + LEAP_BYTES > 2 * LEAP_BYTES)
        calls.count = 0;
    uint64_t top = *(const uint64_t *)(uintptr_t)sp; /* NOLINT(performance-no-int-to-ptr) */
    while (calls.count > 0 && calls.at[calls.count - 1] < sp)
        calls.count--;
    if (sp == calls.last_sp - sizeof top && top > calls.last_pc && top <= calls.last_pc + CALL_BYTES_MAX && calls.count < CALLS_MAX) {
        calls.at[calls.count] = sp;
        calls.return_address[calls.count++] = top;
    }
    calls.last_pc = pc;
    calls.last_sp = sp;
}

static bool is_true(const struct walk *walk)
{
    for (unsigned i = 0; i < calls.count && i + 1 < FRAMES_MAX; i++)
        if (i + 1 >= walk->count || !is_same(walk->pc[i + 1], calls.return_address[calls.count - 1 - i]))
            return false;
    return true;
}

static void compare(const struct walk *ours, const struct walk *theirs)
{
    unsigned common = ours->count < theirs->count ? ours->count : theirs->count;
    frames_compared += common;
    frames_known += calls.count;
    uint64_t innermost = ours->function[0] != 0 ? ours->function[0] : ours->pc[0];
    if (!is_true(ours)) {
        note(is_true(theirs) ? "wrong" : "both-wrong", innermost, 0, ours, theirs);
        return;
    }
    if (!is_true(theirs)) {
        note("libunwind-wrong", innermost, 0, ours, theirs);
        return;
    }
    for (unsigned i = 0; i < common; i++) {
        if (!is_same(ours->pc[i], theirs->pc[i])) {
            note("other", ours->pc[i > 0 ? i - 1 : 0], i, ours, theirs);
            return;
        }
        if (ours->function[i] != 0 && theirs->function[i] != 0 && ours->function[i] != theirs->function[i]) {
            note("function", ours->pc[i], i, ours, theirs);
            return;
        }
    }
    if (ours->count != theirs->count)
        note(ours->count < theirs->count ? "shorter" : "longer", ours->pc[common > 0 ? common - 1 : 0], common, ours, theirs);
}

static void count_place(uint64_t pc)
{
    for (uint64_t i = pc * 0x9e3779b97f4a7c15ull >> 48, tries = 0; tries < 64; i = (i + 1) % PLACES, tries++) {
        if (place[i] == pc)
            return;
        if (place[i] == 0) {
            place[i] = pc;
            places++;
            return;
        }
    }
}

static void walk_twice(ucontext_t *context)
{
    static struct walk ours, theirs;
    if (atomic_flag_test_and_set(&walking))
        return;
    atomic_store(&module_is_opened, true); /* the engine's wrapper of dlopen would say when that is so */
    walk_by_ours(context, &ours);
    walk_by_libunwind(context, &theirs);
    points++;
    count_place(ours.pc[0]);
    compare(&ours, &theirs);
    atomic_flag_clear(&walking);
}

/* Loops come by the same instruction again and again: it is walked twice for each pair of calls that led there. Another place with the same hash
 * may go without, a few of thousands. */
static bool is_walked_enough(uint64_t pc)
{
    static unsigned char times[STACKS];
    uint64_t hash = pc;
    for (unsigned i = calls.count > CALLS_TOLD_APART ? calls.count - CALLS_TOLD_APART : 0; i < calls.count; i++)
        hash = (hash ^ calls.return_address[i]) * 0x9e3779b97f4a7c15ull;
    unsigned char *own = &times[(hash * 0x9e3779b97f4a7c15ull) >> (64 - STACKS_BITS)];
    return *own == TIMES_WALKED || (++*own, false);
}

/* Set anew after each walk, so that a program gets on however slow the walks are. Unlike setitimer's it ends with an exec. */
static timer_t timer;
static struct itimerspec pause_of_timer;

static void at_signal(int number, siginfo_t *about, void *context)
{
    (void)about;
    int saved = errno;
    if (number == SIGTRAP && (!atomic_load(&is_stepping) || ++steps > STEPS_MAX))
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    else {
        if (number == SIGTRAP)
            see_step((uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP], (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP]);
        if (number != SIGTRAP || !is_walked_enough((uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]))
            walk_twice(context);
        if (number == SIGALRM)
            timer_settime(timer, 0, &pause_of_timer, NULL);
    }
    errno = saved;
}

static void handle(int number)
{
    struct sigaction action = { .sa_sigaction = at_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigaction(number, &action, NULL);
}

void stack_oracle_step(void)
{
    handle(SIGTRAP);
    calls.count = 0;
    calls.last_sp = 0;
    atomic_store(&is_stepping, true);
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
}

void stack_oracle_rest(void)
{
    atomic_store(&is_stepping, false); /* the next step is the last one */
}

__attribute__((constructor)) static void begin(void)
{
    const char *every = getenv("STACK_ORACLE_EVERY_US");
    if (every == NULL)
        return;
    pause_of_timer.it_value.tv_nsec = atol(every) * 1000;
    handle(SIGALRM);
    timer_create(CLOCK_MONOTONIC, NULL, &timer);
    timer_settime(timer, 0, &pause_of_timer, NULL);
}

static void tell_code(FILE *out, uint64_t pc, uint64_t function)
{
    Dl_info about = { 0 };
    if (dladdr((void *)(uintptr_t)pc, &about) == 0) /* NOLINT(performance-no-int-to-ptr) */
        fprintf(out, " ?+0x%lx", pc);
    else
        fprintf(out, " %s+0x%lx(%s)", strrchr(about.dli_fname, '/') != NULL ? strrchr(about.dli_fname, '/') + 1 : about.dli_fname,
                pc - (uint64_t)(uintptr_t)about.dli_fbase, about.dli_sname != NULL ? about.dli_sname : "");
    if (function == 0)
        fprintf(out, "*"); /* no unwind entry */
}

static void tell_walk(FILE *out, const char *who, const struct walk *walk, unsigned from)
{
    fprintf(out, "  %s:", who);
    for (unsigned i = from; i < walk->count && i < from + 4; i++)
        tell_code(out, walk->pc[i], walk->function[i]);
    fprintf(out, "\n");
}

__attribute__((destructor)) static void end(void)
{
    const char *place_of_report = getenv("STACK_ORACLE_OUT");
    char path[4096];
    signal(SIGALRM, SIG_IGN);
    if (place_of_report == NULL || points == 0)
        return;
    snprintf(path, sizeof path, "%s.%d", place_of_report, (int)getpid());
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return;
    fprintf(out, "steps %lu points %lu places %lu frames %lu known %lu cut %d unfit %lu differences %u\n", steps, points, places, frames_compared,
            frames_known, steps > STEPS_MAX, unfit, differences_used);
    for (unsigned i = 0; i < differences_used; i++) {
        const struct difference *one = &differences[i];
        fprintf(out, "%s %lu frame %u at", one->kind, one->times, one->frame);
        tell_code(out, one->at, 1);
        fprintf(out, "\n");
        unsigned from = one->frame > 2 ? one->frame - 2 : 0;
        tell_walk(out, "ours", &one->ours, from);
        tell_walk(out, "libunwind", &one->theirs, from);
    }
    fclose(out);
}
