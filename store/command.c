#include "command.h"

#include "peek.h"
#include "raw.h"
#include "sections.h"
#include "sha256.h"
#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

/* How an interpreter is told what to run. names: an option that comes before a name. code: one before code. skips: one before a value. Without
 * any it is the first argument that is no option. No pointers: for those the loader would write to one more page of every process. */
enum { OPTION_BYTES = 26 };
struct interpreter {
    char program[8], names[3][OPTION_BYTES], code[8], skips[6][OPTION_BYTES];
};

/* A program is one of these if its name begins so and goes on with digits and points alone: python3.11. */
static const struct interpreter interpreters[] = {
    { "python", { "-m" }, "-c", { "-W", "-X", "--check-hash-based-pycs" } },
    { "pypy", { "-m" }, "-c", { "-W", "-X" } },
    { "perl", { "" }, "-e", { "-I" } },
    { "ruby", { "" }, "-e", { "-I", "-r" } },
    { "Rscript", { "-f" }, "-e", { "" } },
    { "R", { "-f", "--file" }, "-e", { "" } },
    { "julia", { "" }, "-e", { "-L", "-J", "-t", "-p" } },
    { "java", { "-jar", "-m" }, "", { "-cp", "-classpath", "--class-path", "-p", "--module-path" } },
    { "node", { "" }, "-e", { "-r" } },
    { "lua", { "" }, "-e", { "-l" } },
    { "php", { "-f" }, "-r", { "-d", "-c" } },
    { "tclsh", { "" }, "", { "" } },
    { "octave", { "" }, "--eval", { "" } },
    { "bash", { "" }, "-c", { "-O", "-o", "--rcfile" } },
    { "dash", { "" }, "-c", { "-o" } },
    { "sh", { "" }, "-c", { "-o" } },
    { "zsh", { "" }, "-c", { "-o" } },
};
enum { CODE_DIGITS = 8, MOST_IN_ONE_WORD = 5 };
#define DOTS "..."

static char lower(char letter)
{
    return (char)(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
}

static bool is_letter(char letter)
{
    return lower(letter) >= 'a' && lower(letter) <= 'z';
}

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

static bool is_one_of(const char *argument, const char (*options)[OPTION_BYTES], size_t count)
{
    for (size_t i = 0; i < count && options[i][0] != '\0'; i++)
        if (strcmp(argument, options[i]) == 0)
            return true;
    return false;
}

/* Code is nobody's business, and may hold what is secret: it gets digits. */
static void digits_of(const char *code, char digits[CODE_DIGITS + 1])
{
    uint8_t digest[SHA256_BYTES];
    sha256(code, strlen(code), digest);
    for (unsigned i = 0; i < CODE_DIGITS / 2; i++)
        snprintf(digits + 2 * (size_t)i, 3, "%02x", digest[i]);
}

/* The last of the options that one word holds, such as c of -lc; 0 if it holds something else. */
static char last_option(const char *word)
{
    size_t length = strlen(word);
    bool holds_options = word[0] == '-' && length <= MOST_IN_ONE_WORD && strspn(word + 1, "abcdefghijklmnopqrstuvwxyz") == length - 1;
    return holds_options ? word[length - 1] : '\0';
}

static bool is_before_code(const struct interpreter *interpreter, const char *option)
{
    const char *code = interpreter->code;
    return code[0] != '\0' && (strcmp(option, code) == 0 || (code[2] == '\0' && last_option(option) == code[1]));
}

/* Finds what an interpreter runs. Returns whether that is code on its command line. */
static bool find_script(const struct interpreter *interpreter, const char *arguments, const char *end, char script[COMMAND_BYTES])
{
    for (const char *at = arguments + strlen(arguments) + 1; at < end; at += strlen(at) + 1) {
        const char *next = at + strlen(at) + 1, *value = strncmp(at, "--file=", 7) == 0 ? at + 7 : NULL;
        bool has_next = next < end;
        if (value == NULL && has_next && is_one_of(at, interpreter->names, sizeof interpreter->names / sizeof *interpreter->names))
            value = next;
        if (value != NULL) {
            snprintf(script, COMMAND_BYTES, "%s", value);
            return false;
        }
        if (has_next && is_before_code(interpreter, at)) {
            char digits[CODE_DIGITS + 1];
            digits_of(next, digits);
            snprintf(script, COMMAND_BYTES, "%s %s", interpreter->code, digits);
            return true;
        }
        if (at[0] != '-' || at[1] == '\0') {
            snprintf(script, COMMAND_BYTES, "%s", at[0] != '-' ? at : "");
            return false;
        }
        if (has_next && is_one_of(at, interpreter->skips, sizeof interpreter->skips / sizeof *interpreter->skips))
            at = next;
    }
    return false;
}

/* Whether a name of an option or a variable says that its value is secret: a word of these ends there, or before what is no letter. */
static bool is_secret(const char *name, size_t length)
{
    static const char *const words[] = { "password", "passwd", "passphrase", "secret", "token", "credentials", "api-key", "api_key", "apikey" };
    for (size_t word = 0; word < sizeof words / sizeof *words; word++) {
        size_t letters = strlen(words[word]);
        for (size_t at = 0; at + letters <= length; at++) {
            size_t same = 0;
            while (same < letters && lower(name[at + same]) == words[word][same])
                same++;
            if (same == letters && (at + letters == length || !is_letter(name[at + letters])))
                return true;
        }
    }
    return false;
}

/* A line that is being written. It has room for the dots of one that is cut. */
struct line {
    char *at, *end;
    bool is_cut;
};

static void put(struct line *line, char letter)
{
    if (line->at < line->end)
        *line->at++ = letter;
    else
        line->is_cut = true;
}

static void put_plain(struct line *line, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        put(line, text[i]);
}

static void put_quoted(struct line *line, const char *text, size_t length)
{
    bool is_plain = length > 0;
    for (size_t i = 0; i < length; i++)
        is_plain = is_plain && (is_letter(text[i]) || strchr("0123456789_-+=.,:/@%^", text[i]) != NULL);
    if (is_plain) {
        put_plain(line, text, length);
        return;
    }
    put(line, '\'');
    for (size_t i = 0; i < length; i++)
        for (const char *letter = text[i] == '\'' ? "'\\''" : (const char[]){ text[i], '\0' }; *letter != '\0'; letter++)
            put(line, *letter);
    put(line, '\'');
}

/* An argument; NAME=VALUE as two parts. */
static void put_argument(struct line *line, const char *argument, bool has_base_names)
{
    const char *equals = strchr(argument, '='), *value = equals != NULL ? equals + 1 : argument;
    if (equals != NULL && is_secret(argument, (size_t)(equals - argument))) {
        put_quoted(line, argument, (size_t)(value - argument));
        put_plain(line, DOTS, sizeof DOTS - 1);
        return;
    }
    if (!has_base_names) {
        put_quoted(line, argument, strlen(argument));
        return;
    }
    const char *base = text_last_part(value);
    if (value > argument)
        put_quoted(line, argument, (size_t)(value - argument));
    put_quoted(line, base, strlen(base));
}

/* Whether an argument is code. coder: the interpreter, if it runs code on its command line; a program that starts another one may get its. */
static bool is_code(const struct interpreter *coder, const char *option, const char *argument)
{
    if (coder != NULL)
        return is_before_code(coder, option);
    char last = last_option(option);
    return (last == 'c' || last == 'e') && argument[strcspn(argument, " \n;(")] != '\0';
}

static void write_line(const char *arguments, const char *end, const struct interpreter *coder, bool has_base_names, char text[COMMAND_BYTES])
{
    struct line line = { text, text + COMMAND_BYTES - sizeof DOTS, end > arguments && end[-1] != '\0' };
    bool is_next_secret = false;
    const char *before = "";
    for (const char *at = arguments; at < end; at += strlen(at) + 1) {
        char digits[CODE_DIGITS + 1];
        if (at != arguments)
            put(&line, ' ');
        if (is_next_secret)
            put_plain(&line, DOTS, sizeof DOTS - 1);
        else if (is_code(coder, before, at))
            digits_of(at, digits), put_plain(&line, digits, CODE_DIGITS);
        else
            put_argument(&line, at, has_base_names);
        is_next_secret = !is_next_secret && at[0] == '-' && strchr(at, '=') == NULL && is_secret(at, strlen(at));
        before = at;
    }
    memcpy(line.at, DOTS, line.is_cut ? sizeof DOTS : 0);
    line.at[line.is_cut ? sizeof DOTS - 1 : 0] = '\0';
}

void command_of_arguments(const char *program, const char *arguments, size_t bytes, bool has_base_names, struct command *command)
{
    command->script[0] = command->line[0] = '\0';
    if (bytes == 0)
        return;
    const struct interpreter *interpreter = interpreter_of(program);
    const char *end = arguments + bytes;
    bool has_code = interpreter != NULL && find_script(interpreter, arguments, end, command->script);
    write_line(arguments, end, has_code ? interpreter : NULL, has_base_names, command->line);
}

static START_DATA struct {
    const char *begin;
    size_t bytes; /* 0: not known */
} noted;

void command_note(int count, char *const *arguments)
{
    /* A loader that was started as a program leaves itself and its own arguments out. */
    if (count < 1 || getauxval(AT_BASE) == 0 || arguments[count - 1] < arguments[0])
        return;
    noted.begin = arguments[0];
    noted.bytes = (size_t)(arguments[count - 1] - arguments[0]) + strlen(arguments[count - 1]) + 1;
}

/* As /proc/self/cmdline has it, which costs a short process more than a copy of the same memory. The kernel is asked where a program has written
 * over it, as to have another title. */
static size_t read_arguments(char *arguments, size_t room)
{
    size_t bytes = noted.bytes < room - 1 ? noted.bytes : room - 1;
    bool is_whole = bytes > 0 && peek((uintptr_t)noted.begin, arguments, bytes) && (bytes < noted.bytes || arguments[bytes - 1] == '\0');
    arguments[is_whole ? bytes : 0] = '\0';
    return is_whole ? bytes : raw_read_at_once("/proc/self/cmdline", arguments, room);
}

void command_of_process(const char *program, bool has_base_names, const char *inputs, struct command_read *read)
{
    static const char behind[] = " #inputs=";
    size_t got = read_arguments(read->arguments, sizeof read->arguments), length;
    command_of_arguments(program, read->arguments, got, has_base_names, &read->command);
    char *line = read->command.line;
    if (inputs[0] == '\0' || line[0] == '\0')
        return;
    length = strlen(line);
    if (length > COMMAND_BYTES - sizeof behind - INPUTS_BYTES) { /* the line gives way */
        length = COMMAND_BYTES - sizeof behind - INPUTS_BYTES;
        memcpy(line + length - (sizeof DOTS - 1), DOTS, sizeof DOTS - 1);
    }
    snprintf(line + length, COMMAND_BYTES - length, "%s%.*s", behind, INPUTS_BYTES, inputs);
}
