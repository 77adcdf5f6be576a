/* System calls by number, past our own wrapper and everybody else's. The linker turns every `syscall` in this library into this
 * (--wrap=syscall), so that the profiler never counts itself. */
#ifndef SLICEWISE_SYSCALL_H
#define SLICEWISE_SYSCALL_H

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

#endif
