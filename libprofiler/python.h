/* The Python frames of the calling thread, where the program is CPython 3.11 or 3.12: what lies behind the interpreter's C frames. The
 * interpreter's structures are read as these versions lay them out, by reads that fail where a load would crash, and nothing of the
 * interpreter is called but a look-up of the thread's own state. Guarded by the engine's lock. */
#ifndef SLICEWISE_PYTHON_H
#define SLICEWISE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_frame {
    uint64_t code, names[2]; /* the code object and its texts, which tell frames apart without reading them */
    uint64_t instruction;
    bool is_entry; /* C code called it: the frames outside of it lie beyond a C frame of the interpreter's */
};

/* Where the interpreter's own loop begins, 0 where there is none: its C frames stand for Python ones. */
uint64_t python_loop(void);

/* The innermost frames of this thread, at most so many. `is_interrupted`: at any instruction, so that they may be in the making. */
unsigned python_frames(struct python_frame *frames, unsigned most, bool is_interrupted);

/* A frame's function (qualified), file and line. Returns false where they cannot be read. */
bool python_describe(const struct python_frame *frame, char *function, char *file, uint64_t *line);

#endif
