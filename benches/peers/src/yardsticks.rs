//! What the machine's own primitives cost.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

use crate::{least_time, tell};

trait Update {
    fn update(&mut self);
}

struct One(u64);
struct Other(u64);

impl Update for One {
    fn update(&mut self) {
        self.0 = self.0.wrapping_add(1);
    }
}

impl Update for Other {
    fn update(&mut self) {
        self.0 = self.0.wrapping_sub(1);
    }
}

pub fn run() {
    let mut objects: [Box<dyn Update>; 2] = [Box::new(One(0)), Box::new(Other(0))];
    let time = least_time(|count| {
        for _ in 0..count {
            black_box(&mut objects[0]).update();
        }
    });
    tell("yardstick:virtual_call", time, "ns");
    let time = least_time(|count| {
        for _ in 0..count {
            black_box(Instant::now());
        }
    });
    tell("yardstick:clock_read", time, "ns");
    let mutex = Mutex::new(0_u64);
    let time = least_time(|count| {
        for _ in 0..count {
            if let Ok(mut held) = black_box(&mutex).lock() {
                *held = held.wrapping_add(1);
            }
        }
    });
    tell("yardstick:mutex", time, "ns");
    black_box(&objects[1]);
}
