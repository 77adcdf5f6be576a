! Every blocking MPI-IO routine once, in Fortran: mpi_transfers_fortran FILE. The i-th moves 1000 i + rank integers; then reads that find less
! than they ask for. Built with -cpp; -DF08 takes the module mpi_f08 instead of mpi, whose calls may leave out the error code.
program mpi_transfers_fortran
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_File) :: file
  type(MPI_Status) :: status
#define OPTIONAL_ERROR
#else
  use mpi
  implicit none
  integer :: file, status(MPI_STATUS_SIZE)
#define OPTIONAL_ERROR , error
#endif
  integer, parameter :: region = 1048576
  integer :: error, rank, ranks, i, count
  integer :: written(region / 4), found(region / 4)
  integer(MPI_OFFSET_KIND) :: mine, shared
  character(len=1024) :: name

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, name)
  written = [(3 * i + 1, i = 1, size(written))]
  mine = int(rank, MPI_OFFSET_KIND) * region
  shared = int(ranks, MPI_OFFSET_KIND) * region

  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  call require(error == MPI_SUCCESS, 'open')
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_BYTE, MPI_BYTE, 'native', MPI_INFO_NULL, error)
  call MPI_File_seek(file, mine, MPI_SEEK_SET OPTIONAL_ERROR)
  call MPI_File_write(file, written, 1000 + rank, MPI_INTEGER, status, error)
  call MPI_File_write_at(file, mine + 100000, written, 2000 + rank, MPI_INTEGER, MPI_STATUS_IGNORE OPTIONAL_ERROR)
  call MPI_File_seek(file, mine + 200000, MPI_SEEK_SET, error)
  call MPI_File_write_all(file, written, 3000 + rank, MPI_INTEGER, status, error)
  call MPI_File_write_at_all(file, mine + 300000, written, 4000 + rank, MPI_INTEGER, MPI_STATUS_IGNORE OPTIONAL_ERROR)
  call MPI_File_seek_shared(file, shared, MPI_SEEK_SET, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_File_write_shared(file, written, 5000 + rank, MPI_INTEGER, status, error)
  call MPI_File_write_ordered(file, written, 6000 + rank, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call MPI_File_sync(file, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)

  call MPI_File_seek(file, mine, MPI_SEEK_SET, error)
  call MPI_File_read(file, found, 1000 + rank, MPI_INTEGER, status, error)
  call MPI_Get_count(status, MPI_INTEGER, count, error)
  call require(count == 1000 + rank .and. all(found(:count) == written(:count)), 'read')
  call MPI_File_read_at(file, mine + 100000, found, 2000 + rank, MPI_INTEGER, MPI_STATUS_IGNORE OPTIONAL_ERROR)
  call require(all(found(:2000 + rank) == written(:2000 + rank)), 'read_at')
  call MPI_File_seek(file, mine + 200000, MPI_SEEK_SET, error)
  call MPI_File_read_all(file, found, 3000 + rank, MPI_INTEGER, status, error)
  call require(all(found(:3000 + rank) == written(:3000 + rank)), 'read_all')
  call MPI_File_read_at_all(file, mine + 300000, found, 4000 + rank, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call require(all(found(:4000 + rank) == written(:4000 + rank)), 'read_at_all')
  call MPI_File_seek_shared(file, shared, MPI_SEEK_SET, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_File_read_shared(file, found, 5000 + rank, MPI_INTEGER, status, error)
  call MPI_File_read_ordered(file, found, 6000 + rank, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  call require(error == MPI_SUCCESS, 'close')

  name = trim(name) // '.' // achar(iachar('0') + rank)
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  call MPI_File_write(file, written, 1000, MPI_BYTE, MPI_STATUS_IGNORE, error)
  call MPI_File_read_at(file, 500_MPI_OFFSET_KIND, found, 4000, MPI_BYTE, status, error)
  call MPI_Get_count(status, MPI_BYTE, count, error)
  call require(count == 500, 'short read')
  call MPI_File_read_at(file, 700_MPI_OFFSET_KIND, found, 4000, MPI_BYTE, MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  call MPI_Finalize(error)

contains

  subroutine require(is_true, what)
    logical, intent(in) :: is_true
    character(len=*), intent(in) :: what
    if (is_true) return
    print *, 'mpi_transfers_fortran: rank', rank, ': ', what, ' went wrong'
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine require

end program mpi_transfers_fortran
