#include "elf_object.h"

/* The arguments of the call that a look-up delays lie in vector registers whose upper parts nobody saves. */
#if !defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#pragma GCC target("general-regs-only")
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

#define DYNAMIC_AT_ONCE 16
#define HIDDEN_VERSION 0x8000

bool object_is_name(bool is_careful, const char *there, const char *name, size_t bytes)
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

bool object_read(bool is_careful, const struct link_map *map, uintptr_t base, const Elf64_Dyn *dynamic, struct object *object)
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

struct search object_search(const char *name)
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
        !object_is_name(is_careful, object->names + symbol.st_name, search->name, search->bytes) ||
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

size_t object_text_length(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0')
        length++;
    return length;
}

bool object_is_file_named(const char *path, const char *name)
{
    size_t bytes = object_text_length(name) + 1, length = object_text_length(path) + 1;
    return length >= bytes && object_is_name(false, path + (length - bytes), name, bytes) && (length == bytes || path[length - bytes - 1] == '/');
}

bool object_is_needed(const struct object *program, const struct object *object)
{
    const Elf64_Dyn *entry = program->map->l_ld;
    const char *name = object->own_name != 0 ? object->names + object->own_name : NULL;
    for (; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED) {
            const char *needed = program->names + entry->d_un.d_val;
            if (object_is_file_named(object->map->l_name, needed) ||
                (name != NULL && object_is_name(false, name, needed, object_text_length(needed) + 1)))
                return true;
        }
    return false;
}

bool object_is_libc(const struct object *object)
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
            return object_is_name(false, object->names + name->vda_name, prefix, sizeof prefix - 1);
    }
    return false;
}

bool object_imports(const struct object *object, const char *name)
{
    size_t bytes = object_text_length(name) + 1;
    for (uint32_t i = 1, count = object->gnu_hash != NULL ? object->gnu_hash[1] : 0; i < count; i++)
        if (object->symbols[i].st_shndx == SHN_UNDEF && object_is_name(false, object->names + object->symbols[i].st_name, name, bytes))
            return true;
    return false;
}

const char *object_version_of(const struct object *object, uint32_t index)
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

uint32_t object_import_of(const struct object *object, const struct search *search)
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
            if (index != 0 && object_is_name(false, object->names + object->symbols[index].st_name, search->name, search->bytes))
                return index;
        }
    return 0;
}

bool object_find(bool is_careful, const struct object *object, const struct search *search, struct match *match)
{
    *match = (struct match){ 0 };
    if (object->gnu_hash != NULL)
        look_by_gnu_hash(is_careful, object, search, match);
    else if (object->hash != NULL)
        look_by_hash(is_careful, object, search, match);
    return match->version != 0;
}
