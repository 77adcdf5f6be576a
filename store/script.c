#include "script.h"

#include "raw.h"
#include "sha256.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* How an interpreter is told what to run. names: an option that comes before a name. code: one before code. skips: one before a value. Without
 * any it is the first argument that is no option. */
struct interpreter {
    const char *program, *names[3], *code, *skips[6];
};

/* A program is one of these if its name begins so and goes on with digits and points alone: python3.11. */
static const struct interpreter interpreters[] = {
    { "python", { "-m" }, "-c", { "-W", "-X", "--check-hash-based-pycs" } },
    { "pypy", { "-m" }, "-c", { "-W", "-X" } },
    { "perl", { NULL }, "-e", { "-I" } },
    { "ruby", { NULL }, "-e", { "-I", "-r" } },
    { "Rscript", { "-f" }, "-e", { NULL } },
    { "R", { "-f", "--file" }, "-e", { NULL } },
    { "julia", { NULL }, "-e", { "-L", "-J", "-t", "-p" } },
    { "java", { "-jar", "-m" }, NULL, { "-cp", "-classpath", "--class-path", "-p", "--module-path" } },
    { "node", { NULL }, "-e", { "-r" } },
    { "lua", { NULL }, "-e", { "-l" } },
    { "php", { "-f" }, "-r", { "-d", "-c" } },
    { "tclsh", { NULL }, NULL, { NULL } },
    { "octave", { NULL }, "--eval", { NULL } },
    { "bash", { NULL }, "-c", { "-O", "-o", "--rcfile" } },
    { "dash", { NULL }, "-c", { "-o" } },
    { "sh", { NULL }, "-c", { "-o" } },
    { "zsh", { NULL }, "-c", { "-o" } },
};
enum { CODE_DIGITS = 8 };

static const struct interpreter *interpreter_of(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash != NULL ? slash + 1 : program;
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++) {
        size_t length = strlen(interpreters[i].program);
        if (strncmp(name, interpreters[i].program, length) == 0 && name[length + strspn(name + length, "0123456789.")] == '\0')
            return &interpreters[i];
    }
    return NULL;
}

static bool is_one_of(const char *argument, const char *const *options, size_t count)
{
    for (size_t i = 0; i < count && options[i] != NULL; i++)
        if (strcmp(argument, options[i]) == 0)
            return true;
    return false;
}

/* Code is nobody's business, and may hold what is secret: it gets digits. */
static void name_code(const char *option, const char *code, char *script, size_t room)
{
    uint8_t digest[SHA256_BYTES];
    char digits[CODE_DIGITS + 1];
    sha256(code, strlen(code), digest);
    for (unsigned i = 0; i < CODE_DIGITS / 2; i++)
        snprintf(digits + 2 * (size_t)i, 3, "%02x", digest[i]);
    snprintf(script, room, "%s %s", option, digits);
}

void script_of_arguments(const char *program, const char *arguments, size_t bytes, char *script, size_t room)
{
    script[0] = '\0';
    const struct interpreter *interpreter = interpreter_of(program);
    if (interpreter == NULL || bytes == 0)
        return;
    const char *end = arguments + bytes;
    for (const char *at = arguments + strnlen(arguments, bytes) + 1; at < end; at += strlen(at) + 1) {
        const char *next = at + strlen(at) + 1, *value = strncmp(at, "--file=", 7) == 0 ? at + 7 : NULL;
        bool has_next = next < end;
        if (value != NULL) {
            snprintf(script, room, "%s", value);
            return;
        }
        if (has_next && is_one_of(at, interpreter->names, sizeof interpreter->names / sizeof *interpreter->names)) {
            snprintf(script, room, "%s", next);
            return;
        }
        if (has_next && interpreter->code != NULL && strcmp(at, interpreter->code) == 0) {
            name_code(at, next, script, room);
            return;
        }
        if (at[0] != '-' || at[1] == '\0') {
            snprintf(script, room, "%s", at[0] != '-' ? at : "");
            return;
        }
        if (has_next && is_one_of(at, interpreter->skips, sizeof interpreter->skips / sizeof *interpreter->skips))
            at = next;
    }
}

void script_of_process(const char *program, char *script, size_t room)
{
    static char arguments[4096]; /* not on the stack, which may be a signal handler's small one */
    script[0] = '\0';
    if (interpreter_of(program) == NULL)
        return;
    long got = raw_read_file("/proc/self/cmdline", arguments, sizeof arguments);
    if (got > 0)
        script_of_arguments(program, arguments, (size_t)got, script, room);
}
