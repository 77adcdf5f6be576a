! Computes and communicates in Fortran, in each of mpi_split.c's ways in turn, and prints what its own clock says. Built with -cpp; -DF08 takes the module mpi_f08 instead of mpi, -DMPIF takes mpif.h.
program mpi_split_fortran
#ifdef F08
  use mpi_f08
  implicit none
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
  integer :: requests(4), statuses(MPI_STATUS_SIZE, 4)
#endif
  integer, parameter :: halo = 4096
  double precision, parameter :: seconds = 0.3d0
  integer :: error, rank, ranks, mpi_calls = 0, mpi_bytes = 0
  double precision :: mpi_seconds = 0, all_began, began
  double precision :: here(halo), there(halo), left_edge(halo), right_edge(halo), all(8 * halo)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  here = rank
  all = rank
  all_began = now()
  call play_ping_pong()
  call exchange_halos()
  call call_collectives()
  print '(a,i0,a,f0.6,a,f0.6,a,i0,a,i0)', 'rank ', rank, ' mpi ', mpi_seconds, ' io 0 all ', &
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
end program
