/* Runs commands by the shell, after it emptied its environment (argv[1] none), overwrote LD_PRELOAD with argv[2] (other), or left it as it was
 * (kept). */
#include "scenario.h"

int main(int argc, char **argv)
{
    char line[200] = "";
    REQUIRE(argc >= 2);
    if (strcmp(argv[1], "none") == 0)
        REQUIRE(clearenv() == 0);
    if (strcmp(argv[1], "other") == 0)
        REQUIRE(setenv("LD_PRELOAD", argv[2], 1) == 0);
    REQUIRE(system(NULL) != 0);
    REQUIRE(system("echo \"it's $0\" > said; exit 3") == 3 << 8);
    FILE *command = popen("printf %s 'one \\ two'; cat said > copy; kill -9 $$", "r");
    REQUIRE(command != NULL && fgets(line, sizeof line, command) != NULL && strcmp(line, "one \\ two") == 0);
    REQUIRE(pclose(command) == 9);
    command = popen("cat > taken", "w");
    REQUIRE(command != NULL && fputs("given", command) >= 0 && pclose(command) == 0);
    return 0;
}
