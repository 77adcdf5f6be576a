/* This user's files on the node: those in each directory of segments that is the user's alone to write to, below the directory of segments and TMPDIR. */
#ifndef SLICEWISE_OWN_SEGMENTS_H
#define SLICEWISE_OWN_SEGMENTS_H

/* Visits every file there whose name begins with `prefix`, as adopt_each has it. A place that does not answer is passed over, and `silent` (may be
 * NULL) hears of it. Other users' directories, of which a node may have a thousand, are passed over once, and again only where a directory is new. */
void own_segments_each(const char *segment_dir, const char *prefix, void (*visit)(int dir, const char *path, void *argument),
                       void (*silent)(const char *place, void *argument), void *argument);

#endif
