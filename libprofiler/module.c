#include "module.h"

#include "clock.h"
#include "peek.h"
#include "raw.h"
#include "sparse.h"
#include "unwind.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { PHDRS_MAX = 24, NOTES_BYTES = 1024, MAPS_PART_BYTES = 4096 };
/* The maps are left alone for so many times as long as reading them took, unless a library was opened: they are long where there are many
 * threads, and there is code that no file explains. */
#define REST_OF_REFRESH 1000

static struct {
    void *_Atomic memory; /* MODULES_MAX of struct module */
    unsigned count;
    uint64_t rests_until_ns; /* CLOCK_MONOTONIC */
} modules;

_Atomic bool module_is_opened;

static struct module *module_at(unsigned place)
{
    return (struct module *)atomic_load_explicit(&modules.memory, memory_order_relaxed) + place;
}

/* A line of the maps. */
struct mapping {
    uint64_t begin, end;
    bool is_executable;
    const char *path;
};

static void find_build_id(struct module *module, uint64_t address, uint64_t bytes)
{
    static unsigned char notes[NOTES_BYTES];
    if (bytes > sizeof notes)
        bytes = sizeof notes;
    if (!peek(address, notes, bytes))
        return;
    for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        uint64_t name = at + sizeof note, content = name + ((note.n_namesz + 3) & ~3ull);
        if (content > bytes || note.n_descsz > bytes - content)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            module->build_id_bytes = note.n_descsz < BUILD_ID_BYTES ? note.n_descsz : BUILD_ID_BYTES;
            memcpy(module->build_id, notes + content, module->build_id_bytes);
            return;
        }
        at = content + ((note.n_descsz + 3) & ~3ull);
    }
}

/* What the file's own head, as it lies in memory at `head`, says of it. */
static void read_head(struct module *module, uint64_t head)
{
    static Elf64_Phdr phdrs[PHDRS_MAX];
    Elf64_Ehdr elf;
    if (!peek(head, &elf, sizeof elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phentsize != sizeof *phdrs)
        return;
    unsigned count = elf.e_phnum < PHDRS_MAX ? elf.e_phnum : PHDRS_MAX;
    if (!peek(head + elf.e_phoff, phdrs, count * sizeof *phdrs))
        return;
    for (unsigned i = 0; i < count; i++)
        if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_offset == 0)
            module->bias = head - phdrs[i].p_vaddr;
    for (unsigned i = 0; i < count; i++) {
        if (phdrs[i].p_type == PT_GNU_EH_FRAME) {
            module->table = module->bias + phdrs[i].p_vaddr;
            module->table_bytes = phdrs[i].p_memsz;
        }
        if (phdrs[i].p_type == PT_NOTE && module->build_id_bytes == 0)
            find_build_id(module, module->bias + phdrs[i].p_vaddr, phdrs[i].p_memsz);
    }
}

/* `head` is where the file that the mapping is of begins in memory. */
static void add(const struct mapping *mapping, uint64_t head)
{
    if (modules.count == MODULES_MAX || sparse_once(&modules.memory, MODULES_MAX * sizeof(struct module)) == NULL)
        return;
    struct module *module = module_at(modules.count++);
    memset(module, 0, sizeof *module);
    module->begin = mapping->begin;
    module->end = mapping->end;
    if (mapping->path[0] != '/' && strcmp(mapping->path, "[vdso]") != 0)
        return;
    size_t length = strlen(mapping->path);
    if (length < sizeof module->path)
        memcpy(module->path, mapping->path, length + 1);
    else
        memcpy(module->path, mapping->path + length - sizeof module->path + 1, sizeof module->path);
    read_head(module, head);
}

/* "begin-end rwxp offset device inode    path" */
static struct mapping parse(char *line)
{
    struct mapping mapping = { .path = "" };
    char *at;
    mapping.begin = strtoull(line, &at, 16);
    if (*at != '-')
        return mapping;
    mapping.end = strtoull(at + 1, &at, 16);
    mapping.is_executable = strlen(at) > 4 && at[3] == 'x';
    for (int spaces = 0; *at != '\0' && spaces < 5; at++)
        spaces += *at == ' ';
    mapping.path = at + strspn(at, " ");
    return mapping;
}

static void take_line(char *line)
{
    static char path[MODULE_PATH_BYTES * 16];
    static uint64_t head; /* of the file that the last lines were of */
    struct mapping mapping = parse(line);
    if (strncmp(mapping.path, path, sizeof path - 1) != 0 || mapping.path[0] == '\0') {
        head = mapping.begin;
        strncpy(path, mapping.path, sizeof path - 1);
    }
    if (mapping.is_executable && mapping.end > mapping.begin)
        add(&mapping, head);
}

void module_refresh(void)
{
    static char text[2 * MAPS_PART_BYTES + 1];
    int fd = raw_open("/proc/self/maps", O_RDONLY, 0);
    if (fd < 0)
        return;
    modules.count = 0;
    size_t filled = 0;
    long got;
    while ((got = raw_read(fd, text + filled, sizeof text - 1 - filled)) > 0) {
        filled += (size_t)got;
        text[filled] = '\0';
        char *line = text, *end;
        while ((end = strchr(line, '\n')) != NULL) {
            *end = '\0';
            take_line(line);
            line = end + 1;
        }
        filled = strlen(line);
        if (filled == sizeof text - 1) /* no line is that long */
            break;
        memmove(text, line, filled);
    }
    raw_close(fd);
}

static const struct module *find(uint64_t address)
{
    for (unsigned i = 0; i < modules.count; i++)
        if (address >= module_at(i)->begin && address < module_at(i)->end)
            return module_at(i);
    return NULL;
}

const struct module *module_of(uint64_t address)
{
    const struct module *module = find(address);
    if (module != NULL)
        return module;
    uint64_t began_ns = clock_read(CLOCK_MONOTONIC);
    if (!atomic_exchange(&module_is_opened, false) && began_ns < modules.rests_until_ns)
        return NULL;
    module_refresh();
    uint64_t now_ns = clock_read(CLOCK_MONOTONIC);
    modules.rests_until_ns = now_ns + REST_OF_REFRESH * (now_ns - began_ns);
    return find(address);
}

void module_forget(void)
{
    modules.count = 0;
    modules.rests_until_ns = 0;
}
