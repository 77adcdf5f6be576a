! Collective writes of every kind in Fortran, `part` integers a rank each, as in mpi_turns.c: mpi_turns_fortran FILE. Built with -cpp; -DF08 takes the
! module mpi_f08 instead of mpi.
program mpi_turns_fortran
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_File) :: file
  type(MPI_Request) :: requests(1)
  type(MPI_Status) :: status, statuses(1)
#else
  use mpi
  implicit none
  integer :: file, requests(1), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 1)
#endif
  integer, parameter :: part = 65536
  integer :: error, rank, ranks, kind
  integer :: written(part)
  character(len=1024) :: name

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, name)
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  do kind = 0, 7
    written = 16 * kind + rank
    call MPI_File_seek(file, place(), MPI_SEEK_SET, error)
    if (kind == 2 .or. kind == 5) call MPI_File_seek_shared(file, shared(), MPI_SEEK_SET, error)
    select case (kind)
    case (0)
      call MPI_File_write_all(file, written, part, MPI_INTEGER, status, error)
    case (1)
      call MPI_File_write_at_all(file, place(), written, part, MPI_INTEGER, status, error)
    case (2)
      call MPI_File_write_ordered(file, written, part, MPI_INTEGER, status, error)
    case (3)
      call MPI_File_write_all_begin(file, written, part, MPI_INTEGER, error)
      call MPI_File_write_all_end(file, written, status, error)
    case (4)
      call MPI_File_write_at_all_begin(file, place(), written, part, MPI_INTEGER, error)
      call MPI_File_write_at_all_end(file, written, status, error)
    case (5)
      call MPI_File_write_ordered_begin(file, written, part, MPI_INTEGER, error)
      call MPI_File_write_ordered_end(file, written, status, error)
    case (6)
      call MPI_File_iwrite_all(file, written, part, MPI_INTEGER, requests(1), error)
      call MPI_Wait(requests(1), status, error)
    case (7)
      call MPI_File_iwrite_at_all(file, place(), written, part, MPI_INTEGER, requests(1), error)
      call MPI_Waitall(1, requests, statuses, error)
    end select
  end do
  call MPI_File_close(file, error)
  call MPI_Finalize(error)

contains

  integer(MPI_OFFSET_KIND) function place()
    place = (int(kind, MPI_OFFSET_KIND) * ranks + rank) * part * 4
  end function place

  integer(MPI_OFFSET_KIND) function shared()
    shared = int(kind, MPI_OFFSET_KIND) * ranks * part * 4
  end function shared

end program mpi_turns_fortran
