/* The calling thread's stack, by the unwind tables (.eh_frame) of the files that its code is in. It takes no lock of libc's or the loader's,
 * allocates nothing, and reads all memory but its own by a system call that fails where a load would crash: a corrupt stack ends the
 * walk, as code without tables does unless it keeps a frame pointer. Caller holds the engine's lock. */
#ifndef SLICEWISE_UNWIND_H
#define SLICEWISE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum { UNWIND_STACK_POINTER = 7 };
#else
enum { UNWIND_STACK_POINTER = 31 };
#endif
enum { UNWIND_REGISTERS = 34, UNWIND_FRAMES_MAX = 512 };

/* Registers by their DWARF numbers, of whichever processor. */
struct unwind_state {
    uint64_t pc;
    uint64_t value[UNWIND_REGISTERS];
    bool is_exact; /* pc is the instruction that was interrupted, not the one after a call */
};

/* A frame: `pc` lies within the call instruction (or is the interrupted one). `function` is where its unwind entry begins, 0 where it has none. */
struct unwind_frame {
    uint64_t pc, function;
};

/* The state of whoever calls this, as far as unwinding needs it. */
#if defined(__x86_64__)
/* clang-format off */
#define UNWIND_HERE(state)                                                                                                                  \
    __asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\tmovq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\t"        \
                     "movq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)\n\tleaq 0(%%rip), %%rax\n\tmovq %%rax, (%1)"                                 \
                     : : "r"((state)->value), "r"(&(state)->pc) : "rax", "memory")
#elif defined(__aarch64__)
#define UNWIND_HERE(state)                                                                                                                  \
    __asm__ volatile("stp x19, x20, [%0, 152]\n\tstp x21, x22, [%0, 168]\n\tstp x23, x24, [%0, 184]\n\tstp x25, x26, [%0, 200]\n\t"           \
                     "stp x27, x28, [%0, 216]\n\tstp x29, x30, [%0, 232]\n\tmov x9, sp\n\tstr x9, [%0, 248]\n\tadr x9, .\n\tstr x9, [%1]"     \
                     : : "r"((state)->value), "r"(&(state)->pc) : "x9", "memory")
/* clang-format on */
#else
#define UNWIND_HERE(state) ((state)->pc = 0)
#endif

/* Walks outwards from `state`. Returns how many frames it wrote. */
unsigned unwind(struct unwind_state *state, struct unwind_frame *frames, unsigned most);

/* Forgets what it knows of the process's code: a forked child's may change while the parent's is being learnt. */
void unwind_forget(void);

#endif
