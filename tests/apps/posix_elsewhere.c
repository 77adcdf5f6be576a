/* Names that lead elsewhere from one call to the next, by mounts, links, and a working directory of its own: each call fails, and as often as only its
 * mount is to have. As root, in mounts of its own. `posix_elsewhere DIRECTORY` */
#include "scenario.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define TIMES(times, claim) \
    for (int i = 0; i < (times); i++) \
        REQUIRE(claim);

int main(int argc, char **argv)
{
    char path[PATH_MAX], link[PATH_MAX] = "loop";
    char *volatile same = link;
    int below;
    REQUIRE(argc == 2 && unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && chdir(argv[1]) == 0);
    snprintf(path, sizeof path, "%s/a/gone", argv[1]);
    REQUIRE(mkdir("a", 0700) == 0 && mkdir("b", 0700) == 0);
    TIMES(1, access("a/gone", F_OK) < 0) /* on what is below */
    REQUIRE(mount("one", "a", "tmpfs", 0, NULL) == 0);
    TIMES(2, access("a/gone", F_OK) < 0) /* one */
    REQUIRE((below = open("a", O_RDONLY | O_DIRECTORY)) >= 0 && mount("two", "a", "tmpfs", 0, NULL) == 0);
    TIMES(4, open("a/gone", O_RDONLY) < 0) /* two, which hides it */
    TIMES(8, openat(below, "gone", O_RDONLY) < 0) /* one, still */
    REQUIRE(umount("a") == 0);
    TIMES(16, readlink(path, link, sizeof link) < 0) /* one */
    REQUIRE(symlink("a", "link") == 0);
    TIMES(32, truncate("link/gone", 3) < 0) /* one */
    TIMES(64, access("link/../gone", F_OK) < 0) /* below */
    REQUIRE(symlink("b", "other") == 0 && rename("other", "link") == 0);
    TIMES(128, chmod("link/gone", 0600) < 0) /* below */
    REQUIRE(chdir("a") == 0);
    TIMES(256, rmdir("gone") < 0) /* one */
    TIMES(512, mkdir("gone/deeper/still", 0700) < 0) /* one */
    REQUIRE(chdir("..") == 0);
    TIMES(1024, unlink("gone") < 0) /* below */
    pid_t child = vfork();
    if (child == 0) {
        if (chdir("a") == 0)
            access("gone", F_OK); /* one */
        _exit(0);
    }
    REQUIRE(waitpid(child, NULL, 0) == child);
    TIMES(2048, access("gone", F_OK) < 0) /* below */

    /* A name that the call itself writes over. */
    REQUIRE(symlink("loops", "loop") == 0 && readlink(link, same, sizeof link) == 5 && memcmp(link, "loops", 5) == 0);
    return 0;
}
