#include "unwind.h"

#include "module.h"
#include "peek.h"
#include "raw.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#if defined(__x86_64__)
enum { FRAME_POINTER = 6, STACK_POINTER = UNWIND_STACK_POINTER, IS_CALL_ON_STACK = 1 };
#define CODE_ADDRESS(address) (address)
#else
enum { FRAME_POINTER = 29, STACK_POINTER = UNWIND_STACK_POINTER, IS_CALL_ON_STACK = 0 };
#define CODE_ADDRESS(address) ((address) & 0xffffffffffff) /* without the signature that some processors put into it */
#endif

enum { ENTRY_BYTES_MAX = 1024, STATES_MAX = 8, OPERANDS_MAX = 16, WINDOW_BYTES = 1 << 10, KNOWN = 512, WAYS = 4, SAVED_MAX = 12 };

/* How a register of the calling function is found. */
enum how { HOW_SAME, HOW_UNDEFINED, HOW_AT_CFA, HOW_IS_CFA, HOW_REGISTER, HOW_AT_EXPRESSION, HOW_IS_EXPRESSION };

/* A piece of an unwind entry: lies in `entry_bytes` or `common_bytes`. */
struct part {
    const unsigned char *at, *end;
};

struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    struct part cfa_expression; /* empty: register and offset */
    unsigned char how[UNWIND_REGISTERS];
    int64_t offset[UNWIND_REGISTERS];
    struct part expression[UNWIND_REGISTERS];
};

struct entry {
    uint64_t begin, end; /* the code that it describes */
    uint64_t code_factor, return_register;
    int64_t data_factor;
    struct part first_program, program;
    unsigned char pointer_encoding;
    bool is_signal_frame, has_augmentation_data;
};

/* A row that is simple, as nearly all are: the CFA is a register and an offset, and what is saved lies at places from it. A line of the cache,
 * which most of them have left when the next sample is taken. */
struct known_row {
    uint64_t pc, function;
    int32_t cfa_offset;
    unsigned char cfa_register, return_register, saved;
    bool is_outermost; /* nobody called this */
    unsigned char saved_register[SAVED_MAX];
    int16_t saved_at[SAVED_MAX]; /* from the CFA, in words */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct known_row) == 64, "a row is a line of the cache");

/* All guarded by the engine's lock. */
static unsigned char entry_bytes[ENTRY_BYTES_MAX], common_bytes[ENTRY_BYTES_MAX];
static struct known_row known[KNOWN];
static struct {
    uint64_t begin, bytes;
    unsigned char byte[WINDOW_BYTES];
} window;
static struct {
    const unsigned char *begin; /* the walker's own frame */
    uint64_t bytes;             /* from there on a word may begin that lies whole on its page */
} own_stack;

/* A word of whichever type and alignment; between a function's variables, which sanitizers would not have it read. */
typedef uint64_t any_word __attribute__((aligned(1), may_alias));
#define NOT_CHECKED __attribute__((no_sanitize_address, no_sanitize_thread))

/* A word of the stack: of the page that we stand on at once, of all else by the window. */
NOT_CHECKED static bool stack_word(uint64_t address, uint64_t *word)
{
    uint64_t at = address - (uint64_t)(uintptr_t)own_stack.begin;
    if (own_stack.begin != NULL && at < own_stack.bytes) {
        *word = *(const any_word *)(own_stack.begin + at);
        return true;
    }
    if (address < window.begin || window.bytes < sizeof *word || address - window.begin > window.bytes - sizeof *word) {
        window.begin = address;
        window.bytes = peek_most(address, window.byte, sizeof window.byte);
        if (window.bytes < sizeof *word)
            return false;
    }
    memcpy(word, window.byte + (address - window.begin), sizeof *word);
    return true;
}

/* Numbers of an entry; beyond its end they are 0. */
static uint64_t take_bytes(struct part *part, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(part->end - part->at) < bytes) {
        part->at = part->end;
        return 0;
    }
    memcpy(&value, part->at, bytes);
    part->at += bytes;
    return value;
}

static int64_t take_signed(struct part *part, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(take_bytes(part, bytes) << shift) >> shift;
}

static uint64_t take_leb(struct part *part, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0;
    do {
        byte = (unsigned char)take_bytes(part, 1);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    } while ((byte & 0x80) != 0 && part->at < part->end);
    if (is_signed && (byte & 0x40) != 0 && shift < 64)
        value |= ~0ull << shift;
    return value;
}

static struct part take_part(struct part *part, uint64_t bytes)
{
    uint64_t room = (uint64_t)(part->end - part->at);
    struct part taken = { part->at, part->at + (bytes < room ? bytes : room) };
    part->at = taken.end;
    return taken;
}

enum { FORMAT_MASK = 0x0f, RELATION_MASK = 0x70, PC_RELATIVE = 0x10, IS_INDIRECT = 0x80, IS_OMITTED = 0xff };

/* A pointer in one of the ways that unwind tables have. `address`: where it lies in memory. */
static uint64_t take_pointer(struct part *part, unsigned char encoding, uint64_t address)
{
    static const signed char bytes_of[16] = { [0] = 8, [2] = 2, [3] = 4, [4] = 8, [9] = 1, [10] = -2, [11] = -4, [12] = -8 };
    signed char bytes = bytes_of[encoding & FORMAT_MASK];
    uint64_t value = bytes < 0    ? (uint64_t)take_signed(part, (unsigned)-bytes)
                     : bytes == 1 ? take_leb(part, true)
                                  : take_bytes(part, (unsigned)bytes);
    return (encoding & RELATION_MASK) == PC_RELATIVE ? value + address : value;
}

/* Reads an entry, whose length stands before it, into `bytes`. Returns what follows its length. */
static struct part read_entry(uint64_t address, unsigned char *bytes)
{
    uint64_t got = peek_most(address, bytes, ENTRY_BYTES_MAX);
    struct part whole = { bytes, bytes + got };
    uint64_t length = take_bytes(&whole, 4);
    return length == 0 || length >= 0xfffffff0 ? (struct part){ bytes, bytes } : take_part(&whole, length);
}

/* The common part that an entry refers to. */
static bool read_common(struct entry *entry, uint64_t address)
{
    struct part part = read_entry(address, common_bytes);
    if (part.at == part.end || take_bytes(&part, 4) != 0)
        return false;
    uint64_t version = take_bytes(&part, 1);
    const char *augmentation = (const char *)part.at;
    size_t letters = strnlen(augmentation, (size_t)(part.end - part.at));
    take_part(&part, letters + 1);
    entry->code_factor = take_leb(&part, false);
    entry->data_factor = (int64_t)take_leb(&part, true);
    entry->return_register = version == 1 ? take_bytes(&part, 1) : take_leb(&part, false);
    if (letters > 0 && augmentation[0] == 'z') {
        uint64_t bytes = take_leb(&part, false);
        struct part data = take_part(&part, bytes);
        entry->has_augmentation_data = true;
        for (size_t i = 1; i < letters; i++) {
            if (augmentation[i] == 'R')
                entry->pointer_encoding = (unsigned char)take_bytes(&data, 1);
            else if (augmentation[i] == 'S')
                entry->is_signal_frame = true;
            else if (augmentation[i] == 'P')
                take_pointer(&data, (unsigned char)take_bytes(&data, 1), 0);
            else if (augmentation[i] == 'L')
                take_bytes(&data, 1);
        }
    } else if (letters > 0)
        return false;
    entry->first_program = part;
    return entry->return_register < UNWIND_REGISTERS;
}

/* Of the sorted table; guarded by the engine's lock. */
enum { PAIRS_AT_ONCE = 512 };
static struct pair {
    int32_t code, entry;
} pairs[PAIRS_AT_ONCE];

static bool find_entry(const struct module *module, uint64_t pc, struct entry *entry)
{
    /* .eh_frame_hdr: version, three encodings, where .eh_frame is, how many entries, and a sorted table of (code, entry) from its own start. */
    struct {
        unsigned char version, pointer, count, table;
        int32_t eh_frame;
        uint32_t entries;
    } head;
    if (module->table == 0 || !peek(module->table, &head, sizeof head) || head.version != 1 || head.pointer != 0x1b || head.count != 0x03 ||
        head.table != 0x3b || head.entries == 0)
        return false;
    uint64_t first = module->table + sizeof head, low = 0, high = head.entries, at = 0;
    /* A look at one pair costs as much as one at hundreds of them: the last steps are made in a copy. */
    while (high - low > 1) {
        bool is_at_hand = high - low <= PAIRS_AT_ONCE;
        uint64_t middle = low + (high - low) / 2;
        at = is_at_hand ? low : middle;
        uint64_t count = is_at_hand ? high - low : 1;
        if (!peek(first + at * sizeof *pairs, pairs, count * sizeof *pairs))
            return false;
        do {
            if (module->table + (uint64_t)(int64_t)pairs[middle - at].code <= pc)
                low = middle;
            else
                high = middle;
            middle = low + (high - low) / 2;
        } while (is_at_hand && high - low > 1);
    }
    if (head.entries == 1 && !peek(first, pairs, sizeof *pairs))
        return false;
    uint64_t address = module->table + (uint64_t)(int64_t)pairs[low - at].entry;
    *entry = (struct entry){ 0 };
    struct part part = read_entry(address, entry_bytes);
    uint64_t common = take_bytes(&part, 4);
    if (common == 0 || !read_common(entry, address + 4 - common))
        return false;
    uint64_t here = address + (uint64_t)(part.at - entry_bytes);
    entry->begin = take_pointer(&part, entry->pointer_encoding, here);
    entry->end = entry->begin + take_pointer(&part, entry->pointer_encoding & FORMAT_MASK, 0);
    if (entry->has_augmentation_data)
        take_part(&part, take_leb(&part, false));
    entry->program = part;
    return pc >= entry->begin && pc < entry->end;
}

static void set_rule(struct row *row, uint64_t number, enum how how, int64_t offset)
{
    if (number >= UNWIND_REGISTERS)
        return;
    row->how[number] = (unsigned char)how;
    row->offset[number] = offset;
}

static void set_expression(struct row *row, uint64_t number, enum how how, struct part expression)
{
    if (number < UNWIND_REGISTERS)
        row->expression[number] = expression;
    set_rule(row, number, how, 0);
}

/* The rule that the register had at the function's first instruction. */
static void restore_rule(struct row *row, uint64_t number, const struct row *first)
{
    if (number < UNWIND_REGISTERS) {
        row->how[number] = first->how[number];
        row->offset[number] = first->offset[number];
        row->expression[number] = first->expression[number];
    }
}

/* An offset in the entry's units; of a corrupt entry any number. */
static int64_t take_factored(struct part *part, bool is_signed, const struct entry *entry)
{
    return (int64_t)(take_leb(part, is_signed) * (uint64_t)entry->data_factor);
}

/* Runs the entry's program up to `pc`. Returns false at an instruction that it does not know. */
static bool run(struct part part, const struct entry *entry, uint64_t pc, struct row *row, const struct row *first)
{
    static struct row states[STATES_MAX];
    unsigned depth = 0;
    uint64_t code = entry->begin, number;
    while (part.at < part.end) {
        unsigned char byte = (unsigned char)take_bytes(&part, 1);
        unsigned char low = byte & 0x3f;
        switch (byte & 0xc0) {
        case 0x40: /* advance_loc */ code += low * entry->code_factor; break;
        case 0x80: /* offset */ set_rule(row, low, HOW_AT_CFA, take_factored(&part, false, entry)); continue;
        case 0xc0: /* restore */ restore_rule(row, low, first); continue;
        default:
            switch (byte) {
            case 0x00: /* nop */ continue;
            case 0x01: /* set_loc */ return false;
            case 0x02: /* advance_loc1, 2, 4 */
            case 0x03:
            case 0x04: code += take_bytes(&part, 1u << (byte - 2)) * entry->code_factor; break;
            case 0x05: /* offset_extended */
                number = take_leb(&part, false);
                set_rule(row, number, HOW_AT_CFA, take_factored(&part, false, entry));
                continue;
            case 0x06: /* restore_extended */ restore_rule(row, take_leb(&part, false), first); continue;
            case 0x07: /* undefined */ set_rule(row, take_leb(&part, false), HOW_UNDEFINED, 0); continue;
            case 0x08: /* same_value */ set_rule(row, take_leb(&part, false), HOW_SAME, 0); continue;
            case 0x09: /* register */
                number = take_leb(&part, false);
                set_rule(row, number, HOW_REGISTER, (int64_t)take_leb(&part, false));
                continue;
            case 0x0a: /* remember_state */
                if (depth == STATES_MAX)
                    return false;
                states[depth++] = *row;
                continue;
            case 0x0b: /* restore_state */
                if (depth == 0)
                    return false;
                *row = states[--depth];
                continue;
            case 0x0c: /* def_cfa */
            case 0x12: /* def_cfa_sf */
                row->cfa_register = take_leb(&part, false);
                row->cfa_offset = byte == 0x0c ? (int64_t)take_leb(&part, false) : take_factored(&part, true, entry);
                row->cfa_expression = (struct part){ 0 };
                continue;
            case 0x0d: /* def_cfa_register */
                row->cfa_register = take_leb(&part, false);
                row->cfa_expression = (struct part){ 0 };
                continue;
            case 0x0e: /* def_cfa_offset */ row->cfa_offset = (int64_t)take_leb(&part, false); continue;
            case 0x13: /* def_cfa_offset_sf */ row->cfa_offset = take_factored(&part, true, entry); continue;
            case 0x0f: /* def_cfa_expression */ row->cfa_expression = take_part(&part, take_leb(&part, false)); continue;
            case 0x10: /* expression */
            case 0x16: /* val_expression */
                number = take_leb(&part, false);
                set_expression(row, number, byte == 0x10 ? HOW_AT_EXPRESSION : HOW_IS_EXPRESSION, take_part(&part, take_leb(&part, false)));
                continue;
            case 0x11: /* offset_extended_sf */
                number = take_leb(&part, false);
                set_rule(row, number, HOW_AT_CFA, take_factored(&part, true, entry));
                continue;
            case 0x14: /* val_offset */
                number = take_leb(&part, false);
                set_rule(row, number, HOW_IS_CFA, take_factored(&part, false, entry));
                continue;
            case 0x15: /* val_offset_sf */
                number = take_leb(&part, false);
                set_rule(row, number, HOW_IS_CFA, take_factored(&part, true, entry));
                continue;
            case 0x2d: /* the return address is signed, or a window is saved */ continue;
            case 0x2e: /* GNU_args_size */ take_leb(&part, false); continue;
            default: return false;
            }
        }
        if (code > pc)
            return true;
    }
    return true;
}

/* The operations that compilers, linkers and libc's signal trampolines use. */
static bool evaluate(struct part part, const struct unwind_state *state, uint64_t first, uint64_t *result)
{
    uint64_t stack[OPERANDS_MAX] = { first };
    unsigned depth = 1;
    while (part.at < part.end) {
        unsigned char byte = (unsigned char)take_bytes(&part, 1);
        if (depth == OPERANDS_MAX)
            return false;
        uint64_t *top = &stack[depth - 1];
        if (byte >= 0x30 && byte <= 0x4f) /* lit */
            stack[depth++] = byte - 0x30;
        else if (byte >= 0x70 && byte <= 0x8f) { /* breg */
            unsigned number = byte - 0x70u;
            stack[depth++] = (number == 16 && STACK_POINTER == 7 ? state->pc : state->value[number]) + take_leb(&part, true);
        } else if (byte >= 0x08 && byte <= 0x0f) { /* const1u, 1s, 2u, ... 8s */
            unsigned bytes = 1u << ((byte - 8u) / 2);
            stack[depth++] = byte % 2 == 0 ? take_bytes(&part, bytes) : (uint64_t)take_signed(&part, bytes);
        } else if (byte == 0x10 || byte == 0x11) /* constu, consts */
            stack[depth++] = take_leb(&part, byte == 0x11);
        else if (byte == 0x12) /* dup */
            stack[depth++] = *top;
        else if (byte == 0x06) { /* deref */
            if (!stack_word(*top, top))
                return false;
        } else if (byte == 0x23) /* plus_uconst */
            *top += take_leb(&part, false);
        else {
            if (depth < 2)
                return false;
            uint64_t right = *top, *left = &stack[--depth - 1];
            switch (byte) {
            case 0x1a: *left &= right; break;
            case 0x1c: *left -= right; break;
            case 0x1e: *left *= right; break;
            case 0x21: *left |= right; break;
            case 0x22: *left += right; break;
            case 0x24: *left <<= right & 63; break;
            case 0x25: *left >>= right & 63; break;
            case 0x2a: *left = (int64_t)*left >= (int64_t)right; break;
            case 0x2b: *left = (int64_t)*left > (int64_t)right; break;
            default: return false;
            }
        }
    }
    *result = stack[depth - 1];
    return true;
}

static bool apply(const struct row *row, uint64_t return_register, struct unwind_state *state)
{
    uint64_t cfa;
    if (row->cfa_expression.at != row->cfa_expression.end) {
        if (!evaluate(row->cfa_expression, state, 0, &cfa))
            return false;
    } else if (row->cfa_register < UNWIND_REGISTERS)
        cfa = state->value[row->cfa_register] + (uint64_t)row->cfa_offset;
    else
        return false;
    struct unwind_state before = *state;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
        uint64_t address = cfa + (uint64_t)row->offset[i];
        switch (row->how[i]) {
        case HOW_UNDEFINED: state->value[i] = 0; break;
        case HOW_AT_EXPRESSION:
            if (!evaluate(row->expression[i], &before, cfa, &address))
                return false;
            /* fall through */
        case HOW_AT_CFA:
            if (!stack_word(address, &state->value[i]))
                return false;
            break;
        case HOW_IS_CFA: state->value[i] = address; break;
        case HOW_REGISTER: state->value[i] = (uint64_t)row->offset[i] < UNWIND_REGISTERS ? before.value[row->offset[i]] : 0; break;
        case HOW_IS_EXPRESSION:
            if (!evaluate(row->expression[i], &before, cfa, &state->value[i]))
                return false;
            break;
        default: break;
        }
    }
    if (row->how[STACK_POINTER] == HOW_SAME)
        state->value[STACK_POINTER] = cfa;
    state->pc = CODE_ADDRESS(state->value[return_register]);
    return row->how[return_register] != HOW_UNDEFINED;
}

/* Some places have a hash in common: two frames of one stack must not drive each other out at every sample. */
static struct known_row *places_of(uint64_t pc)
{
    return &known[WAYS * ((pc * 0x9e3779b97f4a7c15ull) >> 57)];
}
_Static_assert(KNOWN == WAYS << (64 - 57), "the hash has as many values as there are sets of places");

static const struct known_row *find_known(uint64_t pc)
{
    const struct known_row *places = places_of(pc);
    for (unsigned way = 0; way < WAYS; way++)
        if (places[way].pc == pc)
            return &places[way];
    return NULL;
}

static void enter_known(const struct known_row *simple)
{
    static unsigned turn;
    places_of(simple->pc)[turn++ % WAYS] = *simple;
}

static void remember(const struct row *row, const struct entry *entry, uint64_t pc)
{
    struct known_row simple = { .pc = pc, .function = entry->begin, .return_register = (unsigned char)entry->return_register };
    simple.is_outermost = row->how[entry->return_register] == HOW_UNDEFINED;
    if (simple.is_outermost) {
        enter_known(&simple);
        return;
    }
    if (row->cfa_expression.at != row->cfa_expression.end || row->cfa_register >= UNWIND_REGISTERS || row->cfa_offset != (int32_t)row->cfa_offset ||
        entry->is_signal_frame)
        return;
    simple.cfa_register = (unsigned char)row->cfa_register;
    simple.cfa_offset = (int32_t)row->cfa_offset;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
        if (row->how[i] == HOW_SAME)
            continue;
        if (row->how[i] != HOW_AT_CFA || row->offset[i] % 8 != 0 || row->offset[i] / 8 != (int16_t)(row->offset[i] / 8) || simple.saved == SAVED_MAX)
            return;
        simple.saved_register[simple.saved] = (unsigned char)i;
        simple.saved_at[simple.saved++] = (int16_t)(row->offset[i] / 8);
    }
    if (row->how[entry->return_register] == HOW_AT_CFA)
        enter_known(&simple);
}

static bool apply_known(const struct known_row *simple, struct unwind_state *state)
{
    uint64_t cfa = state->value[simple->cfa_register] + (uint64_t)(int64_t)simple->cfa_offset;
    state->value[STACK_POINTER] = cfa;
    for (unsigned i = 0; i < simple->saved; i++)
        if (!stack_word(cfa + (uint64_t)(8 * (int64_t)simple->saved_at[i]), &state->value[simple->saved_register[i]]))
            return false;
    state->pc = CODE_ADDRESS(state->value[simple->return_register]);
    return true;
}

/* Code without unwind tables, such as a JIT compiler's: if it keeps a frame pointer, that leads on. */
static bool follow_frame_pointer(struct unwind_state *state)
{
    uint64_t frame = state->value[FRAME_POINTER], caller, pc;
    if (frame % 8 != 0 || frame < state->value[STACK_POINTER] || !stack_word(frame, &caller) || !stack_word(frame + 8, &pc))
        return false;
    state->value[FRAME_POINTER] = caller;
    state->value[STACK_POINTER] = frame + 16;
    state->pc = CODE_ADDRESS(pc);
    return module_of(state->pc) != NULL;
}

#if defined(__aarch64__)
/* The kernel's code to which a signal handler returns has no unwind entry on this processor. It is known by what it does, a system call, and what was
 * interrupted by where the kernel has put its registers. */
static bool leave_handler(struct unwind_state *state)
{
    static const uint32_t sigreturn[] = { 0xd2801168, 0xd4000001 }; /* mov x8, 139; svc 0 */
    enum { GENERAL = 31, STACK_AND_PLACE = 2 };
    uint32_t code[sizeof sigreturn / sizeof *sigreturn];
    uint64_t registers[GENERAL + STACK_AND_PLACE];
    uint64_t from = state->value[STACK_POINTER] + sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs);
    if (!peek(state->pc, code, sizeof code) || memcmp(code, sigreturn, sizeof code) != 0 || !peek(from, registers, sizeof registers))
        return false;
    memcpy(state->value, registers, (GENERAL + 1) * sizeof *registers);
    state->pc = registers[GENERAL + 1];
    state->is_exact = true;
    return true;
}
#else
static bool leave_handler(struct unwind_state *state)
{
    (void)state; /* libc's own code, or the kernel's, with an unwind entry */
    return false;
}
#endif

/* One frame outwards. Says where the function of `pc` begins. Returns false at the end of the stack. */
static bool step(struct unwind_state *state, uint64_t pc, uint64_t *function)
{
    static struct row row, first;
    const struct known_row *simple = find_known(pc);
    *function = 0;
    if (simple != NULL) {
        *function = simple->function;
        state->is_exact = false;
        return !simple->is_outermost && apply_known(simple, state);
    }
    const struct module *module = module_of(pc);
    struct entry entry;
    if (module == NULL)
        return leave_handler(state);
    if (!find_entry(module, pc, &entry)) {
        if (leave_handler(state))
            return true;
        /* A return address that no call wrote, such as that of a context's first function: it is where its own entry begins. */
        if (!state->is_exact && find_entry(module, pc + 1, &entry) && entry.begin == pc + 1) {
            *function = entry.begin;
            return false;
        }
        state->is_exact = false;
        return follow_frame_pointer(state);
    }
    *function = entry.begin;
    memset(&row, 0, sizeof row);
    if (!run(entry.first_program, &entry, UINT64_MAX, &row, &row))
        return false;
    first = row;
    if (!run(entry.program, &entry, pc, &row, &first))
        return false;
    state->is_exact = entry.is_signal_frame;
    remember(&row, &entry, pc);
    return apply(&row, entry.return_register, state);
}

unsigned unwind(struct unwind_state *state, struct unwind_frame *frames, unsigned most)
{
    unsigned count = 0;
    window.bytes = 0;
    own_stack.begin = __builtin_frame_address(0);
    own_stack.bytes = PEEK_PAGE_BYTES - (uintptr_t)own_stack.begin % PEEK_PAGE_BYTES - (sizeof(uint64_t) - 1);
    state->is_exact = true;
    while (count < most && state->pc != 0) {
        uint64_t pc = state->is_exact ? state->pc : state->pc - 1, stack = state->value[STACK_POINTER];
        bool may_stay = !IS_CALL_ON_STACK && state->is_exact; /* a function that calls nobody may have no stack */
        frames[count].pc = pc;
        bool goes_on = step(state, pc, &frames[count].function);
        bool may_jump = state->is_exact; /* a handler may have a stack of its own */
        count++;
        if (!goes_on || (state->value[STACK_POINTER] <= stack && !may_jump && !(may_stay && state->value[STACK_POINTER] == stack)))
            break;
    }
    return count;
}

void unwind_forget(void)
{
    memset(known, 0, sizeof known);
    module_forget();
}
