/* The kernel's clocks, past libc: `clock_gettime` may be the function of a library that is preloaded beside us, whose clock is not the node's, and
 * which may use what it has taken down at the program's end. For any thread at any time, also before libc has started. */
#ifndef SLICEWISE_VDSO_H
#define SLICEWISE_VDSO_H

#include <stdbool.h>
#include <time.h>

/* The time stays as it is where the kernel gives none. */
void vdso_clock(clockid_t id, struct timespec *now);

/* The kernel's function reads the processor's counter: whether to make the system call in its place. */
void vdso_avoid(bool is_avoided);

#endif
