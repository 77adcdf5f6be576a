! One file written and read back through mpif.h: mpi_names FILE. For compilers' ways of naming routines: -fno-underscoring,
! -fsecond-underscore. Every status is the program's own: Open MPI knows an ignored one under one name alone.
program mpi_names
  implicit none
  include 'mpif.h'
  integer :: error, rank, file, status(MPI_STATUS_SIZE), numbers(100)
  integer(kind=MPI_OFFSET_KIND) :: mine
  character(len=1024) :: name

  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call get_command_argument(1, name)
  numbers = rank
  mine = 400 * rank
  call MPI_FILE_OPEN(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  call MPI_FILE_WRITE_AT(file, mine, numbers, 100, MPI_INTEGER, status, error)
  call MPI_FILE_READ_AT_ALL(file, mine, numbers, 100, MPI_INTEGER, status, error)
  if (any(numbers /= rank)) call MPI_ABORT(MPI_COMM_WORLD, 1, error)
  call MPI_FILE_CLOSE(file, error)
  call MPI_FINALIZE(error)
end program mpi_names
