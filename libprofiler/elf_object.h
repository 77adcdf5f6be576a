/* An ELF object, read as it lies in memory, without the loader: its dynamic section, its hash tables, its versions. `is_careful`: it may be
 * unmapped under our hands, so each word is fetched by a call that may fail. For any thread at any time; no lock, no allocation, no libc. */
#ifndef SLICEWISE_ELF_OBJECT_H
#define SLICEWISE_ELF_OBJECT_H

#include "peek.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define DYNAMIC_MAX 256
#define NAME_BYTES_MAX 96

/* An object, as its dynamic section tells of it. Objects that the loader mapped at the start stay for good. */
struct object {
    const struct link_map *map;
    uintptr_t base;
    const Elf64_Sym *symbols;
    const char *names;
    const uint32_t *gnu_hash, *hash;
    const uint16_t *versions;
    uint64_t own_name; /* where its name for others is among the names; 0: it has none */
};

/* What is looked for. */
struct search {
    const char *name;
    size_t bytes; /* of the name, its 0 included */
    uint32_t gnu_hash, hash;
    bool takes_old; /* also a version that new programs do not link to: the oldest, for there is but one as a rule */
};

/* What was found in one object. */
struct match {
    Elf64_Sym symbol;
    uint32_t index;
    unsigned version; /* 0: none yet */
};

/* A word of an object's: by a load where the object stays, else so that its end under our hands does no harm. */
#define FETCH(is_careful, from, to) ((is_careful) ? PEEK(from, &(to)) : ((to) = *(from), true))

/* Reads what the dynamic section says. Returns false where that is no object with symbols. */
bool object_read(bool is_careful, const struct link_map *map, uintptr_t base, const Elf64_Dyn *dynamic, struct object *object);
struct search object_search(const char *name);
bool object_find(bool is_careful, const struct object *object, const struct search *search, struct match *match);

/* Whether the string there is `name`, which has `bytes` bytes, the 0 included. */
bool object_is_name(bool is_careful, const char *there, const char *name, size_t bytes);

size_t object_text_length(const char *text);

/* Whether the path's last part is the name. */
bool object_is_file_named(const char *path, const char *name);

/* Whether the program itself names the object among what it needs. */
bool object_is_needed(const struct object *program, const struct object *object);

/* Part of libc: its symbols have libc's versions. */
bool object_is_libc(const struct object *object);

/* The object imports the name. Imports come before what the hash table covers. */
bool object_imports(const struct object *object, const char *name);

/* The name of the version that a symbol of the object has, as it defines or needs it; NULL: it has none. */
const char *object_version_of(const struct object *object, uint32_t index);

/* Which of the object's symbols is the name where it calls it or takes its address; 0: none. */
uint32_t object_import_of(const struct object *object, const struct search *search);

#endif
