/* The directories in which a user's segments lie, and files of ours that lie beside segments. System calls alone. */
#ifndef SLICEWISE_SEGMENT_DIR_H
#define SLICEWISE_SEGMENT_DIR_H

/* Opens a directory of segments, by its name in an open one. Returns -errno if there is none, -EPERM if it is not this user's alone to write to. */
int segment_dir_open(int dir, const char *name);

enum { SEGMENT_DIR_PATH_BYTES = 512 };

/* Opens a file beside the segments, or makes it (O_CREAT, and the directory too): in the first of the user's directories where that can be done,
 * below `segment_dir` and then below TMPDIR, as segments lie. Returns a descriptor, or -errno, and the path. */
int segment_dir_open_file(const char *segment_dir, const char *name, int flags, char path[SEGMENT_DIR_PATH_BYTES]);

#endif
