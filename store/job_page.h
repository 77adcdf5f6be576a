/* What the processes of one job and user on a node know together: a page of memory, in a file `.job.JOB` beside their segments. It is made where there
 * is something to know, and looked at on rare paths alone: where something went wrong, and at an end whose spool may not answer. Nothing relies on it:
 * where it is missing, or says what is not true, somebody keeps silent, or waits once more. For any thread of any process; there is no lock. */
#ifndef SLICEWISE_JOB_PAGE_H
#define SLICEWISE_JOB_PAGE_H

#include "names.h"

#include <stdatomic.h>
#include <stdbool.h>

#define JOB_PAGE_NAME ".job." /* and the job's name */

struct job_page {
    uint64_t layout;
    _Atomic uint64_t has_spoken;
    _Atomic uint64_t silent_spool; /* a spool that does not answer; 0: none */
    _Atomic uint64_t asked_after_ns; /* CLOCK_MONOTONIC: nobody asks it again before */
    _Atomic uint64_t interval_ns; /* from one question to the next */
    _Atomic uint64_t notes[JOB_NOTES];
    _Atomic uint64_t is_worth_a_look; /* profiles have problems that are worth a line, or lack what programs did */
};

/* Maps a job's page, in the first of the user's directories of segments that has one, or may have one made; NULL if there is none. */
struct job_page *job_page_open(const char *segment_dir, const char *job, bool may_make);

/* The same in one directory, by a descriptor. */
struct job_page *job_page_open_in(int dir, const char *job, bool may_make);

void job_page_close(struct job_page *page);

/* Counts what happened to a process and is in no profile. */
void job_page_note(const char *segment_dir, const char *job, enum job_note note);
void job_page_note_in(int dir, const char *job, enum job_note note);

/* For `slicewise run`, which makes the page before the command begins: notes that a profile is worth a look at the command's end, and whether there
 * is such a note. Where nobody made a page nothing is noted. */
void job_page_begin(const char *segment_dir, const char *job);
void job_page_note_look(const char *segment_dir, const char *job);
bool job_page_is_worth_a_look(const char *segment_dir, const char *job);

/* Whether the caller is the first of the job to speak. */
bool job_page_may_speak(const char *segment_dir, const char *job);

/* Removes a job's page, unless something is noted there. */
void job_page_end(const char *segment_dir, const char *job);

enum spool_silence { SPOOL_ASKED, SPOOL_ASKED_AGAIN, SPOOL_SILENT };

/* Whether a spool is known not to answer. From time to time one process may ask it again, for `wait_ns`: SPOOL_ASKED_AGAIN. `page` may be NULL. */
enum spool_silence job_page_silence(struct job_page *page, const char *spool_dir, uint64_t wait_ns);

/* Notes that a spool did not answer for so long. The first question after that comes JOB_PAGE_WAITS times as late, and each further one twice as late
 * as the one before: so that questions take a job a tenth of its time at most. */
enum { JOB_PAGE_WAITS = 10, JOB_PAGE_LONGEST_SECONDS = 3600 };
void job_page_is_silent(struct job_page *page, const char *spool_dir, uint64_t wait_ns, bool is_asked_again);

/* Notes that a spool answers. */
void job_page_answers(struct job_page *page, const char *spool_dir);

#endif
