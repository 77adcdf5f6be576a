/* POSIX calls that work on names: links, directories and special files by name, temporary names, permissions to look. */
#include "interpose.h"

#include <sys/stat.h>

COUNTED(link, int, link, (const char *from, const char *to), (from, to), named, AT_FDCWD, to, result != 0)
COUNTED(link, int, linkat, (int from_dirfd, const char *from, int to_dirfd, const char *to, int flags), (from_dirfd, from, to_dirfd, to, flags),
        named, to_dirfd, to, result != 0)
COUNTED(symlink, int, symlink, (const char *target, const char *path), (target, path), named, AT_FDCWD, path, result != 0)
COUNTED(symlink, int, symlinkat, (const char *target, int dirfd, const char *path), (target, dirfd, path), named, dirfd, path, result != 0)
COUNTED(readlink, ssize_t, readlink, (const char *path, char *target, size_t room), (path, target, room),
        named, AT_FDCWD, name_apart(path, target, result), result < 0)
COUNTED(readlink, ssize_t, readlinkat, (int dirfd, const char *path, char *target, size_t room), (dirfd, path, target, room),
        named, dirfd, name_apart(path, target, result), result < 0)
COUNTED(readlink, ssize_t, __readlink_chk, (const char *path, char *target, size_t size, size_t room), (path, target, size, room),
        named, AT_FDCWD, name_apart(path, target, result), result < 0)
COUNTED(readlink, ssize_t, __readlinkat_chk, (int dirfd, const char *path, char *target, size_t size, size_t room), (dirfd, path, target, size, room),
        named, dirfd, name_apart(path, target, result), result < 0)
COUNTED(realpath, char *, realpath, (const char *path, char *resolved), (path, resolved), named, AT_FDCWD, path, result == NULL)
COUNTED(realpath, char *, __realpath_chk, (const char *path, char *resolved, size_t room), (path, resolved, room),
        named, AT_FDCWD, path, result == NULL)
COUNTED(realpath, char *, canonicalize_file_name, (const char *path), (path), named, AT_FDCWD, path, result == NULL)
COUNTED(access, int, access, (const char *path, int mode), (path, mode), named, AT_FDCWD, path, result != 0)
COUNTED(access, int, euidaccess, (const char *path, int mode), (path, mode), named, AT_FDCWD, path, result != 0)
SAME_AS(eaccess, euidaccess);
COUNTED(access, int, faccessat, (int dirfd, const char *path, int mode, int flags), (dirfd, path, mode, flags), named, dirfd, path, result != 0)
COUNTED(rmdir, int, rmdir, (const char *path), (path), named, AT_FDCWD, path, result != 0)
COUNTED(remove, int, remove, (const char *path), (path), named, AT_FDCWD, path, result != 0)
COUNTED(mknod, int, mknod, (const char *path, mode_t mode, dev_t device), (path, mode, device), named, AT_FDCWD, path, result != 0)
COUNTED(mknod, int, mknodat, (int dirfd, const char *path, mode_t mode, dev_t device), (dirfd, path, mode, device), named, dirfd, path, result != 0)
COUNTED(mknod, int, __xmknod, (int version, const char *path, mode_t mode, dev_t *device), (version, path, mode, device),
        named, AT_FDCWD, path, result != 0)
COUNTED(mknod, int, __xmknodat, (int version, int dirfd, const char *path, mode_t mode, dev_t *device), (version, dirfd, path, mode, device),
        named, dirfd, path, result != 0)
COUNTED(mknod, int, mkfifo, (const char *path, mode_t mode), (path, mode), named, AT_FDCWD, path, result != 0)
COUNTED(mknod, int, mkfifoat, (int dirfd, const char *path, mode_t mode), (dirfd, path, mode), named, dirfd, path, result != 0)
COUNTED(mkdtemp, char *, mkdtemp, (char *path), (path), named, AT_FDCWD, path, result == NULL)
COUNTED(mkstemp, int, mkstemp, (char *path), (path), opened, result, AT_FDCWD, path)
SAME_AS(mkstemp64, mkstemp);
COUNTED(mkstemp, int, mkostemp, (char *path, int flags), (path, flags), opened, result, AT_FDCWD, path)
SAME_AS(mkostemp64, mkostemp);
COUNTED(mkstemp, int, mkstemps, (char *path, int suffix_length), (path, suffix_length), opened, result, AT_FDCWD, path)
SAME_AS(mkstemps64, mkstemps);
COUNTED(mkstemp, int, mkostemps, (char *path, int suffix_length, int flags), (path, suffix_length, flags), opened, result, AT_FDCWD, path)
SAME_AS(mkostemps64, mkostemps);
COUNTED(name_to_handle_at, int, name_to_handle_at, (int dirfd, const char *path, struct file_handle *handle, int *mount_id, int flags),
        (dirfd, path, handle, mount_id, flags), named, dirfd, name_apart(path, handle, result == 0 ? MAX_HANDLE_SZ : -1), result != 0)
COUNTED(open_by_handle_at, int, open_by_handle_at, (int mount_fd, struct file_handle *handle, int flags), (mount_fd, handle, flags),
        opened, result, mount_fd, NULL)
