#include "unprofiled.h"

#include "job_page.h"
#include "lazy_start.h"
#include "program.h"
#include "state.h"

#include <string.h>
#include <sys/mman.h>

/* The row of a program and reason, a new one if need be; NULL if there is no room. Caller holds the lock. */
static uint64_t *row_of(const struct program *program)
{
    struct segment *segment = engine.home.segment;
    for (uint32_t i = 0; i < segment->unprofiled_used; i++)
        if (segment->unprofiled[i][unprofiled_reason] == program->reason &&
            strcmp(segment_text(segment, segment->unprofiled[i][unprofiled_program]), program->path) == 0)
            return segment->unprofiled[i];
    uint64_t text = segment->unprofiled_used < UNPROFILED_MAX ? segment_add_text(&engine.home, program->path) : 0;
    uint64_t *row = segment->unprofiled[segment->unprofiled_used];
    if (text == 0 || segment_reserve(&engine.home, row, sizeof segment->unprofiled[0]) < 0)
        return NULL;
    row[unprofiled_number] = segment->unprofiled_used;
    row[unprofiled_program] = text;
    row[unprofiled_reason] = program->reason;
    segment->unprofiled_used++;
    return row;
}

static void enter(const struct program *program, int pid)
{
    struct held_lock held = lock_take(&engine.lock);
    uint64_t *row = row_of(program);
    if (row != NULL) {
        row[unprofiled_times]++;
        row[unprofiled_pid] = (uint64_t)pid;
        row[unprofiled_time_ns] = clock_read(CLOCK_REALTIME);
    } else {
        segment_count_problem(engine.home.segment, PROBLEM_unprofiled_full);
    }
    lock_give(held);
}

/* In memory that is ours alone: a vforked child has neither a stack nor static data of its own. */
static enum reason note(int pid, int dirfd, const char *path, enum reason known, void (*look)(struct program *program, int dirfd, const char *path))
{
    if (path == NULL || atomic_load(engine_switch) == ENGINE_OFF)
        return known;
    int saved_errno = errno_now();
    struct program *program = (struct program *)syscall(SYS_mmap, NULL, sizeof *program, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (program != MAP_FAILED) {
        look(program, dirfd, path);
        if ((uint32_t)raw_getpid() == lazy_start_pid()) { /* a vforked child's reads are not in our count */
            own_io.reads += program->reads;
            own_io.read_bytes += program->read_bytes;
        }
        if (program->reason == REASON_unknown)
            program->reason = known;
        known = program->reason;
        if (known != REASON_unknown && pid != UNPROFILED_NOT_YET && engine_start()) { /* a child that does nothing but this matters then */
            enter(program, pid);
            job_page_note_look(engine.settings.segment_dir, engine.job);
        }
        syscall(SYS_munmap, program, sizeof *program);
    }
    errno_put(saved_errno);
    return known;
}

static void look_for(struct program *program, int dirfd, const char *command)
{
    (void)dirfd;
    program_look_for(program, command);
}

enum reason unprofiled_note(int pid, int dirfd, const char *path, enum reason known)
{
    return note(pid, dirfd, path, known, program_look);
}

enum reason unprofiled_note_command(int pid, const char *command, enum reason known)
{
    return note(pid, AT_FDCWD, command, known, look_for);
}

void unprofiled_take_back(int pid)
{
    if (atomic_load(engine_switch) != ENGINE_ON)
        return;
    struct held_lock held = lock_take(&engine.lock);
    struct segment *segment = engine.home.segment;
    for (uint32_t i = 0; i < segment->unprofiled_used; i++)
        if (segment->unprofiled[i][unprofiled_pid] == (uint64_t)pid && segment->unprofiled[i][unprofiled_times] > 0) {
            segment->unprofiled[i][unprofiled_times]--;
            segment->unprofiled[i][unprofiled_pid] = 0;
        }
    lock_give(held);
}
