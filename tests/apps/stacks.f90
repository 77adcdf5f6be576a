! Fortran whose stacks are walked at each instruction (stack_oracle.c): internal procedures, which are called by way of code on the stack.
module work
  implicit none
  interface
    subroutine stack_oracle_step() bind(c)
    end subroutine
    subroutine stack_oracle_rest() bind(c)
    end subroutine
  end interface
contains
  recursive integer function depth(n) result(value)
    integer, intent(in) :: n
    real :: room(n + 3)
    room = real(n)
    value = int(sum(room))
    if (n > 0) value = value + depth(n - 1)
  end function

  integer function apply(f, n)
    interface
      integer function f(k)
        integer, intent(in) :: k
      end function
    end interface
    integer, intent(in) :: n
    apply = f(n) + f(n + 1)
  end function

  integer function outer(n)
    integer, intent(in) :: n
    integer :: base
    base = 10*n
    outer = apply(inner, n)
  contains
    integer function inner(k)
      integer, intent(in) :: k
      inner = base + depth(k)
    end function
  end function
end module

program stacks
  use work
  implicit none
  character(len=80) :: text
  real, allocatable :: matrix(:, :)
  integer :: total
  call stack_oracle_step()
  total = outer(2)
  allocate (matrix(8, 8))
  matrix = 1.5
  matrix = matmul(matrix, matrix)
  write (text, '(i6,f8.2,a)') total, matrix(2, 3), 'text'
  read (text, '(i6)') total
  deallocate (matrix)
  call stack_oracle_rest()
  if (total < 0) stop 1
end program
