#include "job_page.h"

#include "clock.h"
#include "raw.h"
#include "segment.h"
#include "segment_dir.h"
#include "text.h"
#include "unsignalled.h"

#include <string.h>

#define LONGEST_NS (JOB_PAGE_LONGEST_SECONDS * NS_PER_SECOND)
#define LAYOUT (0x736c6a6f62000000u | sizeof(struct job_page)) /* another build's page is none of ours */

/* Memory is reserved before it is touched: where there is none, that would end the process. */
static bool reserve(int fd)
{
    if (!raw_may_grow_to(PAGE_BYTES))
        return false;
    struct unsignalled reserving = unsignalled_begin(); /* the limit may have been lowered since */
    long reserved = raw_result(syscall(SYS_fallocate, fd, 0, 0, PAGE_BYTES));
    unsignalled_end(&reserving, reserved < 0);
    return reserved == 0;
}

static struct job_page *map(int fd, bool may_make)
{
    struct statx status;
    if (may_make && !reserve(fd))
        return NULL;
    if (raw_statx_descriptor(fd, &status) < 0 || !S_ISREG(status.stx_mode) || status.stx_uid != raw_geteuid() || status.stx_size < PAGE_BYTES)
        return NULL;
    struct job_page *page = (struct job_page *)syscall(SYS_mmap, NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (may_make && page->layout == 0)
        page->layout = LAYOUT;
    if (page->layout == LAYOUT)
        return page;
    job_page_close(page);
    return NULL;
}

static struct job_page *open_page(const char *segment_dir, int dir, const char *job, bool may_make, char path[SEGMENT_DIR_PATH_BYTES])
{
    char name[JOB_NAME_BYTES + sizeof JOB_PAGE_NAME];
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | (may_make ? O_CREAT : 0);
    text_put(text_put(name, name + sizeof name, JOB_PAGE_NAME), name + sizeof name, job);
    int fd = segment_dir != NULL ? segment_dir_open_file(segment_dir, name, flags, path) : raw_open_at(dir, name, flags, 0600);
    if (fd < 0)
        return NULL;
    struct job_page *page = map(fd, may_make);
    raw_close(fd);
    return page;
}

struct job_page *job_page_open(const char *segment_dir, const char *job, bool may_make)
{
    char path[SEGMENT_DIR_PATH_BYTES];
    return open_page(segment_dir, -1, job, may_make, path);
}

struct job_page *job_page_open_in(int dir, const char *job, bool may_make)
{
    return open_page(NULL, dir, job, may_make, NULL);
}

void job_page_close(struct job_page *page)
{
    if (page != NULL)
        syscall(SYS_munmap, page, PAGE_BYTES);
}

static void note(struct job_page *page, enum job_note note)
{
    if (page != NULL)
        atomic_fetch_add(&page->notes[note], 1);
    job_page_close(page);
}

void job_page_note(const char *segment_dir, const char *job, enum job_note what)
{
    note(job_page_open(segment_dir, job, true), what);
}

void job_page_note_in(int dir, const char *job, enum job_note what)
{
    note(job_page_open_in(dir, job, true), what);
}

void job_page_begin(const char *segment_dir, const char *job)
{
    job_page_close(job_page_open(segment_dir, job, true));
}

void job_page_note_look(const char *segment_dir, const char *job)
{
    struct job_page *page = job_page_open(segment_dir, job, false);
    if (page != NULL)
        atomic_store(&page->is_worth_a_look, 1);
    job_page_close(page);
}

bool job_page_is_worth_a_look(const char *segment_dir, const char *job)
{
    struct job_page *page = job_page_open(segment_dir, job, false);
    bool is_worth = page != NULL && atomic_load(&page->is_worth_a_look) != 0;
    job_page_close(page);
    return is_worth;
}

bool job_page_may_speak(const char *segment_dir, const char *job)
{
    struct job_page *page = job_page_open(segment_dir, job, true);
    bool is_first = page != NULL && atomic_exchange(&page->has_spoken, 1) == 0;
    job_page_close(page);
    return is_first;
}

void job_page_end(const char *segment_dir, const char *job)
{
    char path[SEGMENT_DIR_PATH_BYTES];
    struct job_page *page = open_page(segment_dir, -1, job, false, path);
    uint64_t noted = page == NULL || atomic_load(&page->silent_spool) != 0;
    for (int note = 0; page != NULL && note < JOB_NOTES; note++)
        noted += atomic_load(&page->notes[note]);
    if (noted == 0)
        raw_unlink(path);
    job_page_close(page);
}

/* A number that stands for the directory. */
static uint64_t id_of(const char *spool_dir)
{
    uint64_t id = 0xcbf29ce484222325u;
    for (; *spool_dir != '\0'; spool_dir++)
        id = (id ^ (unsigned char)*spool_dir) * 0x100000001b3u;
    return id != 0 ? id : 1;
}

enum spool_silence job_page_silence(struct job_page *page, const char *spool_dir, uint64_t wait_ns)
{
    if (page == NULL || atomic_load(&page->silent_spool) != id_of(spool_dir))
        return SPOOL_ASKED;
    uint64_t now = clock_read(CLOCK_MONOTONIC), after_ns = atomic_load(&page->asked_after_ns);
    if (now < after_ns && after_ns - now <= LONGEST_NS) /* else it is of another boot */
        return SPOOL_SILENT;
    /* One asks; whoever comes meanwhile does not. */
    return atomic_compare_exchange_strong(&page->asked_after_ns, &after_ns, now + 2 * wait_ns) ? SPOOL_ASKED_AGAIN : SPOOL_SILENT;
}

void job_page_is_silent(struct job_page *page, const char *spool_dir, uint64_t wait_ns, bool is_asked_again)
{
    if (page == NULL)
        return;
    uint64_t now = clock_read(CLOCK_MONOTONIC), id = id_of(spool_dir), interval_ns = JOB_PAGE_WAITS * wait_ns;
    if (is_asked_again)
        interval_ns = 2 * atomic_load(&page->interval_ns);
    else if (atomic_load(&page->silent_spool) == id) /* somebody who asked at the same time has noted it */
        return;
    interval_ns = interval_ns < LONGEST_NS ? interval_ns : LONGEST_NS;
    atomic_store(&page->interval_ns, interval_ns);
    atomic_store(&page->asked_after_ns, now + interval_ns);
    atomic_store(&page->silent_spool, id);
}

void job_page_answers(struct job_page *page, const char *spool_dir)
{
    uint64_t id = id_of(spool_dir);
    if (page != NULL)
        atomic_compare_exchange_strong(&page->silent_spool, &id, 0);
}
