/* Symbols, found without the loader: its list of objects and their hash tables are read as they lie in memory. The loader's own look-up takes
 * its lock and, where a symbol is missing, allocates the text of an error; a program that calls us from within its allocator, or from a
 * thread that a constructor waits for, would wait for itself. For any thread at any time; no lock, no allocation, no call of libc. */
#ifndef SLICEWISE_SYMBOL_H
#define SLICEWISE_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

struct symbol {
    void *address;   /* NULL: there is none */
    bool is_foreign; /* an object's that neither is libc's nor forwards to libc: its own function, of whatever prototype */
    bool is_later;   /* of an object that was opened after the start, and that may be closed */
};

/* What a call from anywhere would have reached without us: the first definition in the objects after ours, in the order in which the loader
 * searches them. Where none of those has one, an object that was opened later may: such a definition is foreign. */
struct symbol symbol_next(const char *name);

/* The function that a wrapper stands in front of: the first such definition that is not foreign, or NULL. */
void *symbol_real(const char *name);

/* libc's own function `other`, where `real` is what libc itself calls `name`; else NULL. */
void *symbol_of_libc(const char *name, const void *real, const char *other);

/* As symbol_real, or else a later object's definition, the one of the object that `caller` lies in first. */
struct symbol symbol_real_near(const char *name, const void *caller);

/* The next definition of `name`: foreign if the object that has it does not define `mark` as well. Of objects that were opened later none is. */
struct symbol symbol_next_marked(const char *name, const char *mark);

/* Addresses of one object. */
struct symbol_range {
    uintptr_t begin, end;
};

/* What a call from `caller` would have reached without us: as symbol_real_near, but where there are several later objects that have the name, the
 * one that the caller's object needs, itself or by others. `beside`: what another function of the same library was found to be for the same
 * caller, or NULL. `callers`: whom it holds for as well, until another object is opened. Asks the loader. */
struct symbol symbol_reached(const char *name, const void *caller, const void *beside, struct symbol_range *callers);

/* From the program on: in what was loaded at the start, and then, unless `is_at_start`, in what was opened later. */
void *symbol_find(const char *name, bool is_at_start);

/* Else the program would find an error of ours, when it asks the loader whether a call of its own failed. */
void symbol_forget_error(void);

/* The path of this library, as the loader has it; NULL where that cannot be told. */
const char *symbol_own_path(void);

/* From here on objects are looked at without system calls: a filter may answer one by a signal. */
void symbol_avoid_system_calls(void);

/* Whether the program runs on glibc. Elsewhere nothing of libc's is as we know it, and we stand down. */
bool symbol_has_glibc(void);

#endif
