/* How an exported name is entered: one comparison with what is known of the name, and a jump. Costs no register, so that a function of another
 * library that happens to have the name can be jumped to with its arguments, whatever they are. */
#ifndef SLICEWISE_ENTRY_H
#define SLICEWISE_ENTRY_H

#include "clock.h"
#include "sections.h"

#include <stdint.h>

/* A name's row, in a section of its own; without addresses, so that the loader has nothing to relocate. */
struct entry {
    int32_t name;    /* what follows: how far from here the name is, */
    int32_t state;   /* the word below, */
    int32_t wrapper; /* our body, */
    int32_t real;    /* its pointer to the function that it stands in front of, */
    int32_t body;    /* that function's name, where the body has several, */
    int32_t mark;    /* and what else is defined where the function is ours to wrap; 0: it is libc's */
};

/* Where an offset of a row leads. */
static inline void *entry_place(const int32_t *offset)
{
    return (void *)((uintptr_t)offset + (uintptr_t)(intptr_t)*offset);
}

/* Of the word: nobody has called the name yet, calls go to our body, or else the address of the function that they go to. */
enum { ENTRY_UNKNOWN = 0, ENTRY_OURS = 1 };

/* Decides it. Returns what to jump to. */
HIDDEN void *entry_decide(const struct entry *entry);

/* Decides a name, and where calls would go to our body has them go to `gate` instead, which calls it as `next`. */
HIDDEN void entry_gate(const char *name, void *gate, void **next);

/* All rows, as the linker puts them together. */
extern const struct entry __start_slicewise_entries[] HIDDEN, __stop_slicewise_entries[] HIDDEN;

#if defined(__x86_64__)
#define ENTRY_CODE(symbol, name) \
    "cmpq $1, .Lentry_state_" #symbol "(%rip)\n\tje wrapper_" #name "\n\t" \
    "lea .Lentry_of_" #symbol "(%rip), %r11\n\tjmp entry_slowly\n\t"
#elif defined(__aarch64__)
#define ENTRY_CODE(symbol, name) \
    "adrp x16, .Lentry_state_" #symbol "\n\tadd x16, x16, :lo12:.Lentry_state_" #symbol "\n\tldar x17, [x16]\n\t" \
    "cmp x17, #1\n\tb.ne 1f\n\tb wrapper_" #name "\n" \
    "1:\tadrp x16, .Lentry_of_" #symbol "\n\tadd x16, x16, :lo12:.Lentry_of_" #symbol "\n\tb entry_slowly\n\t"
#else
#error "how an entry is written on this processor is not known yet"
#endif

/* Decides an entry of the same source file before anybody has called it. */
#if defined(__x86_64__)
#define ENTRY_ADDRESS(symbol, entry) __asm__("lea .Lentry_of_" #symbol "(%%rip), %0" : "=r"(entry))
#else
#define ENTRY_ADDRESS(symbol, entry) __asm__("adrp %0, .Lentry_of_" #symbol "\n\tadd %0, %0, :lo12:.Lentry_of_" #symbol : "=r"(entry))
#endif
#define ENTRY_DECIDE(symbol)                 \
    do {                                     \
        const struct entry *of_##symbol;     \
        ENTRY_ADDRESS(symbol, of_##symbol);  \
        entry_decide(of_##symbol);           \
    } while (0)

#define ENTRY(symbol, name) ENTRY_WITH(symbol, name, "symbol_of_" #name, "0")
#define ENTRY_MARKED(symbol, mark) ENTRY_WITH(symbol, symbol, ".Lentry_name_" #symbol, #mark " - .")
#define ENTRY_WITH(symbol, name, body, mark) \
    __asm__(".pushsection .text\n\t.p2align 4\n\t.globl " #symbol "\n\t.type " #symbol ", %function\n" #symbol ":\n\t.cfi_startproc\n\t" \
            ENTRY_CODE(symbol, name) \
            ".cfi_endproc\n\t.size " #symbol ", .-" #symbol "\n\t.popsection\n\t" \
            ".pushsection " CALL_SECTION ",\"aw\",@nobits\n\t.p2align 3\n.Lentry_state_" #symbol ":\n\t.skip 8\n\t.popsection\n\t" \
            ".pushsection .rodata\n.Lentry_name_" #symbol ":\n\t.string \"" #symbol "\"\n\t.popsection\n\t" \
            ".pushsection slicewise_entries,\"a\"\n\t.p2align 2\n.Lentry_of_" #symbol ":\n\t" \
            ".long .Lentry_name_" #symbol " - .\n\t.long .Lentry_state_" #symbol " - .\n\t" \
            ".long wrapper_" #name " - .\n\t.long real_" #name " - .\n\t.long " body " - .\n\t.long " mark "\n\t.popsection")

#endif
