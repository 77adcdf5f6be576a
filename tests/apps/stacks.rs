// Rust whose stacks are walked at each instruction (stack_oracle.c): generics, closures, a panic that is caught.
use std::collections::BTreeMap;
use std::panic;

extern "C" {
    fn stack_oracle_step();
    fn stack_oracle_rest();
}

struct Guard(Vec<u8>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.push(1);
    }
}

#[inline(never)]
fn through(depth: usize, values: &[i32]) -> i32 {
    let _guard = Guard(vec![0; depth + 1]);
    if depth == 0 {
        values[std::hint::black_box(7)]
    } else {
        through(depth - 1, values) + 1
    }
}

#[inline(never)]
fn apply<T>(f: impl Fn(i32) -> T, n: i32) -> T {
    f(n)
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    unsafe { stack_oracle_step() };
    let mut values: Vec<i32> = (0..12).map(|i| i * 37 % 11).collect();
    values.sort_by(|a, b| b.cmp(a));
    let names: BTreeMap<String, i32> = values.iter().map(|v| (format!("{v:?}"), *v)).collect();
    let sum = apply(|n| n + names.len() as i32 + through(2, &values), 3);
    let caught = panic::catch_unwind(|| through(3, &[1, 2, 3])).is_err();
    unsafe { stack_oracle_rest() };
    std::process::exit(if caught && sum > 0 { 0 } else { 1 });
}
