//! Ports of the middleware's shared memory that lead nowhere.
//!
//! Fast DDS gives each process a port: a queue in shared memory into which all others on the machine write what is for
//! it. A process that is killed (`SIGKILL`, a crash) in the microseconds between two messages leaves a queue that looks
//! alive, and whoever has written to it goes on doing so when a successor has made a new one under the same name: nothing
//! that is sent there arrives, until the sender is restarted (Fast DDS 2.14.5; its issues 4728 and 5053). Discovery goes
//! another way, so that the successor seems to be there. Nothing can be done about it from here but to say so.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use crate::bt::Time;

/// Looking takes half a millisecond: the kernel lists all that the process has mapped.
const PAUSE: Duration = Duration::from_secs(10);

/// The ports that DDSI-RTPS gives to processes begin here. Those that Fast DDS takes from below are for discovery.
const FIRST: u32 = 7400;

/// Looks for dead ports when there is reason to.
#[derive(Debug, Default)]
pub(super) struct DeadPorts {
    next_look: Time,
    told: BTreeSet<u32>,
}

impl DeadPorts {
    /// A server that is there did not answer: says so where it may be a dead port, once for each.
    pub(super) fn suspect(&mut self, now: Time) {
        if now < self.next_look {
            return;
        }
        self.next_look = now + PAUSE;
        let Ok(maps) = File::open("/proc/self/maps") else {
            return;
        };
        let mut dead = dead(BufReader::new(maps));
        dead.retain(|port| file(*port).exists());
        for port in dead.difference(&self.told) {
            tracing::error!(
                "a server did not answer, and this may be why: what is sent to port {port} of Fast DDS's shared memory \
                 goes to a process that was killed, not to its successor. Restart this node"
            );
        }
        self.told = dead;
    }
}

fn file(port: u32) -> PathBuf {
    format!("/dev/shm/fastrtps_port{port}").into()
}

/// The ports that a process has mapped as they were before somebody made them anew, and not as they are.
fn dead(maps: impl BufRead) -> BTreeSet<u32> {
    let (mut replaced, mut current) = (BTreeSet::new(), BTreeSet::new());
    for line in maps.lines().map_while(Result::ok) {
        let Some((_, port)) = line.split_once(" /dev/shm/fastrtps_port") else {
            continue;
        };
        let (port, ports) = match port.strip_suffix(" (deleted)") {
            Some(port) => (port, &mut replaced),
            None => (port, &mut current),
        };
        ports.extend(port.parse::<u32>().ok().filter(|port| *port >= FIRST));
    }
    &replaced - &current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_dead_where_only_the_one_before_it_is_mapped() {
        let maps = "\
7f00-7f10 rw-s 00000000 fe:00 78 /dev/shm/fastrtps_port7024 (deleted)
7f10-7f20 rw-s 00000000 fe:00 79 /dev/shm/fastrtps_port29661
7f20-7f30 rw-s 00000000 fe:00 80 /dev/shm/fastrtps_port29663 (deleted)
7f30-7f40 rw-s 00000000 fe:00 81 /dev/shm/fastrtps_port29665 (deleted)
7f40-7f50 rw-s 00000000 fe:00 82 /dev/shm/fastrtps_port29665
7f50-7f60 rw-s 00000000 fe:00 83 /dev/shm/fastrtps_0a1b2c3d4e5f6071 (deleted)
7f60-7f70 r-xp 00000000 fe:00 84 /usr/lib/libfastrtps.so.2.14
";
        assert_eq!(dead(maps.as_bytes()), BTreeSet::from([29663]));
    }
}
