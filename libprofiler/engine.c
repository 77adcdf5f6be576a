/* The engine's life in a process: start (in our constructor, or in the first call that came before it), a forked child's new start, exec,
 * the end. What cannot go on stands down: calls are passed through and nothing is counted. */
#include "engine.h"

#include "adopt.h"
#include "environment.h"
#include "hardware.h"
#include "identity.h"
#include "kernel.h"
#include "mount.h"
#include "program.h"
#include "record.h"
#include "python.h"
#include "request.h"
#include "site.h"
#include "state.h"
#include "unprofiled.h"
#include "visible.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

struct engine engine;
void (*engine_before_end)(void);

static _Atomic uint32_t switch_before_start = ENGINE_ASLEEP;
_Atomic uint32_t *engine_switch = &switch_before_start;

static void say(const char *format, const char *first, const char *second, const char *third)
{
    static char line[1024], shown[sizeof line];
    struct statx status;
    if (engine.settings.is_quiet || identity_is_further_rank() || raw_statx_descriptor(STDERR_FILENO, &status) < 0 ||
        status.stx_ino != engine.standard_error.inode || status.stx_dev_minor != engine.standard_error.device)
        return;
    snprintf(line, sizeof line, format, first, second, third);
    struct iovec part = { shown, visible_line(shown, sizeof shown, line) };
    raw_writev(STDERR_FILENO, &part, 1);
}

static const struct { bool is_said; const char *meaning; } mishap_texts[] = {
#define SAID true
#define QUIET false
#define MISHAP(name, said, meaning) { said, meaning },
#include "mishaps.def"
#undef SAID
#undef QUIET
};

void mishap(enum mishap kind, const char *detail)
{
    segment_count_mishap(engine.home.segment, kind);
    if (!mishap_texts[kind].is_said || engine.is_said[kind])
        return;
    engine.is_said[kind] = true;
    say("slicewise: %s%s%s\n", detail != NULL ? detail : "", detail != NULL ? ": " : "", mishap_texts[kind].meaning);
}

static void complain(const char *variable, const char *value, const char *wrong)
{
    if (value != NULL)
        say("slicewise: %s=%s: %s; its default is used\n", variable, value, wrong);
    else
        say("slicewise: %s: %s\n", variable, wrong, "");
}

static void thread_ends(void *thread)
{
    struct thread *ending = thread;
    ending->is_registered = 0;
    hardware_thread_ends();
    struct held_lock held = lock_take(&engine.lock);
    kernel_thread_ends();
    lock_give(held);
    lane_release(ending);
}

/* A page that a child of fork finds zeroed: it wakes as a process of its own. */
static bool make_switch(void)
{
    void *page = (void *)syscall(SYS_mmap, NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    syscall(SYS_madvise, page, PAGE_BYTES, MADV_WIPEONFORK);
    engine_switch = page;
    return true;
}

/* Whatever a program before ours in this very process left: its exec made way for us. */
static void adopt_predecessor(void)
{
    char path[sizeof engine.home.path + 16];
    size_t length = strlen(engine.home.path);
    const char *dot = strrchr(engine.home.path, '.');
    if (length == 0 || dot == NULL)
        return;
    unsigned mine = (unsigned)strtoul(dot + 1, NULL, 10);
    for (unsigned n = mine > 0 ? mine - 1 : 1; n <= mine + 1; n += 2) {
        snprintf(path, sizeof path, "%.*s.%u", (int)(dot - engine.home.path), engine.home.path, n);
        adopt_segment(path, "");
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

/* Caller is the one thread that starts the engine. Returns whether calls are counted from now on. */
static bool start(bool is_forked)
{
    uint64_t began = clock_read(CLOCK_MONOTONIC);
    struct statx status;
    if (!is_forked && raw_statx_descriptor(STDERR_FILENO, &status) == 0) {
        engine.standard_error.inode = status.stx_ino;
        engine.standard_error.device = status.stx_dev_minor;
    }
    if (!is_forked)
        settings_read(&engine.settings, complain);
    if (engine.settings.is_off)
        return false;
    if (!is_forked) {
        clock_start(strcmp(engine.settings.clock, "vdso") != 0);
        python_start();
        engine.is_first_of_job = identity_job(engine.job, sizeof engine.job, &engine.settings);
    }
    char name[160];
    snprintf(name, sizeof name, "%s.%d", engine.job, raw_getpid());
    if (!descriptor_start() || segment_create(&engine.home, engine.settings.segment_dir, name) < 0)
        return false;

    struct segment *segment = engine.home.segment;
    if (engine.settings.is_group_readable && engine.home.place != PLACE_private)
        segment_share(&engine.home);
    segment->pid_namespace = adopt_pid_namespace();
    segment->process_row[processes_start_ns] = clock_read(CLOCK_REALTIME);
    segment->process_row[processes_ending] = ENDING_running;
    identity_fill(&engine.home, &engine.settings, engine.job);
    mount_start(&engine.home);
    kernel_start(&engine.home, is_forked);
    segment->mishaps[MISHAP_bad_setting] += is_forked ? 0 : engine.settings.bad;
    segment->process_row[processes_site_ns] = engine.settings.site_ns;
    engine.kernel_slice = 0;
    clock_calibrate();
    if (engine.home.place == PLACE_tmpdir)
        mishap(MISHAP_segment_in_tmpdir, NULL);
    if (engine.home.place == PLACE_private)
        mishap(MISHAP_segment_private, NULL);
    if (program_is_go())
        mishap(MISHAP_go_program, NULL);
    atomic_store(&segment->state, SEGMENT_LIVE);
    if (!is_forked) {
        adopt_predecessor();
        adopt_siblings(false);
        hardware_start();
    } else if (engine.settings.events[0] != '\0')
        mishap(MISHAP_papi_forked, NULL);
    segment->process_row[processes_profiler_ns] = clock_read(CLOCK_MONOTONIC) - began;
    return true;
}

/* A child of fork: one thread, descriptors as they were, and nothing counted yet. Its parent's segment is none of its business. */
static void forget_parent(void)
{
    engine.lock = (struct lock){ 0 };
    engine.is_first_of_job = false;
    engine.full_until_tick = 0;
    own_io = (struct own_io){ 0 }; /* the kernel's count of a child begins at zero, and what it reads to start is ours */
    if (engine.home.segment != NULL && engine.home.place != PLACE_private) {
        /* Forked by a signal handler: the bookkeeping that it interrupted goes on here too, and must find memory of no consequence. */
        if (thread_state.frame != NULL)
            syscall(SYS_mmap, engine.home.segment, sizeof(struct segment), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        else
            segment_unmap(&engine.home);
    }
    thread_state = (struct thread){ .lane = &no_lane, .mpi_depth = thread_state.mpi_depth };
    descriptor_forget_all();
    request_forget_all();
    site_forget();
    hardware_forget();
    memset(engine.is_said, 0, sizeof engine.is_said);
}

bool engine_wake(void)
{
    uint32_t state = atomic_load_explicit(engine_switch, memory_order_acquire);
    if (state != ENGINE_ASLEEP)
        return state == ENGINE_ON;
    static _Atomic uint64_t starter; /* process and thread id of who is at it */
    bool is_forked = engine_switch != &switch_before_start;
    if (!is_forked && environ == NULL) /* libc has not started (a program's .preinit_array), and settings cannot be read yet */
        return false;
    if (is_forked && atomic_load(&switch_before_start) == ENGINE_OFF) {
        atomic_store(engine_switch, ENGINE_OFF);
        return false;
    }
    /* A start that calls what we wrap (or a handler that interrupts it) passes through; other threads wait; a starter that fork left
     * behind in the parent is nobody. */
    uint64_t me = (uint64_t)raw_getpid() << 32 | (uint32_t)raw_gettid(), other = 0;
    while (!atomic_compare_exchange_strong(&starter, &other, me)) {
        if (other == me)
            return false;
        if (other >> 32 == me >> 32) {
            syscall(SYS_sched_yield);
            if (atomic_load(engine_switch) != ENGINE_ASLEEP)
                return atomic_load(engine_switch) == ENGINE_ON;
            other = 0;
        }
    }
    if (atomic_load(engine_switch) != ENGINE_ASLEEP) { /* done while we waited */
        atomic_store(&starter, 0);
        return atomic_load(engine_switch) == ENGINE_ON;
    }
    int saved_errno = errno;
    if (is_forked)
        forget_parent();
    bool is_on = (is_forked || make_switch()) && start(is_forked);
    if (engine_switch != &switch_before_start)
        atomic_store(engine_switch, is_on ? ENGINE_ON : ENGINE_OFF);
    atomic_store(&switch_before_start, is_on ? ENGINE_ON : ENGINE_OFF);
    atomic_store(&starter, 0);
    errno = saved_errno;
    return is_on;
}

void engine_set_rank(int rank, int ranks)
{
    if (!engine_wake())
        return;
    struct held_lock held = lock_take(&engine.lock);
    engine.home.segment->process_row[processes_rank] = (uint64_t)(int64_t)rank;
    engine.home.segment->process_row[processes_ranks] = (uint64_t)ranks;
    lock_give(held);
}

void engine_count_mishap(enum mishap kind, uint64_t times)
{
    if (!engine_wake())
        return;
    struct held_lock held = lock_take(&engine.lock);
    engine.home.segment->mishaps[kind] += times - 1;
    mishap(kind, NULL);
    lock_give(held);
}

uint32_t engine_pid(void)
{
    return engine.home.segment != NULL ? engine.home.segment->pid : 0;
}

uint32_t engine_mount_of_path(const char *path)
{
    if (!engine_wake())
        return MOUNT_OTHER;
    static char here[4096];
    struct statx status;
    bool is_there = raw_statx(AT_FDCWD, path, 0, &status) == 0; /* symbolic links and `..` followed, as text cannot */
    struct held_lock held = lock_take(&engine.lock);
    if (path[0] != '/')
        path = syscall(SYS_getcwd, here, sizeof here) > 0 ? here : "/";
    uint32_t mount = is_there ? mount_enter(&engine.home, OBJECT_file, makedev(status.stx_dev_major, status.stx_dev_minor), path)
                              : mount_enter_path(&engine.home, path);
    lock_give(held);
    return mount;
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
    if (atomic_load(engine_switch) != ENGINE_ON || !kernel_minds_children())
        return;
    int saved_errno = errno;
    struct held_lock held = lock_take(&engine.lock);
    kernel_child_begins(&engine.home);
    lock_give(held);
    errno = saved_errno;
}

void engine_begin_child(void)
{
    if (is_on()) /* it began in a handler of the program's that libc calls before fork returns */
        return;
    if (engine_switch != &switch_before_start)
        atomic_store(engine_switch, ENGINE_ASLEEP); /* where the kernel is too old to have zeroed it */
    engine_wake();
}

static void look_last(void)
{
    if (engine_before_end != NULL)
        engine_before_end();
    engine.home.segment->mishaps[MISHAP_requests_unclaimed] = request_count();
}

static void leave(void)
{
    if (!is_on())
        return;
    look_last();
    struct held_lock held = lock_take(&engine.lock);
    struct segment *segment = engine.home.segment;
    uint64_t now = clock_read(CLOCK_REALTIME);
    kernel_sample(&engine.home, now / engine.settings.slice_ns);
    hardware_read(now, true);
    segment->last_call_ns = now;
    segment->process_row[processes_call_cost_ps] = call_cost_ps();
    atomic_store(&segment->state, SEGMENT_LEAVING);
    lock_give(held);
}

void engine_leave(int dirfd, const char *path)
{
    engine_before_child();
    unprofiled_note(raw_getpid(), dirfd, path);
    leave();
}

void engine_leave_for_command(const char *file)
{
    engine_before_child();
    unprofiled_note_command(raw_getpid(), file);
    leave();
}

void engine_spawned(int pid, const char *path)
{
    unprofiled_note(pid, AT_FDCWD, path);
}

void engine_spawned_command(int pid, const char *file)
{
    unprofiled_note_command(pid, file);
}

void engine_stay(void)
{
    unprofiled_take_back(raw_getpid());
    if (is_on())
        atomic_store(&engine.home.segment->state, SEGMENT_LIVE);
}

static void say_where_counts_are(int error)
{
    static char path[1100];
    spool_path(path, sizeof path, engine.home.segment);
    if (engine.home.place == PLACE_private)
        say("slicewise: %s: cannot write the profile (%s), and it is lost\n", path, strerrordesc_np(-error), "");
    else
        say("slicewise: %s: cannot write the profile (%s); its counts are kept in %s: make room, then run `slicewise recover`\n", path,
            strerrordesc_np(-error), engine.home.path);
}


/* A collector comes soon, and whoever comes by if it does not: the process need not wait for the spool. */
static bool is_left_to_collector(void)
{
    return engine.home.place != PLACE_private && adopt_is_promised(atomic_load(&engine.home.segment->collector_until_ns));
}

void engine_finish(enum ending ending)
{
    if (!is_on())
        return;
    look_last();
    struct held_lock held = lock_take(&engine.lock);
    if (atomic_load(engine_switch) == ENGINE_ON) {
        uint64_t began = tick_now();
        atomic_store(engine_switch, ENGINE_OFF);
        descriptor_forget_all(); /* no call is a usual one any more */
        struct segment *segment = engine.home.segment;
        uint64_t now = clock_read(CLOCK_REALTIME);
        kernel_sample(&engine.home, now / engine.settings.slice_ns);
        hardware_read(now, true);
        segment->process_row[processes_call_cost_ps] = call_cost_ps();
        segment->process_row[processes_profiler_ns] += ticks_to_ns(tick_now() - began);
        bool is_left = is_left_to_collector();
        int error = is_left ? segment_close(&engine.home, ending, now, 0) : segment_finish(&engine.home, ending, now, 0);
        if (error == 0 && is_left) {
            adopt_siblings(engine.is_first_of_job);
        } else if (error == 0) {
            atomic_store(&segment->state, SEGMENT_DONE);
            if (engine.home.place != PLACE_private)
                raw_unlink(engine.home.path);
            adopt_siblings(engine.is_first_of_job);
        } else {
            segment_count_mishap(segment, MISHAP_spool_failed);
            say_where_counts_are(error);
        }
    }
    lock_give(held);
}

static long fails_for_want_of_a_function(void)
{
    errno = ENOSYS;
    return -1;
}

void *engine_real(const char *name)
{
    static const char *const old_versions[] = { "GLIBC_2.2.5", "GLIBC_2.17" };
    void *found = dlsym(RTLD_NEXT, name);
    /* Functions that new programs no longer link to have no default version. */
    for (size_t i = 0; found == NULL && i < sizeof old_versions / sizeof *old_versions; i++)
        found = dlvsym(RTLD_NEXT, name, old_versions[i]);
    return found != NULL ? found : (void *)fails_for_want_of_a_function;
}

void *engine_real_near(const char *name, const void *caller)
{
    Dl_info object;
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL && dladdr(caller, &object) != 0) {
        void *handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        found = handle != NULL ? dlsym(handle, name) : NULL;
    }
    return found != NULL ? found : engine_real(name);
}

static void finish_at_exit(void *unused)
{
    (void)unused;
    engine_finish(ENDING_exit);
}

static void finish_at_quick_exit(void)
{
    engine_finish(ENDING_exit);
}

int __cxa_atexit(void (*function)(void *), void *argument, void *object);

/* Registered before the loader's own handler and with no object, so that it runs after every destructor of every library: their I/O is
 * counted too. */
__attribute__((constructor)) static void begin(void)
{
    __cxa_atexit(finish_at_exit, NULL, NULL);
    at_quick_exit(finish_at_quick_exit);
    engine.has_thread_key = pthread_key_create(&engine.thread_key, thread_ends) == 0;
    if (!engine_wake())
        return;
    if (engine.is_first_of_job)
        environment_name_job(engine.job);
    if (engine.settings.is_carried)
        environment_start();
}
