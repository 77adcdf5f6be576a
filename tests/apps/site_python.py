"""I/O of a Python program, from a method, a closure and callbacks that C code calls; argv[1]: milliseconds of each."""

import ctypes
import os
import sys
import time

BLOCK = b"x" * (1 << 20)


class Checkpoint:
    def save(self, fd):
        os.pwrite(fd, BLOCK, 0)


def take(milliseconds, work):
    end = time.monotonic() + milliseconds / 1000
    while time.monotonic() < end:
        work()


def naïve(fd):
    def closure():
        os.pread(fd, len(BLOCK), 0)

    return closure


def by_callback(fd):
    sorted([fd], key=lambda number: len(os.pread(number, len(BLOCK), 0)))


def by_c_code(fd):
    compared = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    @compared
    def compare(left, right):
        return len(os.pread(fd, len(BLOCK), 0)) - len(BLOCK)

    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(), 2, ctypes.sizeof(ctypes.c_int), compare)


def main():
    fd = os.open("file", os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(fd, BLOCK, 0)
    milliseconds = int(sys.argv[1])
    checkpoint = Checkpoint()
    take(milliseconds, lambda: checkpoint.save(fd))
    take(milliseconds, naïve(fd))
    take(milliseconds, lambda: by_callback(fd))
    take(milliseconds, lambda: by_c_code(fd))


main()
