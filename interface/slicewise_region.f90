! Regions of a Fortran program, as slicewise/region.h has them for C. Programs compile this file with their own compiler, and link nothing:
!
!    integer(c_int64_t) :: region
!    region = slicewise_region_begin('checkpoint')
!    call write_checkpoint()
!    call slicewise_region_end(region)
module slicewise_region
   use, intrinsic :: iso_c_binding, only: c_int64_t, c_char, c_null_char, c_ptr, c_null_ptr, c_funptr, c_associated, &
      c_f_procpointer
   implicit none
   private
   public :: slicewise_region_begin, slicewise_region_end

   abstract interface
      integer(c_int64_t) function begin_region(name) bind(c)
         import :: c_int64_t, c_char
         character(kind=c_char), intent(in) :: name(*)
      end function
      subroutine end_region(region) bind(c)
         import :: c_int64_t
         integer(c_int64_t), value :: region
      end subroutine
   end interface

   interface
      type(c_funptr) function dlsym(handle, name) bind(c)
         import :: c_funptr, c_ptr, c_char
         type(c_ptr), value :: handle
         character(kind=c_char), intent(in) :: name(*)
      end function
   end interface

contains

   integer(c_int64_t) function slicewise_region_begin(name)
      character(len=*), intent(in) :: name
      type(c_funptr) :: found
      procedure(begin_region), pointer :: begins
      slicewise_region_begin = 0
      found = dlsym(c_null_ptr, 'slicewise_region_begin' // c_null_char)
      if (.not. c_associated(found)) return
      call c_f_procpointer(found, begins)
      slicewise_region_begin = begins(trim(name) // c_null_char)
   end function

   subroutine slicewise_region_end(region)
      integer(c_int64_t), intent(in) :: region
      type(c_funptr) :: found
      procedure(end_region), pointer :: ends
      if (region == 0) return
      found = dlsym(c_null_ptr, 'slicewise_region_end' // c_null_char)
      if (.not. c_associated(found)) return
      call c_f_procpointer(found, ends)
      call ends(region)
   end subroutine
end module slicewise_region
