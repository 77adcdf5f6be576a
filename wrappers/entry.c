#include "entry.h"

#include "computing.h"
#include "engine.h"
#include "symbol.h"

#include <stdatomic.h>

#if !defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#pragma GCC target("general-regs-only") /* the caller's vector registers are saved in their lower parts alone */
#endif

/* All that may hold an argument is kept: also what a variadic function looks at (al), a static chain (r10), and where a result is to lie. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n\t.p2align 4\n\t.type entry_slowly, @function\n\t.hidden entry_slowly\n\t.globl entry_slowly\nentry_slowly:\n\t"
        ".cfi_startproc\n\t"
        "sub $200, %rsp\n\t.cfi_adjust_cfa_offset 200\n\t"
        "mov %rax, (%rsp)\n\tmov %rdi, 8(%rsp)\n\tmov %rsi, 16(%rsp)\n\tmov %rdx, 24(%rsp)\n\t"
        "mov %rcx, 32(%rsp)\n\tmov %r8, 40(%rsp)\n\tmov %r9, 48(%rsp)\n\tmov %r10, 56(%rsp)\n\t"
        "movups %xmm0, 64(%rsp)\n\tmovups %xmm1, 80(%rsp)\n\tmovups %xmm2, 96(%rsp)\n\tmovups %xmm3, 112(%rsp)\n\t"
        "movups %xmm4, 128(%rsp)\n\tmovups %xmm5, 144(%rsp)\n\tmovups %xmm6, 160(%rsp)\n\tmovups %xmm7, 176(%rsp)\n\t"
        "mov %r11, %rdi\n\tcall entry_decide\n\tmov %rax, %r11\n\t"
        "movups 64(%rsp), %xmm0\n\tmovups 80(%rsp), %xmm1\n\tmovups 96(%rsp), %xmm2\n\tmovups 112(%rsp), %xmm3\n\t"
        "movups 128(%rsp), %xmm4\n\tmovups 144(%rsp), %xmm5\n\tmovups 160(%rsp), %xmm6\n\tmovups 176(%rsp), %xmm7\n\t"
        "mov (%rsp), %rax\n\tmov 8(%rsp), %rdi\n\tmov 16(%rsp), %rsi\n\tmov 24(%rsp), %rdx\n\t"
        "mov 32(%rsp), %rcx\n\tmov 40(%rsp), %r8\n\tmov 48(%rsp), %r9\n\tmov 56(%rsp), %r10\n\t"
        "add $200, %rsp\n\t.cfi_adjust_cfa_offset -200\n\t"
        "jmp *%r11\n\t.cfi_endproc\n\t.size entry_slowly, .-entry_slowly\n\t.popsection");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n\t.p2align 4\n\t.type entry_slowly, %function\n\t.hidden entry_slowly\n\t.globl entry_slowly\nentry_slowly:\n\t"
        ".cfi_startproc\n\t"
        "stp x29, x30, [sp, #-224]!\n\t.cfi_def_cfa_offset 224\n\t.cfi_offset x29, -224\n\t.cfi_offset x30, -216\n\tmov x29, sp\n\t"
        "stp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n\tstp x6, x7, [sp, #64]\n\tstr x8, [sp, #80]\n\t"
        "stp q0, q1, [sp, #96]\n\tstp q2, q3, [sp, #128]\n\tstp q4, q5, [sp, #160]\n\tstp q6, q7, [sp, #192]\n\t"
        "mov x0, x16\n\tbl entry_decide\n\tmov x16, x0\n\t"
        "ldp q0, q1, [sp, #96]\n\tldp q2, q3, [sp, #128]\n\tldp q4, q5, [sp, #160]\n\tldp q6, q7, [sp, #192]\n\t"
        "ldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n\tldp x4, x5, [sp, #48]\n\tldp x6, x7, [sp, #64]\n\tldr x8, [sp, #80]\n\t"
        "ldp x29, x30, [sp], #224\n\t.cfi_restore x29\n\t.cfi_restore x30\n\t.cfi_def_cfa_offset 0\n\t"
        "br x16\n\t.cfi_endproc\n\t.size entry_slowly, .-entry_slowly\n\t.popsection");
#endif

static bool is_same(const char *one, const char *other)
{
    while (*one != '\0' && *one == *other) {
        one++;
        other++;
    }
    return *one == *other;
}

void *entry_decide(const struct entry *entry)
{
    _Atomic uintptr_t *state = entry_place(&entry->state);
    void **real = entry_place(&entry->real);
    uintptr_t known = atomic_load_explicit(state, memory_order_acquire);
    if (known > ENTRY_OURS)
        return (void *)known;
    if (known == ENTRY_UNKNOWN) {
        engine_prepare();
        errno_find();
        int saved_errno = errno_now();
        const char *name = entry_place(&entry->name);
        struct symbol next = entry->mark != 0 ? symbol_next_marked(name, entry_place(&entry->mark)) : symbol_next(name);
        errno_put(saved_errno);
        if (next.is_foreign && next.address != NULL) {
            if (!next.is_later)
                atomic_store_explicit(state, (uintptr_t)next.address, memory_order_release);
            return next.address;
        }
        if (*real == NULL && entry->mark == 0) /* else its body looks for it */
            *real = next.address != NULL && is_same(name, entry_place(&entry->body)) ? next.address : engine_real(entry_place(&entry->body));
        atomic_store_explicit(state, ENTRY_OURS, memory_order_release);
    }
    return entry_place(&entry->wrapper);
}

bool entry_is_body(uint64_t function)
{
    for (const struct entry *entry = __start_slicewise_entries; entry < __stop_slicewise_entries; entry++)
        if ((uintptr_t)entry_place(&entry->wrapper) == function && entry->mark == 0)
            return true;
    return false;
}

void entry_gate(const char *name, void *gate, void **next)
{
    const struct entry *entry = __start_slicewise_entries;
    while (entry < __stop_slicewise_entries && !is_same(entry_place(&entry->name), name))
        entry++;
    if (entry == __stop_slicewise_entries)
        return;
    entry_decide(entry);
    void **real = entry_place(&entry->real);
    if (*real == NULL) /* the name is another library's, and the gate in front of another name may call its wrapper */
        *real = engine_real(entry_place(&entry->body));
    *next = entry_place(&entry->wrapper);
    uintptr_t ours = ENTRY_OURS;
    atomic_compare_exchange_strong((_Atomic uintptr_t *)entry_place(&entry->state), &ours, (uintptr_t)gate);
}
