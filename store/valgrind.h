/* Whether the program runs in valgrind, which knows no processes that share memory and no system calls of newer kernels. */
#ifndef SLICEWISE_VALGRIND_H
#define SLICEWISE_VALGRIND_H

#include <stdbool.h>
#include <stdint.h>

/* Its own sign: instructions that change nothing, and that it answers. */
static inline bool valgrind_is_here(void)
{
#if defined(__x86_64__)
    uint64_t request[6] = { 0x1001 /* RUNNING_ON_VALGRIND */ }, answer = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(request)
                     : "cc", "memory", "rdi");
    return answer != 0;
#else
    return false;
#endif
}

#endif
