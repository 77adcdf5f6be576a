/* Linkage of an interposed function; no logic. INTERPOSE defines and exports it, REAL(name) is the function that it stands in front of,
 * SAME_AS exports another name for the same body (an assembler name, so that headers' own declarations of it do not matter). */
#ifndef SLICEWISE_INTERPOSE_H
#define SLICEWISE_INTERPOSE_H

#include "engine.h"

#define EXPORT __attribute__((visibility("default")))

#define INTERPOSE(result, name, parameters) \
    static result(*real_##name) parameters __attribute__((unused)); \
    static const char symbol_of_##name[] __attribute__((unused)) = #name; \
    EXPORT result name parameters; \
    EXPORT result name parameters

/* Where the headers give a C name another symbol. */
#define INTERPOSE_SYMBOL(result, name, symbol, parameters) \
    static result(*real_##name) parameters __attribute__((unused)); \
    static const char symbol_of_##name[] __attribute__((unused)) = #symbol; \
    EXPORT result name parameters __asm__(#symbol); \
    EXPORT result name parameters

#define REAL(name) \
    (__builtin_expect(real_##name != NULL, 1) ? real_##name : (__typeof__(real_##name))look_up((void **)&real_##name, symbol_of_##name))

/* The same without looking it up, where it is found already: the call can be the last that a function does. */
#define IS_FOUND(name) (real_##name != NULL)
#define FOUND(name) (*real_##name)

/* The same as REAL for a library's function that a plug-in, loaded RTLD_LOCAL, may have brought along out of everybody's scope. */
#define REAL_NEAR(name) \
    (__builtin_expect(real_##name != NULL, 1) \
         ? real_##name \
         : (__typeof__(real_##name))look_up_near((void **)&real_##name, symbol_of_##name, __builtin_return_address(0)))

static inline void *look_up_near(void **real, const char *name, const void *caller)
{
    return *real = engine_real_near(name, caller);
}

static inline void *look_up(void **real, const char *name)
{
    return *real = engine_real(name);
}

#define SAME_AS(alias, name) \
    __asm__(".globl " #alias "\n\t.set " #alias ", " #name "\n\t.type " #alias ", @function")

/* The environment of a program about to be started; on the stack, since a vforked child must not allocate. Needs <alloca.h>. */
#define CARRIED(envp) \
    __extension__({ \
        char *const *given = (envp); \
        size_t room = environment_room(given); \
        environment_carried(given, room > 0 ? alloca(room) : NULL); \
    })

/* The body of a form with `...`: that of the form with va_list. Needs <stdarg.h>. */
#define FORWARD(last, ...) \
    va_list arguments; \
    va_start(arguments, last); \
    int result = __VA_ARGS__; \
    va_end(arguments); \
    return result

#endif
