/* Linkage of an interposed function; no logic. INTERPOSE defines and exports it, REAL(name) is the function that it stands in front of,
 * SAME_AS exports another name for the same body (an assembler name, so that headers' own declarations of it do not matter).
 *
 * What is exported is an entry (entry.c): at a name's first call it is decided whether the function that the caller would have reached
 * without us is libc's. If so, calls go to our body; if not, to that function, with all registers as they came. */
#ifndef SLICEWISE_INTERPOSE_H
#define SLICEWISE_INTERPOSE_H

#include "engine.h"
#include "entry.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define INTERPOSE(result, name, parameters) INTERPOSE_SYMBOL(result, name, name, parameters)

/* Where the headers give a C name another symbol. */
#define INTERPOSE_SYMBOL(result, name, symbol, parameters) \
    __attribute__((used)) static CALL_DATA result(*real_##name) parameters; \
    __attribute__((used)) static const char symbol_of_##name[] = #symbol; \
    HIDDEN result wrapper_##name parameters; \
    ENTRY(symbol, name); \
    HIDDEN result wrapper_##name parameters

/* A function of a library other than libc: without an entry. */
#define INTERPOSE_LIBRARY(result, name, parameters) \
    static result(*real_##name) parameters __attribute__((unused)); \
    static const char symbol_of_##name[] __attribute__((unused)) = #name; \
    EXPORT result name parameters; \
    EXPORT result name parameters

#define REAL(name) \
    (__builtin_expect(real_##name != NULL, 1) ? real_##name : (__typeof__(real_##name))look_up((void **)&real_##name, symbol_of_##name))

/* The same in the body of INTERPOSE(name) itself, which is not entered before the function is known. */
#define NEXT(name) (*real_##name)

/* Another wrapper's body, called as such: its entry might lead elsewhere. What NEXT is there may not be known yet. */
#define OWN(name) __extension__({ (void)REAL(name); wrapper_##name; })

/* A wrapper with the usual body: the call is timed, and counted by call_HOW(&call, ...), where `result` is what the function returned. */
#define COUNTED(operation, type, name, parameters, arguments, how, ...) \
    INTERPOSE(type, name, parameters) \
    { \
        struct call call = call_begin(OP_##operation); \
        type result = NEXT(name) arguments; \
        call_end(&call); \
        call_##how(&call, __VA_ARGS__); \
        call_close(&call); \
        return result; \
    }

/* The name that a call was given which has since written `bytes` to `to` (-1: it failed): another one where it has written over the name, as
 * readlink(path, path, room) does. */
static inline const char *name_apart(const char *path, const void *to, long bytes)
{
    uintptr_t name = (uintptr_t)path, begin = (uintptr_t)to;
    if (bytes <= 0 || path == NULL || begin + (uintptr_t)bytes <= name || (name < begin && strnlen(path, begin - name) < begin - name))
        return path;
    return "";
}

/* REAL for a library's function that a plug-in, loaded RTLD_LOCAL, may have brought along out of everybody's scope. */
#define REAL_NEAR(name) \
    (__builtin_expect(real_##name != NULL, 1) \
         ? real_##name \
         : (__typeof__(real_##name))engine_real_near((void **)&real_##name, symbol_of_##name, __builtin_return_address(0)))

static inline void *look_up(void **real, const char *name)
{
    return *real = engine_real(name);
}

#define SAME_AS(alias, name) ENTRY(alias, name)

/* The environment of a program about to be started, by enum reason; a small one on the stack, for no memory is to be mapped for each. CARRIED_END when the
 * call that got it has returned. Needs <alloca.h> and <string.h>. */
#define CARRIED(envp, reason) \
    __extension__({ \
        char *const *given = (envp); \
        enum handed_on handed_on = handed_on_to(reason); \
        size_t room = environment_room(given, handed_on); \
        environment_carried(given, handed_on, room == 0                        ? NULL \
                                              : room > ENVIRONMENT_STACK_BYTES ? environment_map(room) \
                                                                               : memset(alloca(room), 0, room)); \
    })
#define CARRIED_END(envp, carried) environment_carried_end(envp, carried)

/* The body of a form with `...`: that of the form with va_list. Needs <stdarg.h>. */
#define FORWARD(last, ...) \
    va_list arguments; \
    va_start(arguments, last); \
    int result = __VA_ARGS__; \
    va_end(arguments); \
    return result

#endif
