/* libslicewise-nvtx.so: ranges that a thread pushes and pops by NVTX (nvtxRangePush, those of domains, nvtx.annotate of Python) are regions. NVTX opens it
 * at a program's first call, where NVTX_INJECTION64_PATH names it. It counts nothing, but calls the profiler as the program would by slicewise/region.h.
 * Ranges from nvtxRangeStart, which may overlap and end in another thread, are none. */
#include "slicewise/region.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <wchar.h>

/* NVTX's numbers, of its version 3: of tables, modules, functions in them, and kinds of messages. */
enum { TABLE_OF_CALLBACKS = 1, MODULE_CORE = 1, MODULE_DOMAINS = 5 };
enum { CORE_PUSH_EX = 8, CORE_PUSH_A = 9, CORE_PUSH_W = 10, CORE_POP = 11 };
enum { DOMAIN_PUSH_EX = 4, DOMAIN_POP = 5, DOMAIN_REGISTER_A = 10, DOMAIN_REGISTER_W = 11, DOMAIN_CREATE_A = 12, DOMAIN_CREATE_W = 13 };
enum { MESSAGE_NONE = 0, MESSAGE_ASCII = 1, MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3 };

enum { NAME_BYTES = 64, NO_RANGE = -1 };
/* A program that pushes without end, which costs nothing without a tool, is not to fill its memory; nor half of the regions that can be open. */
enum { DEEPEST = 256 };

typedef void (*function)(void);

struct callbacks {
    size_t bytes;
    int (*functions_of)(int module, function ***functions, unsigned *count);
};

/* nvtxEventAttributes_t: what a range is called, and how it is drawn. */
struct attributes {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_kind;
    uint32_t color;
    int32_t payload_kind, reserved;
    uint64_t payload;
    int32_t message_kind;
    const void *message;
};

/* Those that a thread has pushed and not popped, of all domains, the last one first; and how many more, which are no regions. */
static __thread struct range {
    struct range *outer;
    const void *domain;
    uint64_t region;
    int depth, level; /* within all, and within those of its domain, from 0 on */
} *innermost;
static __thread int beyond;

static const char *narrow(const wchar_t *wide, char name[NAME_BYTES])
{
    unsigned length = 0;
    for (; wide[length] != 0 && length < NAME_BYTES - 1; length++)
        name[length] = (unsigned long)wide[length] < 128 ? (char)wide[length] : '?';
    name[length] = '\0';
    return name;
}

static const char *name_of(const struct attributes *given, char name[NAME_BYTES])
{
    bool is_whole = given != NULL && given->bytes >= sizeof *given && given->message != NULL;
    switch (is_whole ? given->message_kind : MESSAGE_NONE) {
    case MESSAGE_ASCII:
    case MESSAGE_REGISTERED: /* `registered` gave it out */ return given->message;
    case MESSAGE_UNICODE: return narrow(given->message, name);
    default: return "NVTX";
    }
}

static struct range **last_of(const void *domain)
{
    struct range **link = &innermost;
    while (*link != NULL && (*link)->domain != domain)
        link = &(*link)->outer;
    return link;
}

/* PyTorch appends the number of an operation to its name, and further names than a profile has room for are one. */
static void without_number(const char *name, char short_name[NAME_BYTES])
{
    const char *number = strstr(name, ", seq = ");
    size_t length = number != NULL ? (size_t)(number - name) : strlen(name);
    length = length < NAME_BYTES ? length : NAME_BYTES - 1;
    memcpy(short_name, name, length);
    short_name[length] = '\0';
}

static int push(const void *domain, const char *name)
{
    const struct range *around = *last_of(domain);
    int level = around != NULL ? around->level + 1 : 0, depth = innermost != NULL ? innermost->depth + 1 : 0;
    struct range *range = depth < DEEPEST ? malloc(sizeof *range) : NULL;
    if (range == NULL)
        return level + beyond++;
    char short_name[NAME_BYTES];
    without_number(name != NULL ? name : "NVTX", short_name);
    *range = (struct range){ innermost, domain, slicewise_region_begin(short_name), depth, level };
    innermost = range;
    return level;
}

static int pop(const void *domain)
{
    struct range **link = last_of(domain), *range = *link;
    int level = range != NULL ? range->level : NO_RANGE;
    if (beyond > 0)
        return level + beyond--;
    if (range == NULL)
        return NO_RANGE;
    slicewise_region_end(range->region);
    *link = range->outer;
    free(range);
    return level;
}

static int push_ex(const struct attributes *given)
{
    char name[NAME_BYTES];
    return push(NULL, name_of(given, name));
}

static int push_ascii(const char *name)
{
    return push(NULL, name);
}

static int push_wide(const wchar_t *wide)
{
    char name[NAME_BYTES];
    return push(NULL, wide != NULL ? narrow(wide, name) : NULL);
}

static int pop_any(void)
{
    return pop(NULL);
}

static int push_in_domain(const void *domain, const struct attributes *given)
{
    char name[NAME_BYTES];
    return push(domain, name_of(given, name));
}

/* What stands for a domain from now on, or for a name: a copy of it, which lives as long as the program. */
static const char *copied(const char *name)
{
    return name != NULL ? strdup(name) : NULL;
}

static const char *copied_wide(const wchar_t *wide)
{
    char name[NAME_BYTES];
    return wide != NULL ? strdup(narrow(wide, name)) : NULL;
}

static const char *registered(const void *domain, const char *name)
{
    (void)domain;
    return copied(name);
}

static const char *registered_wide(const void *domain, const wchar_t *wide)
{
    (void)domain;
    return copied_wide(wide);
}

static void put(function **functions, unsigned count, unsigned number, function ours)
{
    if (number < count && functions[number] != NULL)
        *functions[number] = ours;
}

/* What NVTX calls in the library that it opened; each library of a program that has NVTX in it does by itself. Returns 0 for a failure. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t table));

int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t table))
{
    const struct callbacks *callbacks = table_of(TABLE_OF_CALLBACKS);
    function **functions;
    unsigned count;
    if (callbacks == NULL || callbacks->bytes < sizeof *callbacks || callbacks->functions_of(MODULE_CORE, &functions, &count) == 0)
        return 0;
    put(functions, count, CORE_PUSH_EX, (function)push_ex);
    put(functions, count, CORE_PUSH_A, (function)push_ascii);
    put(functions, count, CORE_PUSH_W, (function)push_wide);
    put(functions, count, CORE_POP, (function)pop_any);
    if (callbacks->functions_of(MODULE_DOMAINS, &functions, &count) != 0) {
        put(functions, count, DOMAIN_PUSH_EX, (function)push_in_domain);
        put(functions, count, DOMAIN_POP, (function)pop);
        put(functions, count, DOMAIN_REGISTER_A, (function)registered);
        put(functions, count, DOMAIN_REGISTER_W, (function)registered_wide);
        put(functions, count, DOMAIN_CREATE_A, (function)copied);
        put(functions, count, DOMAIN_CREATE_W, (function)copied_wide);
    }
    return 1;
}
