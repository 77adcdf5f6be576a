/* Streams at their corners: scanf up to the end of a file, tokens and lines longer than a buffer, bytes that are NUL, a stream of a command, a
 * stream in memory, and what is left in a buffer at exit. */
#include "scenario.h"

static char block[20000];

static void make(const char *name, const char *text, size_t bytes)
{
    int fd = (int)unseen_syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && unseen_syscall(SYS_write, fd, text, bytes) == (long)bytes);
    unseen_syscall(SYS_close, fd);
}

static void scan_to_the_end(void)
{
    int number;
    FILE *file = fopen("number", "r");
    REQUIRE(fscanf(file, "%d", &number) == 1 && number == 1234 && fscanf(file, "%d", &number) == EOF && fclose(file) == 0);
}

static void scan_a_long_token(void)
{
    static char token[sizeof block + 1];
    FILE *file = fopen("token", "r");
    REQUIRE(fscanf(file, "%20000s", token) == 1 && strlen(token) == sizeof block && fclose(file) == 0);
}

static void get_lines_with_nul(void)
{
    char line[100];
    FILE *file = fopen("nul", "r");
    REQUIRE(fgets(line, sizeof line, file) != NULL && line[3] == 'd' && fgets(line, sizeof line, file) != NULL && fclose(file) == 0);
}

static void read_from_a_command(void)
{
    char line[100];
    FILE *command = popen("echo from a command", "r");
    REQUIRE(fgets(line, sizeof line, command) != NULL && pclose(command) == 0);
}

static void write_to_memory(void)
{
    char text[100];
    FILE *memory = fmemopen(text, sizeof text, "w");
    REQUIRE(fputs("in memory", memory) >= 0 && fclose(memory) == 0);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    memset(block, 'x', sizeof block);
    make("number", "1234", 4);
    make("token", block, sizeof block);
    make("nul", "ab\0d\nlast", 9);
    scenario_begin();
    scan_to_the_end();
    scan_a_long_token();
    get_lines_with_nul();
    read_from_a_command();
    write_to_memory();
    FILE *left = fopen("left", "w");
    REQUIRE(fputs("left in the buffer", left) >= 0);
    scenario_end();
    return 0;
}
