#include "visit.h"

#include "adopt.h"
#include "bounded_io.h"
#include "format.h"
#include "raw.h"
#include "record.h"
#include "spool.h"

#include <string.h>
#include <sys/mman.h>

int visits_begin(struct visits *visits)
{
    visits->copy = raw_memory(sizeof *visits->copy);
    return visits->copy == NULL ? -ENOMEM : 0;
}

void visits_end(struct visits *visits)
{
    munmap(visits->copy, sizeof *visits->copy);
}

static bool read_part(int fd, struct segment *copy, size_t begin, size_t bytes)
{
    return raw_read_at(fd, (char *)copy + begin, bytes, begin) == (long)bytes;
}

/* Frames of this process, one after the other and none left out, up to the next number. */
static bool are_whole(const struct segment *copy, union commit commit)
{
    struct format_envelope envelope, sound;
    uint32_t number = 0;
    size_t at = 0;
    for (; commit.frame_bytes - at > sizeof envelope; at += sizeof envelope + envelope.packed_bytes) {
        memcpy(&envelope, copy->frames + at, sizeof envelope);
        number = at == 0 ? envelope.frame_number : number + 1;
        format_envelope_fill(&sound, copy->process, number, envelope.packed_bytes, envelope.schema, envelope.flags);
        if (copy->process == 0 || memcmp(&envelope, &sound, sizeof sound) != 0 || envelope.packed_bytes > commit.frame_bytes - at - sizeof envelope)
            return false;
    }
    return at == commit.frame_bytes && number + 1 == commit.next_frame;
}

/* All that is packed, as it was at one moment. Frames are overwritten only after a commit that has none, and numbers never come again: if
 * frames and number are the same before and after, the bytes in between are theirs. */
static bool copy_frames(int fd, struct segment *copy, union commit *commit)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        *commit = (union commit){ .word = atomic_load(&copy->commit) };
        if (commit->frame_bytes > FRAMES_BYTES || !read_part(fd, copy, offsetof(struct segment, frames), commit->frame_bytes))
            return false;
        atomic_thread_fence(memory_order_seq_cst);
        if (!read_part(fd, copy, offsetof(struct segment, commit), sizeof copy->commit))
            return false;
        union commit now = { .word = atomic_load(&copy->commit) };
        if (now.frame_bytes == commit->frame_bytes && now.next_frame == commit->next_frame)
            return are_whole(copy, *commit);
    }
    return false;
}

static int drain_living(int fd, struct visits *visits)
{
    struct segment *copy = visits->copy;
    union commit commit = { .word = atomic_load(&copy->commit) };
    uint32_t collected = collected_frames(copy);
    if (commit.frame_bytes == 0 || collected == commit.next_frame)
        return 0;
    if (!adopt_is_sound(copy) || !copy_frames(fd, copy, &commit))
        return 0; /* it adds frames faster than they can be copied, and drains them itself */
    size_t skipped = frames_before(copy->frames, commit.frame_bytes, collected), bytes = commit.frame_bytes - skipped;
    uint32_t was_torn = copy->is_spool_torn;
    int appended = bytes == 0 ? 0 : spool_append(copy, copy->frames + skipped, bytes);
    if (copy->is_spool_torn != was_torn)
        raw_write_at(fd, &copy->is_spool_torn, sizeof copy->is_spool_torn, offsetof(struct segment, is_spool_torn));
    if (appended < 0)
        return appended;
    atomic_store(&copy->collected, collected_pack(commit.next_frame));
    visits->drained_bytes += bytes;
    return 0;
}

/* The two words that are ours to write. */
_Static_assert(offsetof(struct segment, collector_until_ns) == offsetof(struct segment, collected) + 8, "they lie side by side");
static void note(int fd, const struct segment *copy)
{
    raw_write_at(fd, (const void *)&copy->collected, 16, offsetof(struct segment, collected));
}

static void note_profiled(struct profiled *profiled, const struct segment *copy, bool is_elsewhere)
{
    /* A program of Go makes its system calls by itself: its segment has none of them, and it is sampled. */
    bool is_sampled = adopt_is_of_this_build(copy) && copy->problems[PROBLEM_go_program] > 0 && !is_elsewhere;
    if (profiled == NULL || copy->is_of_node || is_sampled)
        return;
    if (profiled->used == PROFILED_MAX) {
        profiled->is_cut = true;
        return;
    }
    profiled->of[profiled->used].pid_namespace = copy->pid_namespace;
    profiled->of[profiled->used].is_elsewhere = is_elsewhere;
    profiled->of[profiled->used++].pid = copy->pid;
}

/* Whether the profile of a segment lies elsewhere; of texts that differ and are not known yet the directories are asked. */
static bool is_elsewhere(const struct visits *visits, const struct segment *copy)
{
    static char same[sizeof copy->spool_dir], other[sizeof copy->spool_dir];
    const char *only = visits->only_spool_dir;
    if (only == NULL || !adopt_is_of_this_build(copy) || strcmp(copy->spool_dir, only) == 0 || strcmp(copy->spool_dir, same) == 0)
        return false;
    if (strcmp(copy->spool_dir, other) == 0)
        return true;
    bool is_same = bounded_io_is_same(copy->spool_dir, only);
    memcpy(is_same ? same : other, copy->spool_dir, sizeof same);
    return !is_same;
}

void visit_segment(int dir, const char *path, void *argument)
{
    struct visits *visits = argument;
    struct segment *copy = visits->copy;
    int fd, opened = adopt_open(dir, strrchr(path, '/') + 1, &fd);
    bool is_living = false, goes_on = false, is_others = false;
    if (opened == ADOPTED && read_part(fd, copy, 0, offsetof(struct segment, files))) {
        uint32_t state = atomic_load(&copy->state);
        bool is_gone = copy->pid_namespace == adopt_pid_namespace() && raw_result(syscall(SYS_kill, copy->pid, 0)) == -ESRCH;
        is_living = adopt_is_of_this_build(copy) && state == SEGMENT_LIVE && !copy->is_last_packed && !visits->looks_closely && !is_gone;
        /* The program that took its place may count nothing, and then the end of the process is its end. */
        goes_on = adopt_is_of_this_build(copy) && state == SEGMENT_LEAVING && visits->until_ns != 0 && !is_gone;
        bool is_own = copy->pid == (uint32_t)raw_getpid();
        is_others = is_elsewhere(visits, copy);
        if ((is_living || goes_on) && is_others) {
            raw_close(fd);
            note_profiled(visits->profiled, copy, true);
            return;
        }
        int drained = is_living && !is_own ? drain_living(fd, visits) : 0;
        atomic_store(&copy->collector_until_ns, drained == 0 ? visits->until_ns : 0);
        if (is_living && !is_own)
            note(fd, copy);
        if (visits->under_way != NULL && adopt_is_of_this_build(copy) && state == SEGMENT_LIVE && !is_own)
            under_way_note(visits->under_way, fd, copy);
        visits->alive += is_living && !is_own;
        visits->failed += drained < 0;
        visits->error = drained < 0 ? drained : visits->error;
        is_living |= is_own;
    }
    if (fd >= 0)
        raw_close(fd);
    if (opened == ADOPTED && is_living)
        note_profiled(visits->profiled, copy, false);
    if (opened != ADOPTED || is_living || goes_on)
        return;
    struct adoption_result result = adopt_in(dir, path, "");
    if (result.outcome == ADOPT_ALIVE || result.outcome == ADOPT_UNSEEN || result.outcome == ADOPT_BUSY)
        note_profiled(visits->profiled, copy, is_others);
    visits->alive += result.outcome == ADOPT_ALIVE;
    visits->finished += result.outcome == ADOPTED;
    visits->failed += result.outcome == ADOPT_FAILED;
    visits->error = result.outcome == ADOPT_FAILED ? result.error : visits->error;
}
