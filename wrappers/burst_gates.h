/* The wrappers of POSIX and stdio transfers, for what is put in front of them. From the call of one of the functions below on, calls of these names
 * that would come to our wrappers come to the gates, which call these. */
#ifndef SLICEWISE_BURST_GATES_H
#define SLICEWISE_BURST_GATES_H

#include "interpose.h"

#include <stdarg.h>
#include <sys/types.h>
#include <sys/uio.h>

HIDDEN ssize_t wrapper_write(int fd, const void *buf, size_t size);
HIDDEN ssize_t wrapper_pwrite(int fd, const void *buf, size_t size, off_t offset);
HIDDEN ssize_t wrapper_writev(int fd, const struct iovec *parts, int count);
HIDDEN ssize_t wrapper_pwritev(int fd, const struct iovec *parts, int count, off_t offset);
HIDDEN ssize_t wrapper_pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags);
struct posix_writes {
    __typeof__(wrapper_write) *write;
    __typeof__(wrapper_pwrite) *pwrite;
    __typeof__(wrapper_writev) *writev;
    __typeof__(wrapper_pwritev) *pwritev;
    __typeof__(wrapper_pwritev2) *pwritev2;
};
HIDDEN void posix_gate_writes(const struct posix_writes *gates);

HIDDEN ssize_t wrapper_read(int fd, void *buf, size_t size);
HIDDEN ssize_t wrapper_pread(int fd, void *buf, size_t size, off_t offset);
HIDDEN ssize_t wrapper_readv(int fd, const struct iovec *parts, int count);
HIDDEN ssize_t wrapper_preadv(int fd, const struct iovec *parts, int count, off_t offset);
struct posix_reads {
    __typeof__(wrapper_read) *read;
    __typeof__(wrapper_pread) *pread;
    __typeof__(wrapper_readv) *readv;
    __typeof__(wrapper_preadv) *preadv;
};
HIDDEN void posix_gate_reads(const struct posix_reads *gates);

HIDDEN int wrapper_close(int fd);
HIDDEN void posix_gate_close(__typeof__(wrapper_close) *gate);

HIDDEN size_t wrapper_fwrite(const void *buf, size_t size, size_t count, FILE *stream);
HIDDEN int wrapper_fflush(FILE *stream);
HIDDEN int wrapper_fclose(FILE *stream);
struct stdio_writes {
    __typeof__(wrapper_fwrite) *fwrite;
    __typeof__(wrapper_fflush) *fflush;
    __typeof__(wrapper_fclose) *fclose;
};
HIDDEN void stdio_gate_writes(const struct stdio_writes *gates);

HIDDEN size_t wrapper_fread(void *buf, size_t size, size_t count, FILE *stream);
HIDDEN void stdio_gate_reads(__typeof__(wrapper_fread) *gate);

HIDDEN int wrapper_fputc(int c, FILE *stream);
HIDDEN int wrapper_fputs(const char *text, FILE *stream);
HIDDEN int stdio_put_formatted(FILE *stream, const char *format, va_list arguments); /* as fprintf is counted */
HIDDEN int stdio_put_formatted_with_care(FILE *stream, int flag, const char *format, va_list arguments);
struct stdio_texts {
    __typeof__(wrapper_fputc) *fputc;
    __typeof__(wrapper_fputs) *fputs;
    int (*fprintf)(FILE *stream, const char *format, ...);
    int (*vfprintf)(FILE *stream, const char *format, va_list arguments);
    int (*fprintf_chk)(FILE *stream, int flag, const char *format, ...);
    int (*vfprintf_chk)(FILE *stream, int flag, const char *format, va_list arguments);
};
HIDDEN void stdio_gate_texts(const struct stdio_texts *gates);

#endif
