#include "symbol.h"

#include "peek.h"
#include "sections.h"

#include <dlfcn.h>
#pragma weak dlsym /* before 2.34 glibc has it in a library of its own, which a program that opens no library may lack */
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

/* The arguments of the call that a look-up delays lie in vector registers whose upper parts nobody saves. */
#if !defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#pragma GCC target("general-regs-only")
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

/* More objects than these at a program's start are looked at as if they had been opened later. */
#define OBJECTS_MAX 512
#define FIRST_OBJECTS 8
#define DYNAMIC_MAX 256
#define DYNAMIC_AT_ONCE 16
#define LATER_OBJECTS_MAX 4096
#define LATER_PATH_MAX 1024
#define NEEDED_MAX 64
#define NAME_BYTES_MAX 96
/* So many of our names, and the loader's dlsym to find the next of them: that is a tool like us. One or two are a library's own words. */
#define FORWARDED_NAMES 4
#define HIDDEN_VERSION 0x8000

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

extern __typeof__(dlvsym) dlvsym __attribute__((weak)); /* musl has none */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern struct r_debug _r_debug __attribute__((weak));

/* The first ones apart, where memory is touched anyway: most programs have no more. */
static START_DATA struct object first_at_start[FIRST_OBJECTS];
static struct object more_at_start[OBJECTS_MAX - FIRST_OBJECTS];
static START_DATA struct {
    _Atomic unsigned state; /* of the next four: how far they are */
    unsigned count;         /* of those at the start, in the order in which the loader searches them */
    unsigned ours;
    unsigned preloaded_end; /* the first object that the program needs, and that was not preloaded */
    bool is_usable;
} loaded;
enum { NOT_READ, BEING_READ, READ };

static struct object *at_start(unsigned index)
{
    return index < FIRST_OBJECTS ? &first_at_start[index] : &more_at_start[index - FIRST_OBJECTS];
}

bool symbol_has_glibc(void)
{
    return gnu_get_libc_version != NULL;
}

/* A word of an object's: by a load where the object stays, else so that its end under our hands does no harm. */
#define FETCH(is_careful, from, to) ((is_careful) ? PEEK(from, &(to)) : ((to) = *(from), true))

/* Whether the string there is `name`, which has `bytes` bytes, the 0 included. */
static bool is_name(bool is_careful, const char *there, const char *name, size_t bytes)
{
    char copy[NAME_BYTES_MAX];
    if (is_careful) {
        if (bytes > sizeof copy || !peek((uintptr_t)there, copy, bytes))
            return false;
        there = copy;
    }
    for (size_t i = 0; i < bytes; i++)
        if (there[i] != name[i])
            return false;
    return true;
}

/* The loader adds the base to addresses in most dynamic sections, but not in all. */
static const void *address_in(uintptr_t base, uintptr_t address)
{
    return (const void *)(address < base ? base + address : address);
}

static bool read_object(bool is_careful, const struct link_map *map, uintptr_t base, const Elf64_Dyn *dynamic, struct object *object)
{
    Elf64_Dyn copies[DYNAMIC_AT_ONCE];
    size_t copied = 0;
    *object = (struct object){ .map = map, .base = base };
    for (unsigned i = 0; dynamic != NULL && i < DYNAMIC_MAX; i++) {
        if (is_careful && i % DYNAMIC_AT_ONCE == 0)
            copied = peek_most((uintptr_t)(dynamic + i), copies, sizeof copies) / sizeof *copies;
        if (is_careful && i % DYNAMIC_AT_ONCE >= copied)
            return false;
        Elf64_Dyn entry = is_careful ? copies[i % DYNAMIC_AT_ONCE] : dynamic[i];
        if (entry.d_tag == DT_NULL)
            break;
        const void *at = address_in(base, entry.d_un.d_ptr);
        if (entry.d_tag == DT_SYMTAB)
            object->symbols = at;
        else if (entry.d_tag == DT_STRTAB)
            object->names = at;
        else if (entry.d_tag == DT_GNU_HASH)
            object->gnu_hash = at;
        else if (entry.d_tag == DT_HASH)
            object->hash = at;
        else if (entry.d_tag == DT_VERSYM)
            object->versions = at;
        else if (entry.d_tag == DT_SONAME)
            object->own_name = entry.d_un.d_val;
    }
    return object->symbols != NULL && object->names != NULL;
}

static bool is_definition(const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info), seen = ELF64_ST_VISIBILITY(symbol->st_other);
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && (seen == STV_DEFAULT || seen == STV_PROTECTED) &&
           (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
           (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC || type == STT_COMMON || type == STT_GNU_IFUNC);
}

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

static struct search search_of(const char *name)
{
    struct search search = { .name = name, .gnu_hash = 5381 };
    for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++) {
        search.gnu_hash = search.gnu_hash * 33 + *at;
        search.hash = (search.hash << 4) + *at;
        search.hash = (search.hash ^ (search.hash >> 24 & 0xf0)) & 0x0fffffff;
        search.bytes++;
    }
    search.bytes++;
    return search;
}

/* Looks at one symbol of the object. Returns whether the search is over. */
static bool consider(bool is_careful, const struct object *object, const struct search *search, uint32_t index, struct match *match)
{
    Elf64_Sym symbol;
    uint16_t version = 1;
    if (!FETCH(is_careful, object->symbols + index, symbol) || !is_definition(&symbol) ||
        !is_name(is_careful, object->names + symbol.st_name, search->name, search->bytes) ||
        (object->versions != NULL && !FETCH(is_careful, object->versions + index, version)))
        return false;
    bool is_old = (version & HIDDEN_VERSION) != 0;
    unsigned number = version & ~HIDDEN_VERSION;
    if (number == 0 || (is_old && (!search->takes_old || (match->version != 0 && match->version <= number))))
        return false;
    match->symbol = symbol;
    match->index = index;
    match->version = number;
    return !is_old;
}

static void look_by_gnu_hash(bool is_careful, const struct object *object, const struct search *search, struct match *match)
{
    struct {
        uint32_t buckets, first, filter_words, shift;
    } head;
    const uint32_t *table = object->gnu_hash;
    uint64_t filter;
    uint32_t index, hash;
    if (!FETCH(is_careful, (const __typeof__(head) *)table, head) || head.buckets == 0 || head.filter_words == 0)
        return;
    const uint64_t *filters = (const uint64_t *)(table + 4);
    if (!FETCH(is_careful, filters + (search->gnu_hash / 64 & (head.filter_words - 1)), filter) ||
        (filter >> (search->gnu_hash & 63) & filter >> (search->gnu_hash >> head.shift & 63) & 1) == 0)
        return;
    const uint32_t *buckets = (const uint32_t *)(filters + head.filter_words), *chain = buckets + head.buckets;
    if (!FETCH(is_careful, buckets + search->gnu_hash % head.buckets, index) || index < head.first)
        return;
    do {
        if (!FETCH(is_careful, chain + (index - head.first), hash) ||
            ((hash | 1) == (search->gnu_hash | 1) && consider(is_careful, object, search, index, match)))
            return;
        index++;
    } while ((hash & 1) == 0);
}

static void look_by_hash(bool is_careful, const struct object *object, const struct search *search, struct match *match)
{
    uint32_t buckets, index;
    const uint32_t *table = object->hash;
    if (!FETCH(is_careful, table, buckets) || buckets == 0 || !FETCH(is_careful, table + 2 + search->hash % buckets, index))
        return;
    while (index != 0 && !consider(is_careful, object, search, index, match))
        if (!FETCH(is_careful, table + 2 + buckets + index, index))
            return;
}

static void *ask_loader(const char *name)
{
    static const char *const old_versions[] = { "GLIBC_2.2.5", "GLIBC_2.17" };
    void *found = dlsym != NULL ? dlsym(RTLD_NEXT, name) : NULL;
    /* Functions that new programs no longer link to have no default version. */
    for (size_t i = 0; dlvsym != NULL && found == NULL && i < sizeof old_versions / sizeof *old_versions; i++)
        found = dlvsym(RTLD_NEXT, name, old_versions[i]);
    return found;
}

/* The symbol's address in the object; NULL: not there. One that is chosen by a function of its own at run time is the loader's to find: it
 * is there, so that nothing is allocated. */
static void *look_in(bool is_careful, const struct object *object, const struct search *search)
{
    struct match match = { 0 };
    if (object->gnu_hash != NULL)
        look_by_gnu_hash(is_careful, object, search, &match);
    else if (object->hash != NULL)
        look_by_hash(is_careful, object, search, &match);
    if (match.version == 0)
        return NULL;
    if (ELF64_ST_TYPE(match.symbol.st_info) == STT_GNU_IFUNC)
        return ask_loader(search->name);
    return (void *)(object->base + match.symbol.st_value);
}

static const struct r_debug *debugger_of_program(void)
{
    uintptr_t base = 0;
    const Elf64_Phdr *header = (const Elf64_Phdr *)getauxval(AT_PHDR);
    const Elf64_Dyn *dynamic = NULL;
    if (&_r_debug != NULL)
        return &_r_debug;
    for (unsigned long i = 0, count = getauxval(AT_PHNUM); header != NULL && i < count; i++) {
        if (header[i].p_type == PT_PHDR)
            base = (uintptr_t)header - header[i].p_vaddr;
        if (header[i].p_type == PT_DYNAMIC)
            dynamic = (const Elf64_Dyn *)(base + header[i].p_vaddr);
    }
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_DEBUG)
            return (const struct r_debug *)dynamic->d_un.d_ptr;
    return NULL;
}

static bool is_kernels(const struct link_map *map)
{
    uintptr_t kernels = getauxval(AT_SYSINFO_EHDR), at = (uintptr_t)map->l_ld;
    return kernels != 0 && at >= kernels && at - kernels < 0x10000;
}

static size_t length_of(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0')
        length++;
    return length;
}

/* Whether the path's last part is the name. */
static bool is_file_named(const char *path, const char *name)
{
    size_t bytes = length_of(name) + 1, length = length_of(path) + 1;
    return length >= bytes && is_name(false, path + (length - bytes), name, bytes) && (length == bytes || path[length - bytes - 1] == '/');
}

/* Whether the program itself names the object among what it needs. */
static bool is_needed(const struct object *program, const struct object *object)
{
    const Elf64_Dyn *entry = program->map->l_ld;
    const char *name = object->own_name != 0 ? object->names + object->own_name : NULL;
    for (; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED) {
            const char *needed = program->names + entry->d_un.d_val;
            if (is_file_named(object->map->l_name, needed) || (name != NULL && is_name(false, name, needed, length_of(needed) + 1)))
                return true;
        }
    return false;
}

/* Part of libc: its symbols have libc's versions. */
static bool is_libc(const struct object *object)
{
    static const char prefix[] = "GLIBC_";
    const Elf64_Verdef *version = NULL;
    unsigned count = 0;
    for (const Elf64_Dyn *entry = object->map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_VERDEF)
            version = address_in(object->base, entry->d_un.d_ptr);
        if (entry->d_tag == DT_VERDEFNUM)
            count = (unsigned)entry->d_un.d_val;
    }
    for (; version != NULL && count > 0; count--, version = (const Elf64_Verdef *)((const char *)version + version->vd_next)) {
        const Elf64_Verdaux *name = (const Elf64_Verdaux *)((const char *)version + version->vd_aux);
        if ((version->vd_flags & VER_FLG_BASE) == 0)
            return is_name(false, object->names + name->vda_name, prefix, sizeof prefix - 1);
    }
    return false;
}

const char *symbol_own_path(void)
{
    const struct r_debug *debugger = debugger_of_program();
    for (const struct link_map *map = debugger != NULL ? debugger->r_map : NULL; map != NULL; map = map->l_next)
        if (map->l_ld == _DYNAMIC)
            return map->l_name;
    return NULL;
}

static void read_loaded(void)
{
    const struct r_debug *debugger = debugger_of_program();
    bool has_ours = false, has_libc = false;
    for (const struct link_map *map = debugger != NULL ? debugger->r_map : NULL; map != NULL && loaded.count < OBJECTS_MAX; map = map->l_next) {
        struct object *object = at_start(loaded.count);
        if (is_kernels(map) || !read_object(false, map, map->l_addr, map->l_ld, object))
            continue;
        if (map->l_ld == _DYNAMIC) {
            loaded.ours = loaded.count;
            has_ours = !has_libc; /* opened later, behind libc, we stand in front of nothing */
        }
        has_libc = has_libc || is_libc(object);
        if (loaded.preloaded_end == 0 && loaded.count > 0 && (is_needed(at_start(0), object) || is_libc(object)))
            loaded.preloaded_end = loaded.count;
        loaded.count++;
    }
    loaded.is_usable = has_ours && has_libc;
}

/* The list is read once: at our constructor, or at a call that came before it. Who calls in the meantime asks the loader. */
static bool is_readable(void)
{
    unsigned state = atomic_load_explicit(&loaded.state, memory_order_acquire);
    if (state == NOT_READ && atomic_compare_exchange_strong(&loaded.state, &state, BEING_READ)) {
        if (symbol_has_glibc())
            read_loaded();
        atomic_store_explicit(&loaded.state, READ, memory_order_release);
    }
    return atomic_load_explicit(&loaded.state, memory_order_acquire) == READ && loaded.is_usable;
}

/* Every function that we stand in front of, one after the other. */
static const char our_names[] =
#define OPERATION(name, layer, kind, symbols) symbols " "
#include "operations.def"
    ;

/* The object imports the name. Imports come before what the hash table covers. */
static bool imports(const struct object *object, const char *name)
{
    size_t bytes = length_of(name) + 1;
    for (uint32_t i = 1, count = object->gnu_hash != NULL ? object->gnu_hash[1] : 0; i < count; i++)
        if (object->symbols[i].st_shndx == SHN_UNDEF && is_name(false, object->names + object->symbols[i].st_name, name, bytes))
            return true;
    return false;
}

static unsigned our_names_in(const struct object *object)
{
    char name[NAME_BYTES_MAX];
    unsigned found = 0;
    size_t length = 0;
    for (const char *at = our_names; *at != '\0'; at++) {
        if (*at != ' ' && length < sizeof name - 1) {
            name[length++] = *at;
            continue;
        }
        name[length] = '\0';
        struct search search = search_of(name);
        found += length > 0 && look_in(false, object, &search) != NULL;
        length = 0;
    }
    return found;
}

/* Whether the definition in a start object forwards what it is called for: libc's, one that was preloaded like ours, and tools that a program
 * is linked with (sanitizers, profilers). */
static bool forwards(unsigned index)
{
    const struct object *object = at_start(index);
    if (index < loaded.preloaded_end || is_libc(object))
        return true;
    return (imports(object, "dlsym") || imports(object, "dlvsym")) && our_names_in(object) >= FORWARDED_NAMES;
}

static void *look_in_start(struct search *search, unsigned from, unsigned *index)
{
    for (int takes_old = 0; takes_old <= 1; takes_old++) {
        search->takes_old = takes_old != 0;
        for (*index = from; *index < loaded.count; ++*index) {
            void *found = look_in(false, at_start(*index), search);
            if (found != NULL)
                return found;
        }
    }
    return NULL;
}

/* Whether memory that may go away can be read with care, by a system call. A filter may forbid that: then objects that were opened later are read as
 * those that stay, for without an answer a program's call of its own library would fail. */
static _Atomic enum { NOT_TRIED, CAN_PEEK, CANNOT_PEEK } peeking;

void symbol_avoid_system_calls(void)
{
    atomic_store(&peeking, CANNOT_PEEK);
}

static bool can_peek(void)
{
    int copy;
    if (atomic_load_explicit(&peeking, memory_order_relaxed) == NOT_TRIED)
        atomic_store_explicit(&peeking, PEEK(&copy, &copy) ? CAN_PEEK : CANNOT_PEEK, memory_order_relaxed);
    return atomic_load_explicit(&peeking, memory_order_relaxed) == CAN_PEEK;
}

/* Copies a text with its 0. Returns false where it is too long. */
static bool copy_text(const char *from, char *to, size_t room)
{
    if (can_peek())
        return peek_text(from, to, room) >= 0;
    for (size_t i = 0; i < room; i++)
        if ((to[i] = from[i]) == '\0')
            return true;
    return false;
}

/* What was found in objects that were opened later. Filled once, and good while the loader's list still has the object. Names are kept as
 * text, for a caller's may lie on its stack. */
static struct {
    _Atomic bool is_set;
    char name[NAME_BYTES_MAX];
    void *address;
    const struct link_map *map;
    uintptr_t base;
    const Elf64_Dyn *dynamic;
} found_later[32];
static _Atomic unsigned found_later_count;

static void *remembered(const struct search *search)
{
    struct link_map map;
    unsigned count = search->bytes <= NAME_BYTES_MAX && can_peek() ? atomic_load_explicit(&found_later_count, memory_order_acquire) : 0;
    for (unsigned i = 0; i < count && i < sizeof found_later / sizeof *found_later; i++)
        if (atomic_load_explicit(&found_later[i].is_set, memory_order_acquire) && is_name(false, found_later[i].name, search->name, search->bytes) &&
            PEEK(found_later[i].map, &map) && map.l_addr == found_later[i].base && map.l_ld == found_later[i].dynamic)
            return found_later[i].address;
    return NULL;
}

static void remember(const struct search *search, const struct object *object, void *address)
{
    struct link_map map;
    const unsigned most = sizeof found_later / sizeof *found_later;
    if (search->bytes > NAME_BYTES_MAX || atomic_load(&found_later_count) >= most || !FETCH(can_peek(), object->map, map))
        return;
    unsigned i = atomic_fetch_add(&found_later_count, 1);
    if (i >= sizeof found_later / sizeof *found_later)
        return;
    found_later[i].address = address;
    found_later[i].map = object->map;
    found_later[i].base = map.l_addr;
    found_later[i].dynamic = map.l_ld;
    for (size_t at = 0; at < search->bytes; at++)
        found_later[i].name[at] = search->name[at];
    atomic_store_explicit(&found_later[i].is_set, true, memory_order_release);
}

/* The next of the objects that were opened later; NULL: there is none. `at`: the one before, or NULL at first. */
static const struct link_map *next_later(const struct link_map *at, struct link_map *map, struct object *object)
{
    const struct link_map *next;
    if (at == NULL)
        at = at_start(loaded.count - 1)->map;
    if (!FETCH(can_peek(), &at->l_next, next))
        return NULL;
    while (next != NULL && FETCH(can_peek(), next, *map)) {
        if (!is_kernels(map) && read_object(can_peek(), next, map->l_addr, map->l_ld, object))
            return next;
        next = map->l_next;
    }
    return NULL;
}

/* The object that an address lies in: the one with the highest base below it. Returns its map if it was opened later, else NULL. */
static const struct link_map *later_around(const void *address, struct symbol_range *range)
{
    const struct link_map *around = NULL, *at = at_start(loaded.count - 1)->map;
    struct link_map map;
    *range = (struct symbol_range){ 0, UINTPTR_MAX };
    for (unsigned i = 0, left = LATER_OBJECTS_MAX; left > 0; i++) {
        uintptr_t base;
        if (i < loaded.count) {
            base = at_start(i)->base;
        } else if (FETCH(can_peek(), &at->l_next, at) && at != NULL && FETCH(can_peek(), at, map)) {
            base = map.l_addr;
            left--;
        } else {
            break;
        }
        if (base > (uintptr_t)address) {
            range->end = base < range->end ? base : range->end;
        } else if (base > range->begin) {
            range->begin = base;
            around = i < loaded.count ? NULL : at;
        }
    }
    return around;
}

/* In the object that an address lies in, if it was opened later. */
static void *look_beside(const struct search *search, const void *address, struct object *object)
{
    struct symbol_range range;
    struct link_map map;
    const struct link_map *at = later_around(address, &range);
    bool is_there = at != NULL && FETCH(can_peek(), at, map) && read_object(can_peek(), at, map.l_addr, map.l_ld, object);
    return is_there ? look_in(can_peek(), object, search) : NULL;
}

/* In objects that were opened later; any of them may go away meanwhile. The one that `caller` lies in is asked first. */
static void *look_later(struct search *search, const void *caller)
{
    struct link_map map;
    struct object object;
    void *found = remembered(search);
    if (found != NULL)
        return found;
    search->takes_old = false;
    if (caller != NULL)
        found = look_beside(search, caller, &object);
    for (const struct link_map *at = NULL; found == NULL && (at = next_later(at, &map, &object)) != NULL;)
        found = look_in(can_peek(), &object, search);
    if (found != NULL)
        remember(search, &object, found);
    return found;
}

struct symbol symbol_next(const char *name)
{
    struct search search = search_of(name);
    unsigned index;
    if (!is_readable())
        return (struct symbol){ .address = ask_loader(name), .is_foreign = !symbol_has_glibc() };
    void *found = look_in_start(&search, loaded.ours + 1, &index);
    if (found != NULL)
        return (struct symbol){ .address = found, .is_foreign = !forwards(index) };
    return (struct symbol){ .address = look_later(&search, NULL), .is_foreign = true, .is_later = true };
}

void *symbol_real(const char *name)
{
    struct search search = search_of(name);
    if (!is_readable())
        return ask_loader(name);
    for (unsigned index = loaded.ours; ++index < loaded.count;) {
        void *found = look_in_start(&search, index, &index);
        if (found == NULL || forwards(index))
            return found;
    }
    return NULL;
}

void *symbol_of_libc(const char *name, const void *real, const char *other)
{
    struct search search = search_of(name), search_other = search_of(other);
    for (unsigned index = 0; is_readable() && index < loaded.count; index++)
        if (is_libc(at_start(index)) && look_in(false, at_start(index), &search) == real)
            return look_in(false, at_start(index), &search_other);
    return NULL;
}

struct symbol symbol_real_near(const char *name, const void *caller)
{
    struct search search = search_of(name);
    unsigned index;
    if (!is_readable())
        return (struct symbol){ .address = ask_loader(name) };
    void *found = look_in_start(&search, loaded.ours + 1, &index);
    if (found != NULL)
        return (struct symbol){ .address = found };
    return (struct symbol){ .address = look_later(&search, caller), .is_later = true };
}

struct symbol symbol_next_marked(const char *name, const char *mark)
{
    struct search search = search_of(name), search_mark = search_of(mark);
    void *first = NULL, *found;
    for (unsigned index = loaded.ours; is_readable() && (found = look_in_start(&search, index + 1, &index)) != NULL;) {
        first = first != NULL ? first : found;
        if (look_in(false, at_start(index), &search_mark) != NULL) /* in front of it there may be a tool that wraps it, too */
            return (struct symbol){ .address = first };
    }
    return (struct symbol){ .address = first, .is_foreign = first != NULL, .is_later = first == NULL };
}

/* Whether the object is the one that others need by this name. */
static bool is_called(const struct link_map *map, const struct object *object, const char *name)
{
    char own[LATER_PATH_MAX];
    if (object->own_name != 0 && is_name(can_peek(), object->names + object->own_name, name, length_of(name) + 1))
        return true;
    return copy_text(map->l_name, own, sizeof own) && is_file_named(own, name);
}

/* In the objects that one needs, itself or by others, the nearest first. */
static void *look_in_needed(const struct search *search, const struct link_map *of)
{
    const struct link_map *needed[NEEDED_MAX] = { of };
    unsigned count = 1;
    char name[NAME_BYTES_MAX];
    for (unsigned i = 0; i < count; i++) {
        struct link_map map, other;
        struct object object, its;
        Elf64_Dyn entry;
        void *found;
        if (!FETCH(can_peek(), needed[i], map) || !read_object(can_peek(), needed[i], map.l_addr, map.l_ld, &object))
            continue;
        if ((found = look_in(can_peek(), &object, search)) != NULL)
            return found;
        for (unsigned d = 0; d < DYNAMIC_MAX && FETCH(can_peek(), map.l_ld + d, entry) && entry.d_tag != DT_NULL; d++) {
            if (entry.d_tag != DT_NEEDED || !copy_text(object.names + entry.d_un.d_val, name, sizeof name))
                continue;
            const struct link_map *at = next_later(NULL, &other, &its);
            while (at != NULL && !is_called(&other, &its, name))
                at = next_later(at, &other, &its);
            bool is_known = at == NULL || count == NEEDED_MAX;
            for (unsigned k = 0; k < count && !is_known; k++)
                is_known = needed[k] == at;
            if (!is_known)
                needed[count++] = at;
        }
    }
    return NULL;
}

void symbol_forget_error(void)
{
    void *found = symbol_real("dlerror");
    char *(*forget)(void);
    memcpy(&forget, &found, sizeof forget);
    if (forget != NULL)
        forget();
}

/* The one object opened later that has the name; NULL: none or several have. */
static void *look_for_only(const struct search *search)
{
    struct link_map map;
    struct object object;
    void *only = NULL, *found;
    for (const struct link_map *at = next_later(NULL, &map, &object); at != NULL; at = next_later(at, &map, &object))
        if ((found = look_in(can_peek(), &object, search)) != NULL) {
            if (only != NULL)
                return NULL;
            only = found;
        }
    return only;
}

/* The name of the version that a symbol of the object has, as it defines or needs it; NULL: it has none. */
static const char *version_of(const struct object *object, uint32_t index)
{
    const char *defined = NULL, *needed = NULL;
    unsigned number = object->versions != NULL ? object->versions[index] & ~HIDDEN_VERSION : 0;
    const Elf64_Verdef *definition = NULL;
    const Elf64_Verneed *need = NULL;
    for (const Elf64_Dyn *entry = object->map->l_ld; number > 1 && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_VERDEF)
            definition = address_in(object->base, entry->d_un.d_ptr);
        if (entry->d_tag == DT_VERNEED)
            need = address_in(object->base, entry->d_un.d_ptr);
    }
    while (definition != NULL && defined == NULL) {
        const Elf64_Verdaux *name = (const Elf64_Verdaux *)((const char *)definition + definition->vd_aux);
        if (definition->vd_ndx == number)
            defined = object->names + name->vda_name;
        definition = definition->vd_next != 0 ? (const Elf64_Verdef *)((const char *)definition + definition->vd_next) : NULL;
    }
    while (need != NULL && defined == NULL && needed == NULL) {
        const Elf64_Vernaux *version = (const Elf64_Vernaux *)((const char *)need + need->vn_aux);
        for (unsigned i = 0; i < need->vn_cnt && needed == NULL; i++) {
            if (version->vna_other == number)
                needed = object->names + version->vna_name;
            version = (const Elf64_Vernaux *)((const char *)version + version->vna_next);
        }
        need = need->vn_next != 0 ? (const Elf64_Verneed *)((const char *)need + need->vn_next) : NULL;
    }
    return defined != NULL ? defined : needed;
}

/* Which of the object's symbols is the name where it calls it or takes its address; 0: none. */
static uint32_t import_of(const struct object *object, const struct search *search)
{
    enum { CALLS, ADDRESSES, TABLES };
    const Elf64_Rela *table[TABLES] = { 0 };
    size_t bytes[TABLES] = { 0 };
    for (const Elf64_Dyn *entry = object->map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_JMPREL || entry->d_tag == DT_RELA)
            table[entry->d_tag == DT_RELA ? ADDRESSES : CALLS] = address_in(object->base, entry->d_un.d_ptr);
        if (entry->d_tag == DT_PLTRELSZ || entry->d_tag == DT_RELASZ)
            bytes[entry->d_tag == DT_RELASZ ? ADDRESSES : CALLS] = entry->d_un.d_val;
    }
    for (unsigned which = CALLS; which < TABLES; which++)
        for (size_t i = 0; table[which] != NULL && i < bytes[which] / sizeof(Elf64_Rela); i++) {
            uint32_t index = (uint32_t)ELF64_R_SYM(table[which][i].r_info);
            if (index != 0 && is_name(false, object->names + object->symbols[index].st_name, search->name, search->bytes))
                return index;
        }
    return 0;
}

/* The version of the name that an object asks for; NULL: whatever there is. */
static const char *version_wanted(const struct object *callers, const struct search *search)
{
    uint32_t import = callers->symbols != NULL ? import_of(callers, search) : 0;
    return import != 0 ? version_of(callers, import) : NULL;
}

/* Of several definitions in start objects the first one of this version. */
static void *look_for_version(struct search *search, const char *version)
{
    void *first = NULL;
    search->takes_old = false;
    for (unsigned index = loaded.ours + 1; index < loaded.count; index++) {
        const struct object *object = at_start(index);
        struct match match = { 0 };
        if (object->gnu_hash != NULL)
            look_by_gnu_hash(false, object, search, &match);
        if (match.version == 0)
            continue;
        void *found = (void *)(object->base + match.symbol.st_value);
        const char *its = version_of(object, match.index);
        if (version == NULL || its == NULL || is_name(false, its, version, length_of(version) + 1))
            return found;
        first = first != NULL ? first : found;
    }
    return first;
}

/* The object that an address lies in, if it can be read as one that stays: one of the start, or one whose code is running. */
static struct object around(const void *address, struct symbol_range *range)
{
    struct object object = { 0 };
    const struct link_map *later = later_around(address, range);
    if (later != NULL)
        read_object(false, later, later->l_addr, later->l_ld, &object);
    for (unsigned i = 0; i < loaded.count && later == NULL; i++)
        if (at_start(i)->base == range->begin)
            object = *at_start(i);
    return object;
}

struct symbol symbol_reached(const char *name, const void *caller, const void *beside, struct symbol_range *callers)
{
    struct search search = search_of(name);
    unsigned index;
    *callers = (struct symbol_range){ 0, 0 };
    if (!is_readable())
        return (struct symbol){ .address = ask_loader(name), .is_later = true };
    void *found = look_in_start(&search, loaded.ours + 1, &index);
    unsigned next;
    if (found != NULL && look_in_start(&search, index + 1, &next) == NULL)
        return (struct symbol){ .address = found };
    struct object object, from = around(caller, callers);
    const char *version = version_wanted(&from, &search);
    if (found != NULL) {
        void *wanted = look_for_version(&search, version);
        return (struct symbol){ .address = wanted != NULL ? wanted : found, .is_later = true };
    }
    if (beside != NULL && (found = look_beside(&search, beside, &object)) != NULL)
        return (struct symbol){ .address = found, .is_later = true };
    /* An object that was opened for all to see (RTLD_GLOBAL). */
    if ((found = version != NULL && dlvsym != NULL ? dlvsym(RTLD_NEXT, name, version) : ask_loader(name)) != NULL)
        return (struct symbol){ .address = found, .is_later = true };
    symbol_forget_error();
    found = look_for_only(&search);
    if (found == NULL && from.map != NULL)
        found = look_in_needed(&search, from.map);
    return (struct symbol){ .address = found != NULL ? found : look_later(&search, caller), .is_later = true };
}

void *symbol_find(const char *name, bool is_at_start)
{
    struct search search = search_of(name);
    unsigned index;
    if (!is_readable())
        return NULL;
    void *found = look_in_start(&search, 0, &index);
    return found != NULL || is_at_start ? found : look_later(&search, NULL);
}
