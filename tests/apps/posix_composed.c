/* Functions that libc makes of other system calls, or of several: directories read in every way, paths, removal, text to a descriptor. */
#include "scenario.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/stat.h>

static int print(int fd, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    int put = vdprintf(fd, text, arguments);
    va_end(arguments);
    return put;
}

static int is_wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int read_all(DIR *directory)
{
    int entries = 0;
    REQUIRE(directory != NULL);
    errno = 0;
    while (readdir(directory) != NULL)
        entries++;
    REQUIRE(errno == 0);
    return entries;
}

int main(int argc, char **argv)
{
    static char room[4096], path[4096] __attribute__((aligned(8)));
    struct dirent **entries, one, *found;
    DIR *volatile none = NULL;
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    scenario_begin();
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof path, "file%d", i);
        REQUIRE(close(open(path, O_WRONLY | O_CREAT, 0600)) == 0);
    }
    DIR *directory = opendir(".");
    REQUIRE(read_all(directory) == 12);
    rewinddir(directory);
    long start = telldir(directory);
    REQUIRE(read_all(directory) == 12);
    seekdir(directory, start);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    REQUIRE(readdir_r(directory, &one, &found) == 0 && found == &one);
    REQUIRE(closedir(directory) == 0);
    int dirfd = open(".", O_RDONLY | O_DIRECTORY), copy = dup(dirfd);
    REQUIRE(getdents64(copy, room, sizeof room) > 0 && getdents64(copy, room, sizeof room) == 0 && getdents64(-1, room, 100) == -1);
    REQUIRE((directory = fdopendir(copy)) != NULL && closedir(directory) == 0);
    int count = scandir(".", &entries, is_wanted, alphasort);
    REQUIRE(count == 10 && scandirat(dirfd, ".", &entries, NULL, alphasort) == 12 && scandir("none", &entries, NULL, NULL) == -1);
    REQUIRE(realpath("file0", path) == path && canonicalize_file_name("file0") != NULL && realpath("none", path) == NULL);
    REQUIRE(mkdir("folder", 0700) == 0 && remove("folder") == 0 && remove("file9") == 0 && remove("file9") == -1);
    REQUIRE(opendir("none") == NULL && errno == ENOENT && closedir(none) == -1 && errno == EINVAL);
    FILE *temporary = tmpfile();
    REQUIRE(temporary != NULL && fclose(temporary) == 0);
    sync();
    REQUIRE(euidaccess("file0", R_OK) == 0 && lchmod("file0", 0600) == 0);
    int text = open("file0", O_WRONLY);
    REQUIRE(dprintf(text, "%d\n", argc) == 2 && print(text, "%d %d\n", argc, argc) == 4 && dprintf(-1, "none") == -1 && close(text) == 0);
    REQUIRE(close(dirfd) == 0);
    scenario_end();
    return 0;
}
