! A file opened in Fortran and written in C, and one opened in C and written in Fortran: mpi_handles FILE. With mpi_handles_in_c.c.
program mpi_handles
  use mpi
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  implicit none
  interface
    subroutine write_in_c(file) bind(c)
      import :: c_int
      integer(c_int), value :: file
    end subroutine write_in_c
    integer(c_int) function open_in_c(name) bind(c)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function open_in_c
  end interface
  integer :: error, file, numbers(200)
  character(len=1024) :: name

  call MPI_Init(error)
  call get_command_argument(1, name)
  numbers = 1
  call MPI_File_open(MPI_COMM_SELF, trim(name) // '.fortran', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  call write_in_c(file)
  call MPI_File_close(file, error)
  file = open_in_c(trim(name) // '.c' // c_null_char)
  call MPI_File_write(file, numbers, 200, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  call MPI_Finalize(error)
end program mpi_handles
