#include "vdso.h"

#include "raw.h"
#include "sections.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#if defined(__x86_64__)
#define CLOCK_FUNCTION "__vdso_clock_gettime"
#else
#define CLOCK_FUNCTION "__kernel_clock_gettime"
#endif

typedef int clock_function(clockid_t id, struct timespec *now);

static START_DATA clock_function *_Atomic function; /* NULL: not looked for yet */

static int by_system_call(clockid_t id, struct timespec *now)
{
    return (int)syscall(SYS_clock_gettime, id, now);
}

/* What the kernel's object says of itself. */
struct object {
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *gnu_hash;
    const Elf32_Word *hash;
};

/* No loader adds the base to addresses in the kernel's object. */
static const void *address_in(uintptr_t base, uintptr_t address)
{
    return (const void *)(address < base ? base + address : address); // NOLINT(performance-no-int-to-ptr)
}

static struct object read_object(const ElfW(Ehdr) * header)
{
    uintptr_t base = (uintptr_t)header;
    const ElfW(Phdr) *part = (const void *)((const char *)header + header->e_phoff);
    const ElfW(Dyn) *entry = NULL;
    struct object object = { 0 };
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (part[i].p_type == PT_DYNAMIC)
            entry = (const void *)((const char *)header + part[i].p_vaddr);
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        const void *at = address_in(base, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB: object.symbols = at; break;
        case DT_STRTAB: object.names = at; break;
        case DT_GNU_HASH: object.gnu_hash = at; break;
        case DT_HASH: object.hash = at; break;
        default: break;
        }
    }
    return object;
}

/* How many symbols there are. A few: no look-up by hash is worth its code. Kernels have either table, or both. */
static uint32_t symbols_of(const struct object *object)
{
    if (object->hash != NULL)
        return object->hash[1];
    if (object->gnu_hash == NULL)
        return 0;
    uint32_t buckets = object->gnu_hash[0], first = object->gnu_hash[1], last = 0;
    const uint32_t *bucket = object->gnu_hash + 4 + object->gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof *bucket), *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return 0;
    while ((chain[last - first] & 1) == 0)
        last++;
    return last + 1;
}

static clock_function *find(void)
{
    const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return by_system_call;
    struct object object = read_object(header);
    uint32_t count = object.symbols != NULL && object.names != NULL ? symbols_of(&object) : 0;
    for (uint32_t i = 0; i < count; i++)
        if (object.symbols[i].st_shndx != SHN_UNDEF && strcmp(object.names + object.symbols[i].st_name, CLOCK_FUNCTION) == 0)
            return (clock_function *)((uintptr_t)header + object.symbols[i].st_value); // NOLINT(performance-no-int-to-ptr)
    return by_system_call;
}

void vdso_avoid(bool is_avoided)
{
    atomic_store_explicit(&function, is_avoided ? by_system_call : NULL, memory_order_relaxed);
}

void vdso_clock(clockid_t id, struct timespec *now)
{
    clock_function *known = atomic_load_explicit(&function, memory_order_relaxed);
    if (__builtin_expect(known == NULL, 0)) {
        known = find();
        atomic_store_explicit(&function, known, memory_order_relaxed);
    }
    known(id, now);
}
