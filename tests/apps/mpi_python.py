"""MPI-IO of Python: mpi_python.py FILE. Each rank writes and reads 4,000 bytes at a time, in all its manners."""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
written, found = bytearray(b"slicewise " * 400), bytearray(4000)
mine = 100_000 * world.rank
file = MPI.File.Open(world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at(mine, written)
MPI.Request.Waitall([file.Iwrite_at(mine + 4000 * i, written) for i in (1, 2)])
file.Write_at_all(mine + 12_000, written)
file.Sync()
world.Barrier()
file.Iread_at(mine + 4000, found).Wait()
assert found == written, "other data was read than was written"
file.Read_at_all_begin(mine + 12_000, found)
file.Read_at_all_end(found)
assert found == written, "other data was read than was written"
file.Close()
