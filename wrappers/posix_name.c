/* POSIX calls that work on names: links, directories and special files by name, temporary names, permissions to look. */
#include "interpose.h"

#include <sys/stat.h>

INTERPOSE(int, link, (const char *from, const char *to))
{
    struct call call = call_begin(OP_link);
    int failed = REAL(link)(from, to);
    call_end(&call);
    call_named(&call, AT_FDCWD, to, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, linkat, (int from_dirfd, const char *from, int to_dirfd, const char *to, int flags))
{
    struct call call = call_begin(OP_link);
    int failed = REAL(linkat)(from_dirfd, from, to_dirfd, to, flags);
    call_end(&call);
    call_named(&call, to_dirfd, to, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, symlink, (const char *target, const char *path))
{
    struct call call = call_begin(OP_symlink);
    int failed = REAL(symlink)(target, path);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, symlinkat, (const char *target, int dirfd, const char *path))
{
    struct call call = call_begin(OP_symlink);
    int failed = REAL(symlinkat)(target, dirfd, path);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(ssize_t, readlink, (const char *path, char *target, size_t room))
{
    struct call call = call_begin(OP_readlink);
    ssize_t length = REAL(readlink)(path, target, room);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(ssize_t, readlinkat, (int dirfd, const char *path, char *target, size_t room))
{
    struct call call = call_begin(OP_readlink);
    ssize_t length = REAL(readlinkat)(dirfd, path, target, room);
    call_end(&call);
    call_named(&call, dirfd, path, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(ssize_t, __readlink_chk, (const char *path, char *target, size_t size, size_t room))
{
    struct call call = call_begin(OP_readlink);
    ssize_t length = REAL(__readlink_chk)(path, target, size, room);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(ssize_t, __readlinkat_chk, (int dirfd, const char *path, char *target, size_t size, size_t room))
{
    struct call call = call_begin(OP_readlink);
    ssize_t length = REAL(__readlinkat_chk)(dirfd, path, target, size, room);
    call_end(&call);
    call_named(&call, dirfd, path, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(char *, realpath, (const char *path, char *resolved))
{
    struct call call = call_begin(OP_realpath);
    char *found = REAL(realpath)(path, resolved);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, found == NULL);
    call_close(&call);
    return found;
}

INTERPOSE(char *, __realpath_chk, (const char *path, char *resolved, size_t room))
{
    struct call call = call_begin(OP_realpath);
    char *found = REAL(__realpath_chk)(path, resolved, room);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, found == NULL);
    call_close(&call);
    return found;
}

INTERPOSE(char *, canonicalize_file_name, (const char *path))
{
    struct call call = call_begin(OP_realpath);
    char *found = REAL(canonicalize_file_name)(path);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, found == NULL);
    call_close(&call);
    return found;
}

INTERPOSE(int, access, (const char *path, int mode))
{
    struct call call = call_begin(OP_access);
    int failed = REAL(access)(path, mode);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, euidaccess, (const char *path, int mode))
{
    struct call call = call_begin(OP_access);
    int failed = REAL(euidaccess)(path, mode);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(eaccess, euidaccess);

INTERPOSE(int, faccessat, (int dirfd, const char *path, int mode, int flags))
{
    struct call call = call_begin(OP_access);
    int failed = REAL(faccessat)(dirfd, path, mode, flags);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, rmdir, (const char *path))
{
    struct call call = call_begin(OP_rmdir);
    int failed = REAL(rmdir)(path);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, remove, (const char *path))
{
    struct call call = call_begin(OP_remove);
    int failed = REAL(remove)(path);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, mknod, (const char *path, mode_t mode, dev_t device))
{
    struct call call = call_begin(OP_mknod);
    int failed = REAL(mknod)(path, mode, device);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, mknodat, (int dirfd, const char *path, mode_t mode, dev_t device))
{
    struct call call = call_begin(OP_mknod);
    int failed = REAL(mknodat)(dirfd, path, mode, device);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, __xmknod, (int version, const char *path, mode_t mode, dev_t *device))
{
    struct call call = call_begin(OP_mknod);
    int failed = REAL(__xmknod)(version, path, mode, device);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, __xmknodat, (int version, int dirfd, const char *path, mode_t mode, dev_t *device))
{
    struct call call = call_begin(OP_mknod);
    int failed = REAL(__xmknodat)(version, dirfd, path, mode, device);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, mkfifo, (const char *path, mode_t mode))
{
    struct call call = call_begin(OP_mknod);
    int failed = REAL(mkfifo)(path, mode);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, mkfifoat, (int dirfd, const char *path, mode_t mode))
{
    struct call call = call_begin(OP_mknod);
    int failed = REAL(mkfifoat)(dirfd, path, mode);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(char *, mkdtemp, (char *path))
{
    struct call call = call_begin(OP_mkdtemp);
    char *made = REAL(mkdtemp)(path);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, made == NULL);
    call_close(&call);
    return made;
}

INTERPOSE(int, mkstemp, (char *path))
{
    struct call call = call_begin(OP_mkstemp);
    int fd = REAL(mkstemp)(path);
    call_end(&call);
    call_opened(&call, fd, AT_FDCWD, path);
    call_close(&call);
    return fd;
}
SAME_AS(mkstemp64, mkstemp);

INTERPOSE(int, mkostemp, (char *path, int flags))
{
    struct call call = call_begin(OP_mkstemp);
    int fd = REAL(mkostemp)(path, flags);
    call_end(&call);
    call_opened(&call, fd, AT_FDCWD, path);
    call_close(&call);
    return fd;
}
SAME_AS(mkostemp64, mkostemp);

INTERPOSE(int, mkstemps, (char *path, int suffix_length))
{
    struct call call = call_begin(OP_mkstemp);
    int fd = REAL(mkstemps)(path, suffix_length);
    call_end(&call);
    call_opened(&call, fd, AT_FDCWD, path);
    call_close(&call);
    return fd;
}
SAME_AS(mkstemps64, mkstemps);

INTERPOSE(int, mkostemps, (char *path, int suffix_length, int flags))
{
    struct call call = call_begin(OP_mkstemp);
    int fd = REAL(mkostemps)(path, suffix_length, flags);
    call_end(&call);
    call_opened(&call, fd, AT_FDCWD, path);
    call_close(&call);
    return fd;
}
SAME_AS(mkostemps64, mkostemps);

INTERPOSE(int, name_to_handle_at, (int dirfd, const char *path, struct file_handle *handle, int *mount_id, int flags))
{
    struct call call = call_begin(OP_name_to_handle_at);
    int failed = REAL(name_to_handle_at)(dirfd, path, handle, mount_id, flags);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, open_by_handle_at, (int mount_fd, struct file_handle *handle, int flags))
{
    struct call call = call_begin(OP_open_by_handle_at);
    int fd = REAL(open_by_handle_at)(mount_fd, handle, flags);
    call_end(&call);
    call_opened(&call, fd, mount_fd, NULL);
    call_close(&call);
    return fd;
}
