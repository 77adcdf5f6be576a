! The I/O of a solver on a cube of `edge` points a side with five variables each, in the manner of the NAS benchmark BT-IO: every rank owns
! a block of the cube's last two dimensions with a layer of ghost points around it, and every `step` all ranks write the solution, without
! the ghosts, collectively through a strided view. Then the last step is read back and compared.
! mpi_block_tridiagonal FILE EDGE STEPS; the number of ranks is a square, and its root divides EDGE.
program mpi_block_tridiagonal
  use mpi
  implicit none
  integer, parameter :: variables = 5
  integer :: error, rank, ranks, side, edge, steps, step, block, column, row, file, in_file, in_memory, bytes
  integer :: status(MPI_STATUS_SIZE)
  integer(MPI_OFFSET_KIND) :: start
  double precision, allocatable :: solution(:, :, :, :), found(:, :, :, :)
  character(len=1024) :: name

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, name)
  edge = number_argument(2)
  steps = number_argument(3)
  side = nint(sqrt(dble(ranks)))
  if (side * side /= ranks .or. mod(edge, side) /= 0) call give_up('the ranks must be a square whose root divides EDGE')
  block = edge / side
  column = mod(rank, side)
  row = rank / side

  allocate(solution(variables, edge, 0:block + 1, 0:block + 1), found(variables, edge, 0:block + 1, 0:block + 1))
  call MPI_Type_create_subarray(4, [variables, edge, edge, edge], [variables, edge, block, block], &
                                [0, 0, column * block, row * block], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, in_file, error)
  call MPI_Type_create_subarray(4, [variables, edge, block + 2, block + 2], [variables, edge, block, block], &
                                [0, 0, 1, 1], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, in_memory, error)
  call MPI_Type_commit(in_file, error)
  call MPI_Type_commit(in_memory, error)
  call MPI_Type_size(in_memory, bytes, error)

  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  if (error /= MPI_SUCCESS) call give_up('cannot open the file')
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_DOUBLE_PRECISION, in_file, 'native', MPI_INFO_NULL, error)
  do step = 0, steps - 1
    solution = 1000 * step + rank
    start = int(step, MPI_OFFSET_KIND) * bytes / 8
    call MPI_File_write_at_all(file, start, solution, 1, in_memory, status, error)
    if (error /= MPI_SUCCESS) call give_up('cannot write')
  end do
  call MPI_File_sync(file, error)
  found = -1
  call MPI_File_read_at_all(file, start, found, 1, in_memory, MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  if (any(found(:, :, 1:block, 1:block) /= solution(:, :, 1:block, 1:block)) .or. &
      any(found(:, :, 0, :) /= -1)) call give_up('read something else than was written')
  call MPI_Finalize(error)

contains

  integer function number_argument(place)
    integer, intent(in) :: place
    character(len=32) :: text
    call get_command_argument(place, text)
    read (text, *) number_argument
  end function number_argument

  subroutine give_up(why)
    character(len=*), intent(in) :: why
    print *, 'mpi_block_tridiagonal: ', why
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine give_up

end program mpi_block_tridiagonal
