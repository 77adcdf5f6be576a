! Communicates by the modules mpi and mpi_f08 and writes, and prints what its own clock says: as mpi_split.c.
module clocks
   use iso_c_binding
   implicit none
   real(8) :: mpi_seconds = 0, io_seconds = 0
   integer :: mpi_calls = 0, mpi_bytes = 0
   integer, parameter :: rounds = 50, elements = 4096
contains
   real(8) function now()
      integer(8) :: count, rate
      call system_clock(count, rate)
      now = real(count, 8)/real(rate, 8)
   end function
   subroutine compute(seconds)
      real(8), intent(in) :: seconds
      real(8) :: until
      until = now() + seconds
      do while (now() < until)
      end do
   end subroutine
   subroutine counted(began, bytes)
      real(8), intent(in) :: began
      integer, intent(in) :: bytes
      mpi_seconds = mpi_seconds + now() - began
      mpi_calls = mpi_calls + 1
      mpi_bytes = mpi_bytes + bytes
   end subroutine
end module

subroutine by_mpi(rank)
   use mpi
   use clocks
   integer, intent(in) :: rank
   integer :: error, i, requests(2), statuses(MPI_STATUS_SIZE, 2)
   logical :: done
   real(8) :: here(elements), there(elements), began
   here = rank
   do i = 1, rounds
      call compute(0.005d0*(1 + rank))
      began = now(); call MPI_Irecv(there, elements, MPI_DOUBLE_PRECISION, 1 - rank, 1, MPI_COMM_WORLD, requests(1), error)
      call counted(began, 0)
      began = now(); call MPI_Isend(here, elements, MPI_DOUBLE_PRECISION, 1 - rank, 1, MPI_COMM_WORLD, requests(2), error)
      call counted(began, 8*elements)
      began = now(); call MPI_Test(requests(1), done, MPI_STATUS_IGNORE, error)
      call counted(began, 0)
      began = now(); call MPI_Waitall(2, requests, statuses, error)
      call counted(began, 0)
      began = now(); call MPI_Allreduce(here, there, elements, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
      call counted(began, 8*elements)
      began = now(); call MPI_Sendrecv(here, elements, MPI_DOUBLE_PRECISION, 1 - rank, 2, there, elements, MPI_DOUBLE_PRECISION, &
                                       1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call counted(began, 8*elements)
   end do
end subroutine

subroutine by_mpi_f08(rank)
   use mpi_f08
   use clocks
   integer, intent(in) :: rank
   integer :: i
   type(MPI_Request) :: request
   real(8) :: here(elements), there(elements), began
   here = rank
   do i = 1, rounds
      call compute(0.005d0*(1 + rank))
      if (rank == 0) then
         began = now(); call MPI_Send(here, elements, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD)
         call counted(began, 8*elements)
      else
         began = now(); call MPI_Recv(there, elements, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
         call counted(began, 0)
      end if
      began = now(); call MPI_Bcast(here, elements, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
      call counted(began, 8*elements)
      began = now(); call MPI_Ibarrier(MPI_COMM_WORLD, request)
      call counted(began, 0)
      began = now(); call MPI_Wait(request, MPI_STATUS_IGNORE)
      call counted(began, 0)
      began = now(); call MPI_Barrier(MPI_COMM_WORLD)
      call counted(began, 0)
   end do
end subroutine

program split
   use mpi
   use clocks
   integer :: error, rank, unit, i
   character(len=4096) :: folder
   character(len=16) :: number
   character, parameter :: block(1048576) = 'x'
   real(8) :: all_began, began
   call get_command_argument(2, folder)
   call MPI_Init(error)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
   all_began = now()
   call by_mpi(rank)
   call by_mpi_f08(rank)
   write (number, '(i0)') rank
   began = now()
   open (newunit=unit, file=trim(folder)//'/split.'//trim(number), access='stream', form='unformatted')
   do i = 1, 20
      write (unit) block
   end do
   close (unit)
   io_seconds = now() - began
   began = now(); call MPI_Barrier(MPI_COMM_WORLD, error)
   call counted(began, 0)
   print '(a,i0,a,f0.6,a,f0.6,a,f0.6,a,i0,a,i0)', 'rank ', rank, ' mpi ', mpi_seconds, ' io ', io_seconds, ' all ', &
      now() - all_began, ' calls ', mpi_calls, ' bytes ', mpi_bytes
   call MPI_Finalize(error)
end program
