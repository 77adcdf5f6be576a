#include "symbol.h"

#include "elf_object.h"
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
#define LATER_OBJECTS_MAX 4096
#define LATER_PATH_MAX 1024
#define NEEDED_MAX 64
/* So many of our names, and the loader's dlsym to find the next of them: that is a tool like us. One or two are a library's own words. */
#define FORWARDED_NAMES 4

extern __typeof__(dlvsym) dlvsym __attribute__((weak)); /* musl has none */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern struct r_debug _r_debug __attribute__((weak));

/* The first ones apart, where memory is touched anyway: most programs have no more. */
static CALL_DATA struct object first_at_start[FIRST_OBJECTS];
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
    struct match match;
    if (!object_find(is_careful, object, search, &match))
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
        if (is_kernels(map) || !object_read(false, map, map->l_addr, map->l_ld, object))
            continue;
        if (map->l_ld == _DYNAMIC) {
            loaded.ours = loaded.count;
            has_ours = !has_libc; /* opened later, behind libc, we stand in front of nothing */
        }
        has_libc = has_libc || object_is_libc(object);
        if (loaded.preloaded_end == 0 && loaded.count > 0 && (object_is_needed(at_start(0), object) || object_is_libc(object)))
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
        struct search search = object_search(name);
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
    if (index < loaded.preloaded_end || object_is_libc(object))
        return true;
    return (object_imports(object, "dlsym") || object_imports(object, "dlvsym")) && our_names_in(object) >= FORWARDED_NAMES;
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
        if (atomic_load_explicit(&found_later[i].is_set, memory_order_acquire) &&
            object_is_name(false, found_later[i].name, search->name, search->bytes) && PEEK(found_later[i].map, &map) &&
            map.l_addr == found_later[i].base && map.l_ld == found_later[i].dynamic)
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
        if (!is_kernels(map) && object_read(can_peek(), next, map->l_addr, map->l_ld, object))
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
    bool is_there = at != NULL && FETCH(can_peek(), at, map) && object_read(can_peek(), at, map.l_addr, map.l_ld, object);
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
    struct search search = object_search(name);
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
    struct search search = object_search(name);
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
    struct search search = object_search(name), search_other = object_search(other);
    for (unsigned index = 0; is_readable() && index < loaded.count; index++)
        if (object_is_libc(at_start(index)) && look_in(false, at_start(index), &search) == real)
            return look_in(false, at_start(index), &search_other);
    return NULL;
}

struct symbol symbol_real_near(const char *name, const void *caller)
{
    struct search search = object_search(name);
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
    struct search search = object_search(name), search_mark = object_search(mark);
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
    if (object->own_name != 0 && object_is_name(can_peek(), object->names + object->own_name, name, object_text_length(name) + 1))
        return true;
    return copy_text(map->l_name, own, sizeof own) && object_is_file_named(own, name);
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
        if (!FETCH(can_peek(), needed[i], map) || !object_read(can_peek(), needed[i], map.l_addr, map.l_ld, &object))
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

/* The version of the name that an object asks for; NULL: whatever there is. */
static const char *version_wanted(const struct object *callers, const struct search *search)
{
    uint32_t import = callers->symbols != NULL ? object_import_of(callers, search) : 0;
    return import != 0 ? object_version_of(callers, import) : NULL;
}

/* Of several definitions in start objects the first one of this version. */
static void *look_for_version(struct search *search, const char *version)
{
    void *first = NULL;
    search->takes_old = false;
    for (unsigned index = loaded.ours + 1; index < loaded.count; index++) {
        const struct object *object = at_start(index);
        struct match match;
        if (!object_find(false, object, search, &match))
            continue;
        void *found = (void *)(object->base + match.symbol.st_value);
        const char *its = object_version_of(object, match.index);
        if (version == NULL || its == NULL || object_is_name(false, its, version, object_text_length(version) + 1))
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
        object_read(false, later, later->l_addr, later->l_ld, &object);
    for (unsigned i = 0; i < loaded.count && later == NULL; i++)
        if (at_start(i)->base == range->begin)
            object = *at_start(i);
    return object;
}

struct symbol symbol_reached(const char *name, const void *caller, const void *beside, struct symbol_range *callers)
{
    struct search search = object_search(name);
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
    struct search search = object_search(name);
    unsigned index;
    if (!is_readable())
        return NULL;
    void *found = look_in_start(&search, 0, &index);
    return found != NULL || is_at_start ? found : look_later(&search, NULL);
}
