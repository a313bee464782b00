//! Measures the visit of a node.
//!
//! `cargo bench --no-default-features --bench visits` prints nanoseconds per visit, or per tick for the last case: the
//! minimum of 20 samples. `test/instructions.rs` counts instructions. With a case's name and a number of ticks as
//! arguments, only this case runs, for callgrind.

use std::hint::black_box;
use std::sync::Arc;

use navtree::bt::{Time, Tree};

#[path = "shared/cases.rs"]
mod cases;
#[path = "shared/measure.rs"]
mod measure;

fn main() {
    let arguments = measure::arguments();
    for (name, visits, def) in cases::cases() {
        let mut tree = Tree::new(Arc::clone(&def));
        let mut run = |ticks: u32| {
            for _ in 0..ticks {
                let _ = black_box(tree.tick_exactly_once(Time::ZERO));
            }
        };
        match arguments.as_slice() {
            [case, ticks] if case == name => run(ticks.parse().unwrap_or(1000)),
            [_, _] => {}
            _ => {
                let unit = if visits == 1 { "ns/tick" } else { "ns/visit" };
                measure::tell(name, measure::least_time(run) / f64::from(visits), unit);
            }
        }
    }
}
