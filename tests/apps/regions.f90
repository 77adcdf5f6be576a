! A region of a Fortran program: regions FILE
program regions
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use slicewise_region
  implicit none
  integer(c_int64_t) :: region
  character(len=200) :: path
  integer :: i
  call get_command_argument(1, path)
  open (10, file=trim(path), form='unformatted', access='stream')
  do i = 1, 3
    region = slicewise_region_begin('checkpoint ')
    write (10) region
    flush (10)
    call slicewise_region_end(region)
    write (10) region
    flush (10)
  end do
end program regions
