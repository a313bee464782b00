//! Identifiers of activations, servers and goals.

use std::fmt;

/// One activation of one leaf, from its first tick to its completion or halt. Never reused, so no late message reaches
/// a later activation (G4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Ticket(pub u64);

/// The number of a link between one world and the GoalTracker. Each world numbers its tickets from one, and one
/// GoalTracker serves several worlds. So the upper bits of a ticket in the GoalTracker are the number of its link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LinkId(pub u16);

impl Ticket {
    const LINK_SHIFT: u32 = 48;

    /// This ticket with the number of its link, as the GoalTracker knows it.
    #[must_use]
    pub fn on(self, link: LinkId) -> Self {
        Self(self.0 | u64::from(link.0) << Self::LINK_SHIFT)
    }

    /// The link of this ticket of the GoalTracker.
    pub fn link(self) -> LinkId {
        LinkId((self.0 >> Self::LINK_SHIFT) as u16)
    }

    /// This ticket without the number of its link, as its world knows it.
    #[must_use]
    pub fn in_world(self) -> Self {
        Self(self.0 & ((1 << Self::LINK_SHIFT) - 1))
    }
}

/// The transports' number of an opened action server or service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct ServerId(pub u32);

/// The 16-byte id of a goal, chosen by the client.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub struct GoalId(pub [u8; 16]);

impl GoalId {
    /// All zero: no particular goal, in a cancel request.
    pub const ZERO: Self = Self([0; 16]);

    /// Converts the `Vec<u8>` of r2r. `None` unless it is 16 bytes long.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The four bytes that identify goals of this node and of earlier runs with the same name.
    pub fn mark(self) -> u32 {
        u32::from_be_bytes([self.0[0], self.0[1], self.0[2], self.0[3]])
    }

    /// The bits that differ between two runs of the same node.
    fn run(self) -> u64 {
        (self.bits() >> 48) as u64 & RUN_MASK
    }

    fn bits(self) -> u128 {
        u128::from_be_bytes(self.0)
    }
}

impl fmt::Display for GoalId {
    /// Formats the id as ROS tools do: `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for GoalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GoalId({self})")
    }
}

/// Layout of the 128 bits: 32 mark, 16 run, 4 version, 12 run, 2 variant, 14 run, 48 counter.
const VERSION_AND_VARIANT: u128 = (0x4 << 76) | (0b10 << 62);
const RUN_MASK: u64 = 0xffff_0fff_3fff;
const COUNTER_MASK: u64 = 0xffff_ffff_ffff;

/// Generates goal ids: well-formed version 4 UUIDs with a structure.
///
/// Fully random ids, as of other clients, do not show which node made them. These ids begin with a mark (a hash of the
/// node's full name), so after a crash the next process recognizes goals of the earlier run on a server's status topic.
/// Then follow 42 random bits, drawn once per run, to distinguish the two processes, and a counter, so the same seed
/// gives the same ids (G9).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GoalIds {
    prefix: u128,
    next: u64,
}

impl GoalIds {
    /// `mark` is a hash of the node's full name. `run` is random; 42 of its bits are used.
    pub fn new(mark: u32, run: u64) -> Self {
        let prefix = (u128::from(mark) << 96) | (u128::from(run & RUN_MASK) << 48) | VERSION_AND_VARIANT;
        Self { prefix, next: 1 }
    }

    /// Hashes a node's full name for [`GoalIds::new`] (FNV-1a, 32 bit: the same in every build).
    pub fn mark_of(node: &str) -> u32 {
        node.bytes().fold(0x811c_9dc5, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        })
    }

    /// The mark of all ids; see [`GoalId::mark`].
    pub fn mark(&self) -> u32 {
        GoalId(self.prefix.to_be_bytes()).mark()
    }

    /// Returns the next id.
    pub fn next_id(&mut self) -> GoalId {
        let id = GoalId((self.prefix | u128::from(self.next & COUNTER_MASK)).to_be_bytes());
        self.next = self.next.wrapping_add(1);
        id
    }

    /// Whether this run made this id.
    pub fn is_own(&self, goal: GoalId) -> bool {
        let counter = (goal.bits() as u64) & COUNTER_MASK;
        goal.bits() & !u128::from(COUNTER_MASK) == self.prefix && (1..self.next).contains(&counter)
    }

    /// Whether an earlier run of the same node made this id.
    pub fn is_predecessor(&self, goal: GoalId) -> bool {
        let own = GoalId(self.prefix.to_be_bytes());
        goal.bits() & VERSION_AND_VARIANT == VERSION_AND_VARIANT
            && goal.mark() == own.mark()
            && goal.run() != own.run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_4_uuids_with_mark_and_counter() {
        let mut ids = GoalIds::new(0xdead_beef, u64::MAX);
        assert_eq!(ids.next_id().to_string(), "deadbeef-ffff-4fff-bfff-000000000001");
        assert_eq!(ids.next_id().to_string(), "deadbeef-ffff-4fff-bfff-000000000002");
    }

    #[test]
    fn g3_ids_tell_a_predecessor_from_ourselves_and_from_strangers() {
        let mark = GoalIds::mark_of("/robot1/bt_navigator");
        let mut ours = GoalIds::new(mark, 1);
        let mut before = GoalIds::new(mark, 2);
        let mut other = GoalIds::new(GoalIds::mark_of("/robot2/bt_navigator"), 2);
        assert!(ours.is_predecessor(before.next_id()));
        let own = ours.next_id();
        assert!(!ours.is_predecessor(own));
        assert!(ours.is_own(own));
        assert!(!before.is_own(own) && !other.is_own(own));
        let mut yet_to_come = ours.clone();
        assert!(!ours.is_own(yet_to_come.next_id()));
        assert!(!ours.is_own(GoalId::ZERO));
        assert!(!ours.is_predecessor(other.next_id()));
        assert!(!ours.is_predecessor(GoalId::ZERO));
    }

    #[test]
    fn a_goal_id_of_the_wire_has_sixteen_bytes() {
        assert_eq!(GoalId::from_slice(&[7; 16]), Some(GoalId([7; 16])));
        assert_eq!(GoalId::from_slice(&[7; 15]), None);
    }
}
