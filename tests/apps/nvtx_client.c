/* A program with NVTX in it, as far as ranges of threads go: as NVTX's header does, it opens the library that NVTX_INJECTION64_PATH names, gives it tables of
 * its function pointers, and calls what it then finds there. Each range writes so many bytes into the file of argv[1]. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

typedef void (*function)(void);
enum { CORE_FUNCTIONS = 16, DOMAIN_FUNCTIONS = 16, DEEP = 300 };

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

static function core[CORE_FUNCTIONS], of_domains[DOMAIN_FUNCTIONS];
static function *core_table[CORE_FUNCTIONS + 1], *domain_table[DOMAIN_FUNCTIONS + 1];

static int functions_of(int module, function ***table, unsigned *count)
{
    if (module != 1 && module != 5)
        return 0;
    *table = module == 1 ? core_table : domain_table;
    *count = CORE_FUNCTIONS;
    return 1;
}

static const void *table_of(uint32_t table)
{
    static const struct {
        size_t size;
        int (*functions_of)(int, function ***, unsigned *);
    } callbacks = { sizeof callbacks, functions_of };
    return table == 1 ? &callbacks : NULL;
}

static int file;

static void put(int bytes)
{
    static const char zeros[1000];
    if (write(file, zeros, (size_t)bytes) != bytes)
        abort();
}

static void check(const char *what, int told, int expected)
{
    if (told != expected)
        fprintf(stderr, "%s: %d instead of %d\n", what, told, expected);
}

int main(int count, char **words)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = count > 1 && path != NULL ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(uint32_t)) =
        library != NULL ? (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2") : NULL;
    for (int i = 0; i < CORE_FUNCTIONS; i++) {
        core_table[i] = &core[i];
        domain_table[i] = &of_domains[i];
    }
    if (initialize == NULL || initialize(table_of) == 0)
        return 1;
    int (*push_ex)(const struct attributes *) = (int (*)(const struct attributes *))core[8];
    int (*push_a)(const char *) = (int (*)(const char *))core[9];
    int (*push_w)(const wchar_t *) = (int (*)(const wchar_t *))core[10];
    int (*pop)(void) = (int (*)(void))core[11];
    int (*domain_push)(const void *, const struct attributes *) = (int (*)(const void *, const struct attributes *))of_domains[4];
    int (*domain_pop)(const void *) = (int (*)(const void *))of_domains[5];
    void *(*name)(const void *, const char *) = (void *(*)(const void *, const char *))of_domains[10];
    const void *(*domain_of)(const char *) = (const void *(*)(const char *))of_domains[12];
    void *(*wide_name)(const void *, const wchar_t *) = (void *(*)(const void *, const wchar_t *))of_domains[11];
    const void *domain = domain_of("mine"), *other = domain_of("mine");
    check("domains of one name are two", domain == other, 0);
    file = open(words[1], O_CREAT | O_WRONLY, 0600);

    check("push", push_a("ascii, seq = 17"), 0);
    put(1);
    check("push within", push_w(L"wide \x20ac"), 1);
    put(2);
    struct attributes given = { .version = 3, .size = sizeof given, .message_type = 1, .message = "in attributes" };
    check("push of attributes", push_ex(&given), 2);
    put(4);
    check("pop", pop(), 2);
    check("pop", pop(), 1);
    check("pop", pop(), 0);
    check("pop of none", pop(), -1);

    given = (struct attributes){ .version = 3, .size = sizeof given, .message_type = 3, .message = name(domain, "registered") };
    check("push in a domain", domain_push(domain, &given), 0);
    put(8);
    check("push outside of it", push_a("other"), 0);
    put(16);
    check("pop of the first domain", domain_pop(domain), 0);
    put(32);
    check("pop of the other", pop(), 0);
    given.message = wide_name(domain, L"registered wide");
    check("push in a domain", domain_push(domain, &given), 0);
    put(64);
    check("pop of the domain", domain_pop(domain), 0);

    given = (struct attributes){ .version = 1, .size = 16 };
    for (int i = 0; i < DEEP; i++)
        check("deep push", push_ex(&given), i);
    put(128);
    for (int i = DEEP - 1; i >= 0; i--)
        check("deep pop", pop(), i);
    check("pop of none", pop(), -1);
    return 0;
}
