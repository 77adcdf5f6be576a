! The calls of slicewise/coordinate.h for Fortran programs, which compile this file with their own compiler and link with -lslicewise-coordinate.
module slicewise_coordinate
   use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int32_t, c_int64_t, c_double
   implicit none
   private
   public :: slicewise_io, slicewise_go, slicewise_stay, slicewise_off
   public :: slicewise_coordinate_prepare, slicewise_coordinate_prepare_values
   public :: slicewise_coordinate_inform, slicewise_coordinate_check, slicewise_coordinate_wait
   public :: slicewise_coordinate_release, slicewise_coordinate_complete, slicewise_coordinate_waited

   type, bind(c) :: slicewise_io
      integer(c_int64_t) :: bytes = 0
      real(c_double) :: seconds = 0
      real(c_double) :: demand = 0
      integer(c_int32_t) :: processes = 1
   end type slicewise_io

   integer(c_int), parameter :: slicewise_go = 0, slicewise_stay = 1, slicewise_off = 2

   interface
      integer(c_int) function slicewise_coordinate_prepare(io) bind(c)
         import :: c_int, slicewise_io
         type(slicewise_io), intent(in) :: io
      end function
      integer(c_int) function slicewise_coordinate_prepare_values(values) bind(c)  ! with c_null_char at their end
         import :: c_char, c_int
         character(kind=c_char), intent(in) :: values(*)
      end function
      integer(c_int) function slicewise_coordinate_inform() bind(c)
         import :: c_int
      end function
      integer(c_int) function slicewise_coordinate_check() bind(c)
         import :: c_int
      end function
      integer(c_int) function slicewise_coordinate_wait() bind(c)
         import :: c_int
      end function
      integer(c_int) function slicewise_coordinate_release(remaining_bytes) bind(c)
         import :: c_int, c_int64_t
         integer(c_int64_t), value :: remaining_bytes
      end function
      integer(c_int) function slicewise_coordinate_complete() bind(c)
         import :: c_int
      end function
      real(c_double) function slicewise_coordinate_waited() bind(c)
         import :: c_double
      end function
   end interface
end module slicewise_coordinate
