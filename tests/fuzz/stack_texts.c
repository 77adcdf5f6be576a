/* Texts of a process whose stacks are looked at: its maps, a thread's name and state, and what it waits for, as no kernel writes them. The first
 * byte says which of them the rest is; the others are usual ones. Whatever comes, each printed line is an object of JSON with no byte that steers
 * a terminal. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const uint8_t *text;
static size_t text_bytes;
static unsigned which;

/* A file of /proc/PID/task/TID. */
static FILE *open_text(const char *path, const char *mode)
{
    static const char *const names[] = { "/maps", "/stat", "/syscall", "/status" };
    static const char *const usual[] = { "55d0c0000000-55d0c0001000 r-xp 00001000 08:01 11                         /usr/bin/cat\n", "40 (cat) S 7 1\n",
                                         "0 0x3 0x7f0000000000 0x20000 0x22 0x0 0x0 0x7ffc00000000 0x7f0000001000\n", "Uid:\t0\t0\nGid:\t0\t0\n" };
    (void)mode;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(path) > strlen(names[i]) && strcmp(path + strlen(path) - strlen(names[i]), names[i]) == 0) {
            const void *is = i == which ? (const void *)text : usual[i];
            size_t bytes = i == which ? text_bytes : strlen(usual[i]);
            return fmemopen((void *)(uintptr_t)is, bytes > 0 ? bytes : 1, "r");
        }
    return fmemopen((void *)(uintptr_t) "1\n", 2, "r"); /* Yama's */
}

/* Functions of their own are wanted: make/fuzz.mk links this target without the two objects. */
#define fopen open_text
#include "../../collector/stack_walk.c"
#define NAP_NS NAP_OF_STACKS_NS
#include "../../collector/stacks.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *printed, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)printed[i] == 127 || ((unsigned char)printed[i] < ' ' && printed[i] != '\n'))
            abort();
    while (bytes > 0) {
        const char *end = memchr(printed, '\n', bytes);
        bool is_in_text = false;
        if (end == NULL || *printed != '{' || end[-1] != '}')
            abort();
        for (const char *at = printed; at < end; at++) {
            if (is_in_text && *at == '\\')
                at++;
            else if (*at == '"')
                is_in_text = !is_in_text;
        }
        if (is_in_text)
            abort();
        bytes -= (size_t)(end + 1 - printed);
        printed = end + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *printed = NULL, name[64];
    size_t bytes = 0;
    struct stack_walk walk = { .call = -1 };
    FILE *usual = stdout;
    if (size == 0)
        return 0;
    which = data[0] % 4;
    text = data + 1;
    text_bytes = size - 1;
    stdout = open_memstream(&printed, &bytes);
    print_modules(40, data[0] & 64 ? "job" : NULL);
    char state = thread_state(40, 40, name, sizeof name);
#ifdef __x86_64__
    read_waiting(40, 40, &walk);
#endif
    if (state != '\0')
        print_thread(40, 40, name, state, &walk);
    take_rights_of(40);
    fclose(stdout);
    stdout = usual;
    check(printed, bytes);
    free(printed);
    return 0;
}
