! MPI-IO that goes on while the program does, in Fortran: mpi_nonblocking_fortran FILE. Requests of I/O are completed by every routine that may,
! among a message's requests too; then split collectives and attributes. Built with -cpp; -DF08 takes the module mpi_f08 instead of mpi.
program mpi_nonblocking_fortran
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_File) :: file
  type(MPI_Request) :: requests(4)
  type(MPI_Status) :: status, statuses(4)
#define SOURCE_OF(status) status%MPI_SOURCE
#define EACH(statuses, i) statuses(i)
#define OPTIONAL_ERROR
#else
  use mpi
  implicit none
  integer :: file, requests(4), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4)
#define SOURCE_OF(status) status(MPI_SOURCE)
#define EACH(statuses, i) statuses(:, i)
#define OPTIONAL_ERROR , error
#endif
  integer, parameter :: elements = 1000
  integer :: error, rank, i, done, completed, index, indices(4), count
  logical :: flag
  integer :: written(elements), found(elements), message(10), received(10)
  integer(MPI_OFFSET_KIND) :: size
  character(len=1024) :: name

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call get_command_argument(1, name)
  name = trim(name) // '.' // achar(iachar('0') + rank)
  written = [(3 * i + 1, i = 1, elements)]
  message = rank
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)

  call begin()
  do i = 1, 4
    call MPI_Wait(requests(i), MPI_STATUS_IGNORE OPTIONAL_ERROR)
  end do
  call require_null()
  call begin()
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE OPTIONAL_ERROR)
  call require_null()
  call begin()
  call MPI_Waitall(4, requests, statuses, error)
  do i = 1, 4
    if (i == 2) cycle ! what was sent has no count
    status = EACH(statuses, i)
    call MPI_Get_count(status, MPI_INTEGER, count, error)
    call require(count == merge(10, elements, i == 3), 'a count of Waitall')
  end do
  status = EACH(statuses, 3)
  call require(SOURCE_OF(status) == rank, 'the source of a message')
  call begin()
  do i = 1, 4
    call MPI_Waitany(4, requests, index, status, error)
    call require(index /= MPI_UNDEFINED, 'the index of Waitany')
  end do
  call require_null()
  call begin()
  done = 0
  do while (done < 4)
    call MPI_Testany(4, requests, index, flag, MPI_STATUS_IGNORE, error)
    if (flag) done = done + 1
  end do
  call require_null()
  call begin()
  done = 0
  do while (done < 4)
    call MPI_Waitsome(4, requests, completed, indices, statuses, error)
    done = done + completed
  end do
  call require_null()
  call begin()
  done = 0
  do while (done < 4)
    call MPI_Testsome(4, requests, completed, indices, MPI_STATUSES_IGNORE OPTIONAL_ERROR)
    done = done + completed
  end do
  call require_null()
  call begin()
  do i = 1, 4
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(i), flag, status, error)
    end do
  end do
  call require_null()

  call MPI_File_write_at_all_begin(file, 0_MPI_OFFSET_KIND, written, elements, MPI_INTEGER OPTIONAL_ERROR)
  call MPI_File_write_at_all_end(file, written, MPI_STATUS_IGNORE OPTIONAL_ERROR)
  call MPI_File_seek(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, error)
  found = 0
  call MPI_File_read_all_begin(file, found, elements, MPI_INTEGER, error)
  call MPI_File_read_all_end(file, found, status, error)
  call require(all(found == written), 'the data of a split collective')
  found = 0
  call MPI_File_iread_at(file, 0_MPI_OFFSET_KIND, found, elements, MPI_INTEGER, requests(1), error)
  call MPI_Wait(requests(1), status, error)
  call MPI_Get_count(status, MPI_INTEGER, count, error)
  call require(count == elements .and. all(found == written), 'the data of iread_at')

  call MPI_File_set_size(file, 12345_MPI_OFFSET_KIND OPTIONAL_ERROR)
  call MPI_File_get_size(file, size, error)
  call require(size == 12345, 'the size')
  call MPI_File_close(file, error)
  call MPI_File_delete(name, MPI_INFO_NULL, error)
  call require(error == MPI_SUCCESS, 'delete')
  call MPI_Finalize(error)

contains

  ! Two writes, and a message to oneself.
  subroutine begin()
    call MPI_File_iwrite_at(file, 0_MPI_OFFSET_KIND, written, elements, MPI_INTEGER, requests(1), error)
    call MPI_Isend(message, 10, MPI_INTEGER, rank, 7, MPI_COMM_WORLD, requests(2), error)
    call MPI_Irecv(received, 10, MPI_INTEGER, rank, 7, MPI_COMM_WORLD, requests(3), error)
    call MPI_File_iwrite_at(file, 4000_MPI_OFFSET_KIND, written, elements, MPI_INTEGER, requests(4) OPTIONAL_ERROR)
  end subroutine begin

  subroutine require_null()
    integer :: i
    do i = 1, 4
      call require(requests(i) == MPI_REQUEST_NULL, 'a completed request')
    end do
  end subroutine require_null

  subroutine require(is_true, what)
    logical, intent(in) :: is_true
    character(len=*), intent(in) :: what
    if (is_true) return
    print *, 'mpi_nonblocking_fortran: rank', rank, ': ', what, ' went wrong'
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine require

end program mpi_nonblocking_fortran
