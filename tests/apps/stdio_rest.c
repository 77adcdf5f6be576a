/* Streams of commands, temporary files, words, messages of errors, and all streams flushed at once. */
#include "scenario.h"

int main(int argc, char **argv)
{
    char line[100];
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    scenario_begin();
    FILE *from = popen("echo from a command; exit 3", "r"), *to = popen("cat > received", "w");
    REQUIRE(from != NULL && to != NULL && fgets(line, sizeof line, from) != NULL && pclose(from) == 3 << 8);
    REQUIRE(fputs("to a command\n", to) >= 0 && pclose(to) == 0);
    FILE *temporary = tmpfile();
    REQUIRE(temporary != NULL && putw(EOF, temporary) == 0 && putw(7, temporary) == 0 && fseek(temporary, 0, SEEK_SET) == 0);
    REQUIRE(getw(temporary) == EOF && getw(temporary) == 7 && getw(temporary) == EOF && feof(temporary));
    errno = ENOENT;
    perror("rest");
    errno = ENOENT;
    perror(NULL);
    FILE *file = fopen("file", "w");
    REQUIRE(fputs("left for the end", file) >= 0 && fcloseall() == 0 && fclose(file) == 0 && fclose(temporary) == 0);
    scenario_end();
    return 0;
}
