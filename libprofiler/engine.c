/* The engine's life in a process: start (in our constructor, or in the first call that came before it), a forked child's new start, exec,
 * the end. What cannot go on stands down: calls are passed through and nothing is counted. */
#include "engine.h"

#include "adopt.h"
#include "async_drain.h"
#include "communication.h"
#include "computing.h"
#include "environment.h"
#include "guard.h"
#include "hardware.h"
#include "identity.h"
#include "io_library.h"
#include "job_page.h"
#include "kernel.h"
#include "lane.h"
#include "lazy_start.h"
#include "mount.h"
#include "name.h"
#include "program.h"
#include "record.h"
#include "regions.h"
#include "request.h"
#include "site.h"
#include "state.h"
#include "text.h"
#include "symbol.h"
#include "unprofiled.h"
#include "usage.h"
#include "vfork_child.h"
#include "waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

START_DATA struct engine engine;
CALL_DATA void (*engine_before_end)(void);

_Atomic uint32_t *engine_switch = &lazy_start_page.state;

/* Between two looks, against each other: the clocks are read one after the other. */
#define CLOCK_MOVED_NS 1000000
/* Segments of programs that came before in this process, by exec: more are finished at the next exec, else by the last one. */
#define PREDECESSORS_MAX 8
#define STARTER_TRIES 1000
/* We take at most one part in so many of the address space that a limit leaves. */
#define SPARE_PARTS 8

static void thread_ends(void *thread)
{
    struct thread *ending = thread;
    ending->is_registered = 0;
    if (ending->timer != 0)
        computing_thread_ends(ending);
    if (atomic_load(engine_switch) == ENGINE_ON) {
        if (hardware_is_asked_for())
            hardware_thread_ends();
        struct held_lock held = lock_take(&engine.lock);
        kernel_thread_ends();
        if (atomic_load(engine_switch) == ENGINE_ON)
            regions_thread_ends(ending);
        lock_give(held);
    }
    lane_release(ending);
}

static void own_path(char *path, char *end, const char *user_dir, unsigned n)
{
    path = text_put(text_put(text_put(path, end, user_dir), end, "/"), end, engine.job);
    path = text_put_number(text_put(path, end, "."), end, lazy_start_pid());
    text_put_number(text_put(path, end, "."), end, n);
}

/* What programs before ours in this very process left: their execs made way for us. Finished at our end, for a start touches nobody's spool. */
static void adopt_predecessors(void)
{
    char path[sizeof engine.home.path + 16];
    const char *dot = strrchr(engine.home.path, '.');
    for (unsigned n = 0; dot != NULL && n < engine.home.number; n++) {
        snprintf(path, sizeof path, "%.*s.%u", (int)(dot - engine.home.path), engine.home.path, n);
        adopt_segment(path, "");
    }
}

/* The same where ours has no segment, since it counted nothing: it looks whether there is any. The last of them ends as our process does. */
static void adopt_predecessors_of_silent(enum ending ending)
{
    char path[2][sizeof engine.home.path + 16], user_dir[256];
    segment_user_dir(user_dir, sizeof user_dir, engine.settings.segment_dir, raw_geteuid(), 0);
    own_path(path[0], path[0] + sizeof path[0], user_dir, 0);
    bool is_there = syscall(SYS_faccessat, AT_FDCWD, path[0], F_OK) == 0;
    for (unsigned n = 0; is_there && n < PREDECESSORS_MAX; n++) {
        char *next = path[(n + 1) % 2];
        own_path(next, next + sizeof path[0], user_dir, n + 1);
        is_there = syscall(SYS_faccessat, AT_FDCWD, next, F_OK) == 0;
        if (is_there)
            adopt_segment(path[n % 2], "");
        else
            adopt_predecessor(path[n % 2], ending, clock_read(CLOCK_REALTIME));
    }
}

/* What others of the job left on this node without a word. The process that named the job ends last, as a rule, and looks at all of them. */
static void adopt_siblings(bool all)
{
    char prefix[sizeof engine.job + 1];
    snprintf(prefix, sizeof prefix, "%s.", engine.job);
    if (all)
        adopt_all(engine.settings.segment_dir, prefix, "", NULL, NULL);
    else
        adopt_gone(engine.settings.segment_dir, prefix);
}

/* libc has room in each thread for the values of its first keys; for those of others it would allocate when a thread first counts. */
static void make_thread_key(void)
{
    enum { KEYS_WITH_ROOM = 32 };
    engine.has_thread_key = pthread_key_create != NULL && pthread_key_create(&engine.thread_key, thread_ends) == 0;
    if (engine.has_thread_key && engine.thread_key >= KEYS_WITH_ROOM) {
        pthread_key_delete(engine.thread_key);
        engine.has_thread_key = false;
    }
}

static void take_standard_error(void)
{
    struct statx status;
    if (raw_statx_descriptor(STDERR_FILENO, &status) == 0) {
        engine.standard_error.inode = status.stx_ino;
        engine.standard_error.device = status.stx_dev_minor;
    }
}

/* A job that has its name from a process is over with it, and nobody asks for what is noted. */
static void note_unprofiled(enum job_note why)
{
    if (!engine.is_first_of_job)
        job_page_note(engine.settings.segment_dir, engine.job, why);
}

static void end_job_page(void)
{
    if (engine.is_first_of_job && engine.has_spoken)
        job_page_end(engine.settings.segment_dir, engine.job);
}

/* In this very program is somebody who sees what we do and takes it for the program's. Before anything of ours is mapped. */
static bool is_in_bad_company(void)
{
    static const struct {
        const char *symbol, *why;
        enum job_note note;
    } others[] = {
#ifndef __SANITIZE_THREAD__ /* it sees our lock: the engine's own test */
        /* The one does not see our lock, the other what we wrote to our stack: their false reports end the program. */
        { "__tsan_init", "is built with ThreadSanitizer, which would report our memory as a fault of the program", JOB_NOTE_sanitized },
        { "__msan_init", "is built with MemorySanitizer, which would report our memory as a fault of the program", JOB_NOTE_sanitized },
#endif
        /* It calls us in the midst of a checkpoint, and after an exec it maps its own where it had been, whatever lies there now. */
        { "dmtcp_checkpoint", "runs under DMTCP, whose checkpoints cannot have our memory in them", JOB_NOTE_checkpointed },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (symbol_find(others[i].symbol, true) != NULL) {
            note_unprofiled(others[i].note);
            engine_say("slicewise: not profiled: this program %s\n", others[i].why, "", "");
            return true;
        }
    return false;
}

/* What must be known of the process's beginning: its settings, its clock, its environment, which it may change. Makes, maps and opens nothing
 * that stays. Returns whether calls are to be counted; then the engine starts with the first. */
static bool prepare(void)
{
    uint64_t began = clock_read(CLOCK_MONOTONIC);
    take_standard_error();
    settings_read(&engine.settings, NULL);
    engine.is_first_of_job = identity_job(engine.job, sizeof engine.job, &engine.settings);
    if (engine.settings.bad > 0) /* once more, now that it is known whether and for which job we may speak */
        settings_read(&engine.settings, notice_bad_setting);
    if (engine.settings.is_off)
        return false;
    if (began == 0) { /* all that waits, waits until some time */
        engine_say("slicewise: not profiled: the kernel does not tell the time here\n", "", "", "");
        return false;
    }
    if (is_in_bad_company())
        return false;
    lazy_start_begin();
    async_drain_start();
    make_thread_key();
    clock_start(strcmp(engine.settings.clock, "vdso") != 0);
    engine.clock_offset_ns = clock_read(CLOCK_REALTIME) - clock_read(CLOCK_MONOTONIC);
    identity_note(&engine.settings, engine.job);
    struct rusage used = { 0 };
    raw_getrusage(RUSAGE_SELF, &used);
    kernel_note(&used);
    usage_note(&used);
    communication_choose(engine.settings.mpi == MPI_SCOPE_all);
    io_library_choose(engine.settings.has_libraries);
    engine.prepared_ns = clock_read(CLOCK_MONOTONIC) - began;
    return true;
}

/* The clock may have been set while we slept: then the pair that its rate is measured from is of no use. */
static void wake_clock(void)
{
    uint64_t offset_ns = clock_read(CLOCK_REALTIME) - clock_read(CLOCK_MONOTONIC);
    uint64_t moved_ns = offset_ns > engine.clock_offset_ns ? offset_ns - engine.clock_offset_ns : engine.clock_offset_ns - offset_ns;
    if (moved_ns > CLOCK_MOVED_NS)
        clock_start(profiler_clock.is_counter);
    clock_calibrate();
}

/* Under a limit of address space: the program's own allocations come later, and must not fail for ours. */
static bool is_memory_spare(void)
{
    struct rlimit limit;
    char pages[128] = "";
    if (raw_result(syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit)) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return true;
    raw_read_file("/proc/self/statm", pages, sizeof pages);
    uint64_t used = strtoull(pages, NULL, 10) * PAGE_BYTES;
    return used < limit.rlim_cur && (limit.rlim_cur - used) / SPARE_PARTS >= sizeof(struct segment);
}

/* Caller is the one thread that starts the engine. Returns whether calls are counted from now on. */
static bool start(bool is_forked)
{
    uint64_t began = clock_read(CLOCK_MONOTONIC);
    char name[160];
    snprintf(name, sizeof name, "%s.%u", engine.job, lazy_start_pid());
    if (!is_memory_spare() || segment_create(&engine.home, engine.settings.segment_dir, name) < 0) {
        note_unprofiled(JOB_NOTE_no_memory);
        engine_say("slicewise: not profiled: no memory can be had to count in\n", "", "", "");
        return false;
    }
    engine.home.is_drained_apart = true;

    struct segment *segment = engine.home.segment;
    segment->pid = lazy_start_pid();
    if (engine.settings.is_group_readable && engine.home.place != PLACE_private)
        segment_share(&engine.home);
    segment->pid_namespace = adopt_pid_namespace();
    segment->process_row[processes_ending] = ENDING_running;
    wake_clock();
    segment->process_row[processes_start_ns] = lazy_start_page.began_ns != 0 ? lazy_start_page.began_ns : clock_wall_ns(lazy_start_page.began_tick);
    identity_fill(&engine.home, &engine.settings, engine.job);
    segment->process_row[processes_parent] = lazy_start_page.parent;
    mount_start(&engine.home);
    usage_start(is_forked);
    kernel_start(&engine.home, is_forked, (uint32_t)raw_getpid() != segment->pid ? segment->pid : 0);
    segment->problems[PROBLEM_bad_setting] += is_forked ? 0 : engine.settings.bad;
    segment->process_row[processes_site_ns] = engine.settings.site_ns;
    engine.kernel_slice = 0;
    if (engine.home.place == PLACE_tmpdir)
        notice_problem(PROBLEM_segment_in_tmpdir, NULL);
    if (engine.home.place == PLACE_private)
        notice_problem(PROBLEM_segment_private, NULL);
    if (program_is_go())
        notice_problem(PROBLEM_go_program, NULL);
    if (waits_are_given_up())
        notice_problem(PROBLEM_not_coordinated, NULL);
    atomic_store(&segment->state, SEGMENT_LIVE);
    if (hardware_is_asked_for() && is_forked)
        notice_problem(PROBLEM_papi_forked, NULL);
    else if (hardware_is_asked_for() && engine.may_allocate)
        hardware_start();
    if (engine.settings.is_computing)
        computing_start();
    segment->process_row[processes_profiler_ns] = clock_read(CLOCK_MONOTONIC) - began + (is_forked ? 0 : engine.prepared_ns);
    return true;
}

/* A child of fork: one thread, descriptors as they were, and nothing counted yet. Its parent's segment is none of its business. */
static void forget_parent(void)
{
    engine.lock = (struct lock){ 0 };
    own_io.reads -= lazy_start_page.parents_io.reads;
    own_io.read_bytes -= lazy_start_page.parents_io.read_bytes;
    own_io.writes -= lazy_start_page.parents_io.writes;
    own_io.write_bytes -= lazy_start_page.parents_io.write_bytes;
    engine.is_first_of_job = false;
    engine.full_until_tick = 0;
    uint32_t vfork_depth = thread_state.vfork_depth; /* it may be a vforked child that starts the engine in its parent's memory */
    if (engine.home.segment != NULL && engine.home.place != PLACE_private) {
        /* Forked by a signal handler: the bookkeeping that it interrupted goes on here too, and must find memory of no consequence. */
        if (thread_state.frame != NULL && thread_state.frame != GUARD_VFORK)
            syscall(SYS_mmap, engine.home.segment, sizeof(struct segment), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        else
            segment_unmap(&engine.home);
    }
    thread_state =
        (struct thread){ .mpi_frame = thread_state.mpi_frame, .mpi_return = thread_state.mpi_return, .vfork_rooms = thread_state.vfork_rooms };
    vfork_child_restore(vfork_depth);
    descriptor_forget_all();
    name_forget();
    request_forget_all();
    async_drain_forget();
    site_forget();
    if (hardware_is_asked_for())
        hardware_forget();
    if (computing_is_on())
        computing_forget();
    memset(engine.is_said, 0, sizeof engine.is_said);
}

/* Takes the turn to prepare or to start: others wait. Returns false where there is nothing to do any more, or where the caller is at it
 * already (a start that calls what we wrap, or a handler that interrupts it). */
static bool take_turn(uint32_t thread)
{
    uint32_t other = 0;
    for (unsigned tries = 1; !atomic_compare_exchange_strong(&lazy_start_page.starter, &other, thread); tries++) {
        if (other == thread)
            return false;
        if (tries % STARTER_TRIES == 0 && raw_result(syscall(SYS_kill, other, 0)) == -ESRCH) /* a vforked child, killed at it */
            atomic_compare_exchange_strong(&lazy_start_page.starter, &other, 0);
        syscall(SYS_sched_yield);
        if (atomic_load(engine_switch) != ENGINE_UNSTARTED)
            return false;
        other = 0;
    }
    return true;
}

/* What the process's beginning made of us: for good, and for its children too. */
static START_DATA enum { UNPREPARED, PREPARED, REFUSED } preparation;

static bool is_worth_waking_at_once(void)
{
    bool is_go = program_is_go(); /* which makes its calls past libc, and never comes by */
    return is_go || engine.settings.events[0] != '\0' || engine.settings.is_computing != 0;
}

static bool says_off(char *const *environment)
{
    for (char *const *entry = environment; entry != NULL && *entry != NULL; entry++)
        if (strcmp(*entry, "SLICEWISE_OFF=1") == 0)
            return true;
    return false;
}

/* Told by the process that started this one, perhaps because of a filter that it installed: not one system call is made. */
static bool is_to_be_off(void)
{
    return !symbol_has_glibc() || says_off(environ); /* nothing of another libc's is as we know it */
}

/* From here on, and in children of fork. */
static void refuse(void)
{
    preparation = REFUSED;
    communication_choose(false);
    io_library_choose(false);
    lazy_start_stop();
    clock_stop();
    atomic_store(engine_switch, ENGINE_OFF);
}

/* `is_counting`: a call is to be counted, and not just what comes before it. Returns whether calls are counted. */
static bool rouse(bool is_counting)
{
    uint32_t state = atomic_load_explicit(engine_switch, memory_order_acquire);
    if (!thread_is_set_up())
        return false;
    if (state != ENGINE_UNSTARTED)
        return state == ENGINE_ON;
    if (preparation == REFUSED) { /* a child of fork: there may be no system call that it may make */
        atomic_store(engine_switch, ENGINE_OFF);
        return false;
    }
    if (environ == NULL && preparation == UNPREPARED) /* libc has not started (a program's .preinit_array), and settings cannot be read yet */
        return false;
    if (preparation == UNPREPARED && is_to_be_off()) {
        refuse();
        return false;
    }
    errno_find();
    int saved_errno = errno_now();
    if (!take_turn((uint32_t)raw_gettid())) {
        errno_put(saved_errno);
        return atomic_load(engine_switch) == ENGINE_ON;
    }
    if (atomic_load(engine_switch) == ENGINE_UNSTARTED) { /* and not done while we waited */
        if (preparation == UNPREPARED) {
            preparation = prepare() ? PREPARED : REFUSED;
            is_counting = is_counting || (preparation == PREPARED && is_worth_waking_at_once());
        }
        if (is_counting && preparation == PREPARED) {
            lazy_start_pid();
            if (lazy_start_page.is_child)
                forget_parent();
            if (!start(lazy_start_page.is_child))
                preparation = REFUSED;
        }
        if (is_counting || preparation == REFUSED)
            atomic_store(engine_switch, preparation == REFUSED ? ENGINE_OFF : ENGINE_ON);
    }
    if (preparation == REFUSED)
        end_job_page();
    atomic_store(&lazy_start_page.starter, 0);
    if (is_counting && atomic_load(engine_switch) == ENGINE_ON)
        lazy_start_count(); /* at once: nobody knows whether there will be an end */
    errno_put(saved_errno);
    return atomic_load(engine_switch) == ENGINE_ON;
}

void engine_prepare(void)
{
    if (preparation == UNPREPARED)
        rouse(false);
}

bool engine_start(void)
{
    return rouse(true);
}

void engine_set_rank(int rank, int ranks)
{
    if (!engine_start())
        return;
    struct held_lock held = lock_take(&engine.lock);
    engine.home.segment->process_row[processes_rank] = (uint64_t)(int64_t)rank;
    engine.home.segment->process_row[processes_ranks] = (uint64_t)ranks;
    lock_give(held);
}

void engine_count_problem(enum problem kind, uint64_t times)
{
    if (!engine_start())
        return;
    struct held_lock held = lock_take(&engine.lock);
    engine.home.segment->problems[kind] += times - 1;
    notice_problem(kind, NULL);
    lock_give(held);
}

uint32_t engine_pid(void)
{
    return engine.home.segment != NULL ? engine.home.segment->pid : 0;
}

/* A vforked child runs in our memory but is not us. */
static bool is_own_process(void)
{
    return engine.home.segment != NULL && (uint32_t)raw_getpid() == engine.home.segment->pid;
}

static bool is_on(void)
{
    return atomic_load(engine_switch) == ENGINE_ON && is_own_process();
}

/* Also by a vforked child, in its parent's memory. */
void engine_before_child(void)
{
    call_noted_stream = NULL;
    if (atomic_load(engine_switch) != ENGINE_ON || !kernel_minds_children())
        return;
    int saved_errno = errno_now();
    struct held_lock held = lock_take(&engine.lock);
    kernel_child_begins(&engine.home);
    lock_give(held);
    errno_put(saved_errno);
}

/* It starts when it counts something. */
void engine_begin_child(void)
{
    call_noted_stream = NULL;
    vfork_child_forget();
    waits_begin_child();
    if (preparation == REFUSED) {
        atomic_store(engine_switch, ENGINE_OFF);
        return;
    }
    atomic_fetch_add(&lazy_start_page.deferred_used, 0); /* written before it is read: a page that is only read is mapped twice */
    if (is_on()) /* it began in a handler of the program's that libc calls before fork returns */
        return;
    lazy_start_begin_child();
    /* Forked by a signal handler: the bookkeeping that it interrupted goes on here too, on our parent's lane. */
    if ((thread_state.frame != NULL && thread_state.frame != GUARD_VFORK) || engine.settings.is_computing != 0)
        engine_start();
}

static void look_last(void)
{
    lazy_start_count(); /* what other threads were about to note when one started us */
    if (engine_before_end != NULL)
        engine_before_end();
    __atomic_store_n(&engine.home.segment->problems[PROBLEM_requests_unclaimed], request_count(), __ATOMIC_RELAXED);
}

/* A process that counted nothing, by the wrappers: whether the kernel saw more than a process does by itself. */
static bool has_unseen(void)
{
    bool has_some =
        preparation == PREPARED && lazy_start_pid() == (uint32_t)raw_getpid() && !lazy_start_page.is_child && kernel_unseen() > KERNEL_LITTLE_BYTES;
    if (has_some)
        job_page_note_look(engine.settings.segment_dir, engine.job);
    return has_some;
}

/* The programs before ours are finished: the one after ours looks for the first number. */
static void take_first_number(void)
{
    static char first[sizeof engine.home.path];
    const char *dot = strrchr(engine.home.path, '.');
    if (dot == NULL)
        return;
    snprintf(first, sizeof first, "%.*s.0", (int)(dot - engine.home.path), engine.home.path);
    if (syscall(SYS_renameat2, AT_FDCWD, engine.home.path, AT_FDCWD, first, RENAME_NOREPLACE) != 0)
        return;
    memcpy(engine.home.path, first, sizeof first);
    engine.home.number = 0;
}

static void leave(void)
{
    if (atomic_load(engine_switch) == ENGINE_UNSTARTED && (!has_unseen() || !engine_start()))
        return;
    if (!is_on())
        return;
    look_last();
    struct held_lock held = lock_take(&engine.lock);
    struct segment *segment = engine.home.segment;
    uint64_t now = clock_read(CLOCK_REALTIME);
    kernel_sample(&engine.home, now / engine.settings.slice_ns);
    usage_sample(now);
    if (hardware_is_asked_for())
        hardware_read(now, true);
    segment->last_call_ns = now;
    segment->process_row[processes_call_cost_ps] = call_cost_ps();
    segment->process_row[processes_statx_ps] = call_statx_ps();
    atomic_store(&segment->state, SEGMENT_LEAVING);
    if (engine.home.number >= PREDECESSORS_MAX) {
        adopt_predecessors();
        take_first_number();
    }
    lock_give(held);
}

/* Then no system call is ours to make. */
static bool is_left_alone(void)
{
    return atomic_load(engine_switch) == ENGINE_OFF || (atomic_load(&vfork_children) != 0 && vfork_child_is_left_alone());
}

/* Why a program with this environment cannot be profiled, whatever its file says. */
static enum reason reason_in(char *const *environment)
{
    int saved_errno = errno_now();
    bool is_off = environment_is_readable(environment) && says_off(environment);
    errno_put(saved_errno);
    return is_off ? REASON_off : REASON_unknown;
}

enum reason engine_leave(int dirfd, const char *path, char *const *environment)
{
    if (is_left_alone())
        return REASON_unknown;
    engine_before_child();
    enum reason reason = unprofiled_note(raw_getpid(), dirfd, path, reason_in(environment));
    leave();
    return reason;
}

enum reason engine_leave_for_command(const char *file, char *const *environment)
{
    if (is_left_alone())
        return REASON_unknown;
    engine_before_child();
    enum reason reason = unprofiled_note_command(raw_getpid(), file, reason_in(environment));
    leave();
    return reason;
}

void engine_leave_alone(int dirfd, const char *path)
{
    if (!is_left_alone())
        unprofiled_note(raw_getpid(), dirfd, path, REASON_no_room);
}

void engine_leave_alone_for_command(const char *file)
{
    if (!is_left_alone())
        unprofiled_note_command(raw_getpid(), file, REASON_no_room);
}

enum reason engine_spawns(const char *path, char *const *environment)
{
    return is_left_alone() ? REASON_unknown : unprofiled_note(UNPROFILED_NOT_YET, AT_FDCWD, path, reason_in(environment));
}

enum reason engine_spawns_command(const char *file, char *const *environment)
{
    return is_left_alone() ? REASON_unknown : unprofiled_note_command(UNPROFILED_NOT_YET, file, reason_in(environment));
}

void engine_spawned(int pid, const char *path, enum reason reason)
{
    if (reason != REASON_unknown)
        unprofiled_note(pid, AT_FDCWD, path, reason);
}

void engine_spawned_command(int pid, const char *file, enum reason reason)
{
    if (reason != REASON_unknown)
        unprofiled_note_command(pid, file, reason);
}

void engine_stay(void)
{
    if (is_left_alone())
        return;
    unprofiled_take_back(raw_getpid());
    if (is_on())
        atomic_store(&engine.home.segment->state, SEGMENT_LIVE);
}

/* The end of a process that counted nothing: there is nothing to write. Returns whether it started after all. */
static bool end_unstarted(enum ending ending)
{
    if (has_unseen())
        return engine_start();
    if (preparation != PREPARED || lazy_start_page.is_child || lazy_start_pid() != (uint32_t)raw_getpid()) /* a vforked child: its parent goes on */
        return false;
    async_drain_begin_end();
    adopt_predecessors_of_silent(ending);
    if (engine.is_first_of_job)
        adopt_siblings(true);
    end_job_page();
    return false;
}

void engine_will_write(uint32_t mount, uint64_t bytes, uint64_t more)
{
    struct held_lock held = lock_take(&engine.lock);
    if (atomic_load(engine_switch) == ENGINE_ON) {
        struct record record = { .slice = clock_read(CLOCK_REALTIME) / engine.settings.slice_ns, .mount = mount, .layer = LAYER_stdio };
        record.counts.counter[COUNTER_kernel_write_bytes] = bytes;
        record_append(&engine.home, &record);
        kernel_will_write(bytes + more);
    }
    lock_give(held);
}

void engine_finish(enum ending ending)
{
    if (atomic_load(engine_switch) == ENGINE_UNSTARTED ? !end_unstarted(ending) : !is_on())
        return;
    look_last();
    struct segment *segment = engine.home.segment;
    struct held_lock held = lock_take(&engine.lock);
    if (atomic_load(engine_switch) != ENGINE_ON) { /* another thread was first */
        lock_give(held);
        return;
    }
    uint64_t began = tick_now();
    atomic_store(engine_switch, ENGINE_OFF);
    if (computing_is_on())
        computing_stop();
    descriptor_name_all();
    descriptor_forget_all(); /* no call is a usual one any more */
    uint64_t now = clock_read(CLOCK_REALTIME);
    kernel_sample(&engine.home, now / engine.settings.slice_ns);
    usage_sample(now);
    if (hardware_is_asked_for())
        hardware_read(now, true);
    segment->process_row[processes_call_cost_ps] = call_cost_ps();
    segment->process_row[processes_statx_ps] = call_statx_ps();
    segment->process_row[processes_profiler_ns] += ticks_to_ns(tick_now() - began);
    int closed = segment_close(&engine.home, ending, now, 0);
    lock_give(held);
    bool is_home = ending_bring_home(ending, now, closed);
    adopt_predecessors(); /* which meet with the same: then they go, or stay within the same bounds */
    if (is_home)
        adopt_siblings(engine.is_first_of_job);
    end_job_page();
}

void engine_stand_down(enum problem why)
{
    if (vfork_child_is_caller()) {
        if (why == PROBLEM_stood_down_tsc)
            clock_avoid_counter();
        vfork_child_stands_down();
        return;
    }
    /* One that is not started starts: what it does later cannot be told, and its row says so. */
    if (engine_start() && is_on()) {
        engine_count_problem(why, 1);
        engine_finish(ENDING_stood_down);
    }
    refuse();
    symbol_avoid_system_calls();
    waits_stop();
    environment_stand_down();
}

static long fails_for_want_of_a_function(void)
{
    errno_put(ENOSYS);
    return -1;
}

void *engine_real(const char *name)
{
    void *found = symbol_real(name);
    return found != NULL ? found : (void *)fails_for_want_of_a_function;
}

void *engine_real_near(void **real, const char *name, const void *caller)
{
    struct symbol found = symbol_real_near(name, caller);
    if (found.address == NULL)
        return (void *)fails_for_want_of_a_function;
    if (!found.is_later)
        *real = found.address;
    return found.address;
}

static void finish_at_exit(void *unused)
{
    (void)unused;
    engine_finish(ENDING_exit);
}

/* The same by their names in libc: those that programs are linked with bring code of their own, a page far from ours. */
int __cxa_at_quick_exit(void (*function)(void *), void *object) __attribute__((weak));
int __cxa_atexit(void (*function)(void *), void *argument, void *object);

/* Registered before the loader's own handler and with no object, so that it runs after every destructor of every library: their I/O is
 * counted too. */
__attribute__((constructor)) static void begin(int count, char **arguments)
{
    if (symbol_has_glibc()) /* others' constructors are told nothing */
        identity_note_arguments(count, arguments);
    __cxa_atexit(finish_at_exit, NULL, NULL);
    if (__cxa_at_quick_exit != NULL)
        __cxa_at_quick_exit(finish_at_exit, NULL);
    atomic_store(&lazy_start_page.starter, 0); /* written first: a page that is only read is brought in twice */
    bool was_started_early = atomic_load(engine_switch) == ENGINE_ON;
    engine.may_allocate = true;
    rouse(false);
    if (preparation == REFUSED)
        return;
    if (was_started_early && hardware_is_asked_for()) {
        struct held_lock held = lock_take(&engine.lock);
        hardware_start();
        lock_give(held);
    }
    if (engine.is_first_of_job)
        environment_name_job(engine.job);
    if (engine.settings.is_carried)
        environment_start();
}
