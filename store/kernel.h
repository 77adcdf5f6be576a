/* The kernel's own count of this process's I/O, less what the profiler did itself: the witness for how much the wrappers saw. For the
 * holder of the engine's lock. */
#ifndef SLICEWISE_KERNEL_H
#define SLICEWISE_KERNEL_H

#include "clock.h"
#include "segment.h"

#include <sys/resource.h>

/* The unit of ru_inblock and ru_oublock. */
enum { RUSAGE_BLOCK_BYTES = 512 };

/* What a process may have written to storage past us before its first counted call: more is told. */
#define KERNEL_LITTLE_BYTES 65536

/* Notes what the process has written to storage before its first deed: exec keeps the counts of the program before. */
void kernel_note(const struct rusage *now);

/* Bytes that it wrote to storage since then. */
uint64_t kernel_unseen(void);

/* The counts begin with what comes now, and with what kernel_unseen() tells if that is much; in a forked child they begin at nothing.
 * `asked_by`: the process, where not it but a vforked child asks; else 0. */
void kernel_start(struct segment_home *home, bool is_forked, uint32_t asked_by);

/* The call that started the engine is over when the counts begin, and what it moved is in the kernel's count already: whoever counts the first
 * call says how much of that was its own. Caller holds the lock. */
extern bool kernel_awaits_first_call HIDDEN;
void kernel_take_in_first_call(uint64_t read_bytes, uint64_t write_bytes);

/* So many bytes will be written in one call when nobody looks any more: they count with the samples from here on. */
void kernel_will_write(uint64_t bytes);

/* Adds what came since the last sample, as a record of `slice`. */
void kernel_sample(struct segment_home *home, uint64_t slice);

/* The calling thread ends. Once children are waited for, the process's count has theirs in it, and only a sum over threads is its own: then
 * what threads counted that are gone must be known. While there is no child the process's count tells, so that a thread's end costs two
 * system calls and no look at /proc. */
void kernel_thread_ends(void);

/* A child is about to begin, or (one that was vforked) to exec: the last moment at which the process's count tells what the threads that are
 * gone have counted. Called only where kernel_minds_children. */
bool kernel_minds_children(void);
void kernel_child_begins(const struct segment_home *home);

#endif
