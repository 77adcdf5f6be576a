/* Libraries above MPI-IO and POSIX: every symbol of schema/libraries.def. For any thread that may call them. A wrapper hands on which symbol it is,
 * and what it does is in one place: there are more than 500. */
#include "io_library.h"
#include "interpose.h"
#include "words.h"

#ifndef __clang__
#pragma GCC optimize("O2") /* whatever the rest is compiled with: a call in the last place is a jump then, and the return address the caller's */
#endif

/* The functions in front of which a symbol stands. */
struct found {
    void *real;
    struct reach *_Atomic reached;
};

/* A symbol's row, and above the bits of any address the function that it counts as. */
#define FUNCTION_BIT 48
#define SYMBOL(symbol, name) \
    __extension__({ \
        const struct entry *of_symbol; \
        ENTRY_ADDRESS(symbol, of_symbol); \
        (word) of_symbol | (word)FUNCTION_##name << FUNCTION_BIT; \
    })

static void *begin(struct library_call *call, word symbol, const void *frame, const void *returns, const void *caller)
{
    const struct entry *entry = (const struct entry *)(symbol & (((word)1 << FUNCTION_BIT) - 1));
    struct found *found = entry_place(&entry->real);
    call->function = (uint16_t)(symbol >> FUNCTION_BIT);
    return io_library_begin(call, &found->real, &found->reached, entry_place(&entry->name), frame, returns, caller);
}
#define BEGIN(symbol, caller) begin(&call, symbol, __builtin_frame_address(0), __builtin_return_address(0), caller)

/* Words that a function does not take it does not look at, either. */
__attribute__((noinline)) static word through_5(word a1, word a2, word a3, word a4, word a5, word symbol)
{
    struct library_call call;
    word (*real)(word, word, word, word, word) = BEGIN(symbol, __builtin_return_address(0));
    word result = real(a1, a2, a3, a4, a5);
    io_library_end(&call);
    return result;
}

__attribute__((noinline)) static word through_9(word a1, word a2, word a3, word a4, word a5, word symbol, word a6, word a7, word a8, word a9,
                                                const void *caller)
{
    struct library_call call;
    word (*real)(word, word, word, word, word, word, word, word, word) = BEGIN(symbol, caller);
    word result = real(a1, a2, a3, a4, a5, a6, a7, a8, a9);
    io_library_end(&call);
    return result;
}

#define PARAMETERS_3_STEP PARAMETERS_2, float seconds
#define PARAMETERS_4_STEP PARAMETERS_2, float seconds, word a3
#define STEP(symbol, type, ...) \
    struct library_call call; \
    word(*real) type = BEGIN(symbol, __builtin_return_address(0)); \
    word result = real(__VA_ARGS__); \
    io_library_end(&call); \
    return result

#define THROUGH_1(symbol) return through_5(a1, 0, 0, 0, 0, symbol)
#define THROUGH_2(symbol) return through_5(a1, a2, 0, 0, 0, symbol)
#define THROUGH_3(symbol) return through_5(a1, a2, a3, 0, 0, symbol)
#define THROUGH_4(symbol) return through_5(a1, a2, a3, a4, 0, symbol)
#define THROUGH_5(symbol) return through_5(a1, a2, a3, a4, a5, symbol)
#define THROUGH_6(symbol) return through_9(a1, a2, a3, a4, a5, symbol, a6, 0, 0, 0, __builtin_return_address(0))
#define THROUGH_7(symbol) return through_9(a1, a2, a3, a4, a5, symbol, a6, a7, 0, 0, __builtin_return_address(0))
#define THROUGH_8(symbol) return through_9(a1, a2, a3, a4, a5, symbol, a6, a7, a8, 0, __builtin_return_address(0))
#define THROUGH_9(symbol) return through_9(a1, a2, a3, a4, a5, symbol, a6, a7, a8, a9, __builtin_return_address(0))
#define THROUGH_3_STEP(symbol) STEP(symbol, (PARAMETERS_3_STEP), a1, a2, seconds)
#define THROUGH_4_STEP(symbol) STEP(symbol, (PARAMETERS_4_STEP), a1, a2, seconds, a3)

#define LIBRARY_MARK(name, symbol) static const char mark_##name[] __attribute__((used)) = #symbol;
#include "libraries.def"

#define LIBRARY_SYMBOL(mark, name, symbol, arguments) \
    __attribute__((used)) static struct found real_##symbol; \
    HIDDEN word wrapper_##symbol(PARAMETERS_##arguments); \
    ENTRY_MARKED(symbol, mark_##mark); \
    HIDDEN word wrapper_##symbol(PARAMETERS_##arguments) \
    { \
        THROUGH_##arguments(SYMBOL(symbol, name)); \
    }
#include "libraries.def"
