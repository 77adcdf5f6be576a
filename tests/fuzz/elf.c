/* ELF files and unwind tables that no compiler made. The first byte says what the rest is: a program that is about to be run; a library's
 * head, as it lies in memory; or its unwind tables (.eh_frame_hdr and .eh_frame), behind a head and code of ours. */
#include "bed.h"

#include "fake_engine.h"
#include "module.h"
#include "program.h"
#include "state.h"
#include "unwind.h"

#include <elf.h>
#include <sys/mman.h>

enum { IMAGE_BYTES = 1 << 17, TABLE_AT = 1 << 16, STACK_WORDS = 512 };
static unsigned char *image;
static uint64_t stack[STACK_WORDS];

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    bed_make();
    image = mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image == MAP_FAILED)
        abort();
    char maps[256];
    int length = snprintf(maps, sizeof maps, "%lx-%lx r-xp 00000000 08:01 11 /lib/of-the-fuzzer.so\n", (unsigned long)(uintptr_t)image,
                          (unsigned long)(uintptr_t)image + IMAGE_BYTES);
    bed_write(bed_path("maps"), maps, (size_t)length);
    return 0;
}

static void lay_head(size_t table_bytes)
{
    Elf64_Ehdr head = { .e_ident = ELFMAG, .e_phoff = sizeof head, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2 };
    Elf64_Phdr segments[2] = { { .p_type = PT_LOAD, .p_memsz = IMAGE_BYTES },
                               { .p_type = PT_GNU_EH_FRAME, .p_vaddr = TABLE_AT, .p_memsz = table_bytes } };
    memcpy(image, &head, sizeof head);
    memcpy(image + sizeof head, segments, sizeof segments);
}

/* Walks from so many places that some entry is met, with a stack that leads back into the image. */
static void walk(uint64_t first)
{
    static struct unwind_frame frames[64];
    for (unsigned i = 0; i < 8; i++) {
        struct unwind_state state = { .pc = first + i * 8, .is_exact = i % 2 == 0 };
        for (unsigned number = 0; number < UNWIND_REGISTERS; number++)
            state.value[number] = (uintptr_t)(stack + (number * 7 + i) % (STACK_WORDS / 2));
        unwind(&state, frames, 64);
    }
}

static void look_at_tables(const uint8_t *data, size_t size)
{
    size = size < IMAGE_BYTES - TABLE_AT ? size : IMAGE_BYTES - TABLE_AT;
    lay_head(size);
    memcpy(image + TABLE_AT, data, size);
    int32_t code = 0; /* of the table's first entry, from the table's begin */
    if (size >= 16)
        memcpy(&code, data + 12, sizeof code);
    uint64_t begin = (uintptr_t)image, first = begin + TABLE_AT + (uint64_t)(int64_t)code;
    for (unsigned i = 0; i < STACK_WORDS; i++)
        stack[i] = i % 3 == 0 ? first + i : i % 3 == 1 ? (uintptr_t)(stack + i) : begin + i * 64;
    walk(first);
    walk(begin + TABLE_AT / 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned which = *data++ % 3;
    size--;
    if (which == 0) {
        static struct program program;
        const char *path = bed_path("program");
        bed_write(path, data, size);
        program = (struct program){ 0 };
        program_look(&program, AT_FDCWD, path);
        return 0;
    }
    memset(image, 0, IMAGE_BYTES);
    fake_system.self_maps = bed_path("maps");
    module_forget();
    unwind_forget();
    if (which == 1) {
        memcpy(image, data, size < IMAGE_BYTES ? size : IMAGE_BYTES);
        walk((uintptr_t)image + 4096);
    } else
        look_at_tables(data, size);
    module_forget();
    unwind_forget();
    fake_system_reset();
    return 0;
}
