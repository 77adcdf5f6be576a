/* After these calls names may lead elsewhere: another working directory or root, other mounts. They are no I/O that anybody waits for, and are not
 * counted. */
#include "interpose.h"
#include "name.h"

#define ELSEWHERE(name, parameters, arguments) \
    INTERPOSE(int, name, parameters) \
    { \
        int result = NEXT(name) arguments; /* NOLINT(bugprone-macro-parentheses): a list in parentheses */ \
        name_forget(); \
        return result; \
    }

ELSEWHERE(chdir, (const char *path), (path))
ELSEWHERE(fchdir, (int fd), (fd))
ELSEWHERE(chroot, (const char *path), (path))
ELSEWHERE(mount, (const char *source, const char *target, const char *type, unsigned long flags, const void *data),
          (source, target, type, flags, data))
ELSEWHERE(umount, (const char *target), (target))
ELSEWHERE(umount2, (const char *target, int flags), (target, flags))
ELSEWHERE(move_mount, (int from_dirfd, const char *from, int to_dirfd, const char *to, unsigned flags), (from_dirfd, from, to_dirfd, to, flags))
ELSEWHERE(unshare, (int flags), (flags))
ELSEWHERE(setns, (int fd, int type), (fd, type))
