/* vfork returns twice from one frame: in the child, which runs in our memory as the very thread that waits for it, and then in the parent. So
 * its return address lies in a register meanwhile, as in libc's own, and what we do before and after stands in functions of its own. */
#include "interpose.h"
#include "vfork_child.h"

__attribute__((used, visibility("hidden"))) void vfork_begins(void);
__attribute__((used, visibility("hidden"))) long vfork_ends(long result);

void vfork_begins(void)
{
    int saved_errno = errno_now();
    vfork_child_begin(true);
    errno_put(saved_errno);
}

/* In the parent. `result` is the kernel's. */
long vfork_ends(long result)
{
    vfork_child_end(true);
    if (result < 0) {
        errno_put((int)-result);
        result = -1;
    }
    struct call call = call_begin(OP_vfork);
    call_end(&call);
    call_lived(&call);
    call_close(&call);
    return result;
}

#if defined(__x86_64__)
/* Where returns are checked against a second stack, the child's calls have overwritten what our return would be checked against. */
__asm__(".text\n\t.globl wrapper_vfork\n\t.hidden wrapper_vfork\n\t.type wrapper_vfork, @function\n"
        "wrapper_vfork:\n\t.cfi_startproc\n\tendbr64\n"
        "\tsubq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n"
        "\tcall vfork_begins\n"
        "\taddq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n"
        "\tpopq %rdi\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_register %rip, %rdi\n"
        "\tmovl $58, %eax\n\tsyscall\n"
        "\tpushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %rip, 0\n"
        "\ttestq %rax, %rax\n\tje 1f\n"
        "\tmovq %rax, %rdi\n"
        "\tsubq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n"
        "\tcall vfork_ends\n"
        "\taddq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n"
        "1:\txorl %ecx, %ecx\n\trdsspq %rcx\n\ttestq %rcx, %rcx\n\tjne 2f\n\tret\n"
        "2:\tpopq %rdx\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_register %rip, %rdx\n\tmovl $1, %ecx\n\tincsspq %rcx\n\tnotrack jmp *%rdx\n"
        "\t.cfi_endproc\n\t.size wrapper_vfork, .-wrapper_vfork\n");
#elif defined(__aarch64__)
__asm__(".text\n\t.globl wrapper_vfork\n\t.hidden wrapper_vfork\n\t.type wrapper_vfork, %function\n"
        "wrapper_vfork:\n\t.cfi_startproc\n\thint #34\n" /* bti c */
        "\tstp x29, x30, [sp, #-16]!\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 29, -16\n\t.cfi_offset 30, -8\n"
        "\tbl vfork_begins\n"
        "\tldp x29, x30, [sp], #16\n\t.cfi_def_cfa_offset 0\n\t.cfi_restore 29\n\t.cfi_restore 30\n"
        "\tmov x0, #0x4111\n\tmov x1, sp\n\tmov x8, #220\n\tsvc #0\n" /* clone: CLONE_VM | CLONE_VFORK | SIGCHLD */
        "\tcbz x0, 1f\n"
        "\tb vfork_ends\n"
        "1:\tret\n"
        "\t.cfi_endproc\n\t.size wrapper_vfork, .-wrapper_vfork\n");
#else
#error "how vfork is made on this processor is not written yet"
#endif
/* What INTERPOSE would say of a body in C. */
__attribute__((used)) static pid_t (*real_vfork)(void);
__attribute__((used)) static const char symbol_of_vfork[] = "vfork";
ENTRY(vfork, vfork);
SAME_AS(__vfork, vfork);
