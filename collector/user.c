#include "user.h"

#include "print_line.h"
#include "segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USERS_MAX = 4096 };

static int become(uid_t uid)
{
    struct passwd *known = getpwuid(uid);
    gid_t gid = known != NULL ? known->pw_gid : uid; /* of an unknown user nothing but the number */
    if (geteuid() == uid)
        return 0;
    if ((known != NULL ? initgroups(known->pw_name, gid) : setgroups(0, NULL)) != 0 || setresgid(gid, gid, gid) != 0 ||
        setresuid(uid, uid, uid) != 0) {
        print_line(stderr, "slicewise: user %u: cannot act for that user (%s); run this as root or as the user\n", uid, strerror(errno));
        return 2;
    }
    return 0;
}

int user_find(const char *name, uid_t *uid)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    struct passwd *known = *end != '\0' || end == name ? getpwnam(name) : NULL;
    if (known == NULL && (*end != '\0' || end == name || number >= (uid_t)-1)) {
        print_line(stderr, "slicewise: user %s: there is no such user; give a name or a number\n", name);
        return 2;
    }
    *uid = known != NULL ? known->pw_uid : (uid_t)number;
    return 0;
}

int user_become(const char *name)
{
    uid_t uid;
    int wrong = user_find(name, &uid);
    return wrong != 0 ? wrong : become(uid);
}

static int act_as(uid_t uid, int (*act)(void *argument), void *argument)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int status = become(uid);
        if (status == 0)
            status = act(argument);
        fflush(NULL);
        _exit(status);
    }
    int status;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int user_each(const char *const *dirs, time_t since, int (*act)(void *argument), void *argument)
{
    static uid_t users[USERS_MAX];
    const uid_t caller = geteuid();
    unsigned used = 0;
    for (; *dirs != NULL; dirs++) {
        DIR *dir = opendir(*dirs);
        for (struct dirent *entry; dir != NULL && used < USERS_MAX && (entry = readdir(dir)) != NULL;) {
            struct stat status;
            /* A directory says whose it is by its owner, and not by its name. */
            if (!segment_is_user_dir(entry->d_name) || fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
                !S_ISDIR(status.st_mode) || (status.st_mtime < since && status.st_uid != caller))
                continue;
            bool is_known = false;
            for (unsigned i = 0; i < used; i++)
                is_known |= users[i] == status.st_uid;
            if (!is_known)
                users[used++] = status.st_uid;
        }
        if (dir != NULL)
            closedir(dir);
    }
    int worst = 0;
    for (unsigned i = 0; i < used; i++) {
        int status = act_as(users[i], act, argument);
        worst = status > worst ? status : worst;
    }
    return worst;
}
