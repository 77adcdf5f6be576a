/* Logical and encrypted volumes: the disk that they are on, which jobs contend for, whatever the volume. */
#ifndef SLICEWISE_VOLUME_H
#define SLICEWISE_VOLUME_H

#include <stdbool.h>
#include <stdint.h>

#define DISK_NAME_BYTES 64

/* Whether a mount's source is a device under another name than the kernel's own, as /dev/mapper/home is, or /dev/root. */
bool volume_is(const char *source);

/* The kernel's name of the disk, or partition, that a volume is on: as far down as one device is made of one. A RAID is what its disks are made
 * into; a volume of several disks, or of what counts nothing, is on none. `sys`: where sysfs is mounted. `device`: st_dev of its files, for a source
 * that this process does not see. Returns "" where there is none, or the kernel does not say. */
const char *volume_disk(const char *sys, const char *source, uint64_t device, char name[DISK_NAME_BYTES]);

#endif
