/* Libraries above MPI-IO and POSIX: every symbol of schema/libraries.def. For any thread that may call them. */
#include "io_library.h"
#include "interpose.h"
#include "words.h"

#define PARAMETERS_3_STEP PARAMETERS_2, float seconds
#define ARGUMENTS_3_STEP ARGUMENTS_2, seconds
#define PARAMETERS_4_STEP PARAMETERS_2, float seconds, word a3
#define ARGUMENTS_4_STEP ARGUMENTS_2, seconds, a3

/* Of each function its library. */
enum {
#define LIBRARY_FUNCTION(library, name) LIBRARY_OF_##name = LIBRARY_##library,
#include "libraries.def"
};

#define LIBRARY_MARK(name, symbol) static const char mark_##name[] __attribute__((used)) = #symbol;
#include "libraries.def"

/* clang-format off */
#define LIBRARY_SYMBOL(mark, name, symbol, arguments) \
    INTERPOSE_MARKED(word, symbol, mark_##mark, (PARAMETERS_##arguments)) \
    { \
        static struct reach *_Atomic reached; \
        struct library_call call; \
        call.library = LIBRARY_OF_##name; \
        call.function = FUNCTION_##name; \
        __typeof__(real_##symbol) real = (__typeof__(real))io_library_begin(&call, (void **)&real_##symbol, &reached, symbol_of_##symbol, \
                                                                            __builtin_frame_address(0), __builtin_return_address(0)); \
        word result = real(ARGUMENTS_##arguments); \
        io_library_end(&call); \
        return result; \
    }
#include "libraries.def"
