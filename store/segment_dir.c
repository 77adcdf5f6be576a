#include "segment_dir.h"

#include "raw.h"
#include "segment.h"
#include "settings.h"
#include "text.h"

int segment_dir_open(int dir, const char *name)
{
    struct statx status;
    int fd = raw_open_at(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0 || (raw_statx(fd, "", AT_EMPTY_PATH, &status) == 0 && status.stx_uid == raw_geteuid() && (status.stx_mode & 0022) == 0))
        return fd;
    raw_close(fd); /* what lies there may be anybody's */
    return -EPERM;
}

int segment_dir_open_file(const char *segment_dir, const char *name, int flags, char path[SEGMENT_DIR_PATH_BYTES])
{
    const char *tmpdir = settings_environment("TMPDIR");
    const char *const dirs[] = { segment_dir, tmpdir != NULL && tmpdir[0] == '/' ? tmpdir : "/tmp" };
    char user_dir[256], *end = path + SEGMENT_DIR_PATH_BYTES;
    int fd = -ENOENT;
    path[0] = '\0';
    for (unsigned i = 0; i < USER_DIRS * sizeof dirs / sizeof *dirs && fd < 0; i++) {
        segment_user_dir(user_dir, sizeof user_dir, dirs[i / USER_DIRS], raw_geteuid(), i % USER_DIRS);
        if ((flags & O_CREAT) != 0)
            raw_mkdir(user_dir, 0700);
        int dir = segment_dir_open(AT_FDCWD, user_dir);
        if (dir < 0) {
            fd = dir;
            continue;
        }
        fd = raw_open_at(dir, name, flags, 0600);
        raw_close(dir);
        text_put(text_put(text_put(path, end, user_dir), end, "/"), end, name);
    }
    return fd;
}
