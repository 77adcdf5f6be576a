! Computes, communicates and writes in Fortran, as its first argument says, and prints what its own clock says of each: as mpi_split.c.
! The second argument is a directory for files. Built with -cpp; -DF08 takes the module mpi_f08 instead of mpi, -DMPIF takes mpif.h.
program mpi_split_fortran
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_File) :: file
  type(MPI_Request) :: requests(4)
  type(MPI_Status) :: statuses(4)
#else
#ifdef MPIF
  implicit none
  include 'mpif.h'
#else
  use mpi
  implicit none
#endif
  integer :: file, requests(4), statuses(MPI_STATUS_SIZE, 4)
#endif
  integer, parameter :: halo = 4096, block = 131072
  double precision, parameter :: seconds = 0.6d0
  integer :: error, rank, ranks, mpi_calls = 0, mpi_bytes = 0
  double precision :: mpi_seconds = 0, io_seconds = 0, all_began, began
  double precision :: here(halo), there(halo), left_edge(halo), right_edge(halo), all(8 * halo), blocks(block)
  character(len=16) :: kind
  character(len=1024) :: folder

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, kind)
  call get_command_argument(2, folder)
  here = rank
  all = rank
  blocks = rank
  all_began = now()
  select case (kind)
  case ('ping-pong')
    call play_ping_pong()
  case ('halo')
    call exchange_halos()
  case ('collectives')
    call call_collectives()
  case ('mpi-io')
    call write_together()
  case default
    error stop 'unknown kind of program'
  end select
  print '(a,i0,a,f0.6,a,f0.6,a,f0.6,a,i0,a,i0)', 'rank ', rank, ' mpi ', mpi_seconds, ' io ', io_seconds, ' all ', &
    now() - all_began, ' calls ', mpi_calls, ' bytes ', mpi_bytes
  call MPI_Finalize(error)

contains

  double precision function now()
    integer(8) :: count, rate
    call system_clock(count, rate)
    now = dble(count) / dble(rate)
  end function

  subroutine compute(duration)
    double precision, intent(in) :: duration
    double precision :: until
    until = now() + duration
    do while (now() < until)
    end do
  end subroutine

  ! A call of MPI that began at `began` is over.
  subroutine of_mpi(bytes)
    integer, intent(in) :: bytes
    mpi_seconds = mpi_seconds + now() - began
    mpi_calls = mpi_calls + 1
    mpi_bytes = mpi_bytes + bytes
    if (error /= MPI_SUCCESS) error stop 'a call of MPI failed'
  end subroutine

  subroutine of_io(status)
    integer, intent(in) :: status
    io_seconds = io_seconds + now() - began
    if (status /= 0) error stop 'a call of I/O failed'
  end subroutine

  subroutine play_ping_pong()
    integer :: i
    do i = 1, 200
      if (mod(i, 10) == 0) call compute(seconds / 40 * (1 + rank))
      if (rank == 0) call send()
      began = now()
      call MPI_Recv(there, 1, MPI_DOUBLE_PRECISION, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call of_mpi(0)
      if (rank == 1) call send()
    end do
  end subroutine

  subroutine send()
    began = now()
    call MPI_Send(here, 1, MPI_DOUBLE_PRECISION, 1 - rank, 1, MPI_COMM_WORLD, error)
    call of_mpi(8)
  end subroutine

  subroutine exchange_halos()
    integer :: i, left, right
    logical :: is_done
    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank + 1 < ranks)
    do i = 1, 60
      began = now()
      call MPI_Irecv(left_edge, halo, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1), error)
      call of_mpi(0)
      began = now()
      call MPI_Irecv(right_edge, halo, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, requests(2), error)
      call of_mpi(0)
      began = now()
      call MPI_Isend(here, halo, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(3), error)
      call of_mpi(merge(8 * halo, 0, rank > 0))
      began = now()
      call MPI_Isend(here, halo, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, requests(4), error)
      call of_mpi(merge(8 * halo, 0, rank + 1 < ranks))
      call compute(seconds / 120 * (1 + rank))
      began = now()
      call MPI_Test(requests(1), is_done, MPI_STATUS_IGNORE, error)
      call of_mpi(0)
      began = now()
      call MPI_Waitall(4, requests, statuses, error)
      call of_mpi(0)
      began = now()
      call MPI_Sendrecv(here, halo, MPI_DOUBLE_PRECISION, right, 2, there, halo, MPI_DOUBLE_PRECISION, left, 2, &
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call of_mpi(merge(8 * halo, 0, rank + 1 < ranks))
    end do
  end subroutine

  subroutine call_collectives()
    integer :: i
    do i = 1, 30
      call compute(seconds / 60 * (1 + mod(rank + i, ranks)))
      began = now()
      call MPI_Bcast(here, halo, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
      call of_mpi(8 * halo)
      began = now()
      call MPI_Allreduce(MPI_IN_PLACE, here, halo, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
      call of_mpi(8 * halo)
      began = now()
      call MPI_Gather(here, halo, MPI_DOUBLE_PRECISION, all, halo, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
      call of_mpi(merge(0, 8 * halo, rank == 0))
      began = now()
      call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DOUBLE_PRECISION, all, halo, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
      call of_mpi(8 * halo)
      began = now()
      call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE_PRECISION, all, halo, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
      call of_mpi(8 * ranks * halo)
      began = now()
      call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), error)
      call of_mpi(0)
      began = now()
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
      call of_mpi(0)
      began = now()
      call MPI_Barrier(MPI_COMM_WORLD, error)
      call of_mpi(0)
    end do
  end subroutine

  ! All write by MPI-IO, to one file.
  subroutine write_together()
    integer(MPI_OFFSET_KIND) :: place
    integer :: i
    began = now()
    call MPI_File_open(MPI_COMM_WORLD, trim(folder)//'/split', MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file, error)
    call of_io(error)
    do i = 0, 29
      call compute(seconds / 60 * (1 + rank))
      place = 8_MPI_OFFSET_KIND * block * (ranks * i + rank)
      began = now()
      call MPI_File_write_at_all(file, place, blocks, block, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, error)
      call of_io(error)
      began = now()
      call MPI_Barrier(MPI_COMM_WORLD, error)
      call of_mpi(0)
    end do
    began = now()
    call MPI_File_close(file, error)
    call of_io(error)
  end subroutine
end program
