//! The goals on servers, in memory that outlives the process.
//!
//! The file is in memory (`memfd`) and has one region for each robot of the process. A region has records of one size: the
//! first contains the node's name, each other one a goal or nothing. Each change is written with one call. No page boundary divides a record, so if the process is
//! killed, each record is as before or as after the change.

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use crate::goal::{GoalId, ServerId};

/// Bytes of a record. A divisor of the page size.
const RECORD_SIZE: usize = 512;
/// The maximum number of goals of a robot.
const MAX_GOALS: u64 = 256;
/// Records of a region: that of the node and those of its goals.
const REGION_RECORDS: u64 = MAX_GOALS + 1;
/// Offsets in a record: whether it is in use, the goal's id, the length of the name, the name.
const USED_OFFSET: usize = 0;
const ID_OFFSET: usize = 1;
const NAME_LENGTH_OFFSET: usize = 17;
const NAME_OFFSET: usize = 19;
/// The content of the first record in place of a goal's id.
const MAGIC: GoalId = GoalId(*b"navtree guardian");

/// The offset of a record in the file.
pub(super) const fn record_offset(record: u64) -> u64 {
    record * RECORD_SIZE as u64
}

/// Whether a record is that of a node, the first one of a region.
pub(super) const fn is_of_node(record: u64) -> bool {
    record.is_multiple_of(REGION_RECORDS)
}

fn encode(goal: GoalId, name: &str) -> Option<[u8; RECORD_SIZE]> {
    let mut record = [0; RECORD_SIZE];
    record[USED_OFFSET] = 1;
    record[ID_OFFSET..NAME_LENGTH_OFFSET].copy_from_slice(&goal.0);
    record[NAME_LENGTH_OFFSET..NAME_OFFSET].copy_from_slice(&u16::try_from(name.len()).ok()?.to_le_bytes());
    record
        .get_mut(NAME_OFFSET..NAME_OFFSET + name.len())?
        .copy_from_slice(name.as_bytes());
    Some(record)
}

/// `None` if the record is not in use or was not made by [`encode`].
fn decode(record: &[u8]) -> Option<(GoalId, String)> {
    if *record.get(USED_OFFSET)? == 0 {
        return None;
    }
    let goal = GoalId::from_slice(record.get(ID_OFFSET..NAME_LENGTH_OFFSET)?)?;
    let length = u16::from_le_bytes(record.get(NAME_LENGTH_OFFSET..NAME_OFFSET)?.try_into().ok()?);
    let name = record.get(NAME_OFFSET..NAME_OFFSET + usize::from(length))?;
    Some((goal, String::from_utf8(name.to_vec()).ok()?))
}

/// Creates a file in memory.
pub(super) fn create() -> io::Result<File> {
    // SAFETY: the name is a C string; the result is checked and has no other owner.
    let file = unsafe {
        let file = libc::memfd_create(c"navtree-goals".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(file)
    };
    file.set_len(record_offset(REGION_RECORDS))?;
    Ok(file)
}

/// The content of a region.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct RemainingGoals {
    /// The full name of the node.
    pub(super) node: String,
    /// The goals, each with the service that cancels it.
    pub(super) goals: Vec<(GoalId, String)>,
}

/// Reads a file: the regions of all nodes.
///
/// # Errors
/// The file cannot be read or has another format.
pub(super) fn read(file: &File) -> io::Result<Vec<RemainingGoals>> {
    let mut bytes = vec![0; RECORD_SIZE * REGION_RECORDS as usize];
    let regions = file.metadata()?.len() / bytes.len() as u64;
    let mut all = Vec::new();
    for region in 0..regions {
        file.read_exact_at(&mut bytes, record_offset(region * REGION_RECORDS))?;
        let mut records = bytes.chunks_exact(RECORD_SIZE).map(decode);
        // Without a node, the robot was not started.
        if let Some((MAGIC, node)) = records.next().flatten() {
            let goals = records.flatten().collect();
            all.push(RemainingGoals { node, goals });
        }
    }
    if all.is_empty() {
        return Err(io::Error::other("no list of goals"));
    }
    Ok(all)
}

/// Removes the goals of a region.
pub(super) fn clear(file: &File, region: u64) -> io::Result<()> {
    let first = region * REGION_RECORDS;
    let mut used = [0];
    for goal in first + 1..first + REGION_RECORDS {
        file.read_exact_at(&mut used, record_offset(goal) + USED_OFFSET as u64)?;
        if used != [0] {
            file.write_all_at(&[0], record_offset(goal) + USED_OFFSET as u64)?;
        }
    }
    Ok(())
}

/// Copies a region to a new file. `None` if it has no goal.
pub(super) fn copy(file: &File, region: u64) -> io::Result<Option<File>> {
    let mut bytes = vec![0; RECORD_SIZE * REGION_RECORDS as usize];
    let first = record_offset(region * REGION_RECORDS);
    if file.metadata()?.len() < first + bytes.len() as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut bytes, first)?;
    if bytes
        .chunks_exact(RECORD_SIZE)
        .skip(1)
        .all(|record| record[USED_OFFSET] == 0)
    {
        return Ok(None);
    }
    let copy = create()?;
    copy.write_all_at(&bytes, 0)?;
    Ok(Some(copy))
}

/// Makes the lists of goals of the robots of a process. Clones share the file.
#[derive(Clone, Debug)]
pub struct GoalLists(pub(super) Arc<File>);

impl GoalLists {
    /// Creates the empty list of goals of the robot with this number, whose node has this full name. An earlier list of
    /// this robot must not be used any more.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn list(&self, robot: usize, node: &str) -> io::Result<GuardedGoals> {
        GuardedGoals::new(&self.0, robot as u64, node)
    }
}

/// Writes the list of goals, on the thread that owns the goals.
#[derive(Debug)]
pub struct GuardedGoals {
    file: Arc<File>,
    /// The service that cancels the goals of a server.
    services: FxHashMap<ServerId, String>,
    entries: FxHashMap<GoalId, Entry>,
    free_records: Vec<u64>,
    round: u64,
    /// The number of goals in the file, for other threads.
    count: Arc<AtomicUsize>,
    /// Whether the error for a goal without a record was logged.
    has_logged_error: bool,
}

#[derive(Debug)]
struct Entry {
    record: u64,
    round: u64,
}

impl GuardedGoals {
    /// Creates an empty list of goals in a region, for a node with this full name.
    ///
    /// # Errors
    /// The file cannot be written, or the name is too long.
    fn new(file: &Arc<File>, region: u64, node: &str) -> io::Result<Self> {
        let record = encode(MAGIC, node).ok_or_else(|| io::Error::other("the node name is too long"))?;
        let first = region * REGION_RECORDS;
        let end = record_offset(first + REGION_RECORDS);
        // By a write, which never shortens the file: robots start side by side, and another one may lengthen it in between.
        if file.metadata()?.len() < end {
            file.write_all_at(&[0], end - 1)?;
        }
        // The guardian has cancelled the goals of an earlier run of this robot.
        clear(file, region)?;
        file.write_all_at(&record, record_offset(first))?;
        Ok(Self {
            file: Arc::clone(file),
            services: FxHashMap::default(),
            entries: FxHashMap::default(),
            free_records: (first + 1..first + REGION_RECORDS).rev().collect(),
            round: 0,
            count: Arc::default(),
            has_logged_error: false,
        })
    }

    /// Counts the goals in `count` from now on.
    pub(in crate::ros) fn count_in(&mut self, count: Arc<AtomicUsize>) {
        self.count = count;
        self.publish_count();
    }

    fn publish_count(&self) {
        self.count.store(self.entries.len(), Ordering::Release);
    }

    /// Sets the full name of the service that cancels the goals of a server.
    pub(in crate::ros) fn name_service(&mut self, server: ServerId, service: String) {
        self.services.insert(server, service);
    }

    /// Forgets the service of a server that has no goals.
    pub(in crate::ros) fn forget_service(&mut self, server: ServerId) {
        self.services.remove(&server);
    }

    /// Adds a goal, before its request leaves.
    pub(in crate::ros) fn add(&mut self, server: ServerId, goal: GoalId) {
        if let Some(entry) = self.entries.get_mut(&goal) {
            entry.round = self.round;
            return;
        }
        if let Err(reason) = self.write(server, goal)
            && !std::mem::replace(&mut self.has_logged_error, true)
        {
            tracing::error!("goal {goal}, and possibly other goals, not reported to the guardian: {reason}");
        }
    }

    /// Adds missing goals, and removes all goals that are not in `goals`.
    pub(in crate::ros) fn set(&mut self, goals: impl IntoIterator<Item = (ServerId, GoalId)>) {
        self.round += 1;
        for (server, goal) in goals {
            self.add(server, goal);
        }
        let round = self.round;
        for (_, removed) in self.entries.extract_if(|_, entry| entry.round != round) {
            // If the removal fails, the only effect is a cancel request for an ended goal.
            let _ = self
                .file
                .write_all_at(&[0], record_offset(removed.record) + USED_OFFSET as u64);
            self.free_records.push(removed.record);
        }
        self.publish_count();
    }

    fn write(&mut self, server: ServerId, goal: GoalId) -> Result<(), String> {
        let service = self
            .services
            .get(&server)
            .ok_or("its server has no service name")?;
        let bytes = encode(goal, service).ok_or_else(|| format!("the name {service} is too long"))?;
        let record = self.free_records.last().ok_or("too many goals")?;
        self.file
            .write_all_at(&bytes, record_offset(*record))
            .map_err(|error| error.to_string())?;
        let entry = Entry {
            record: *record,
            round: self.round,
        };
        self.free_records.pop();
        self.entries.insert(goal, entry);
        self.publish_count();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: ServerId = ServerId(1);
    const SECOND: ServerId = ServerId(2);

    fn goal(number: u16) -> GoalId {
        let mut id = [9; 16];
        id[..2].copy_from_slice(&number.to_be_bytes());
        GoalId(id)
    }

    fn goals() -> (Arc<File>, GuardedGoals) {
        let file = Arc::new(create().unwrap());
        let mut goals = GuardedGoals::new(&file, 0, "/robot1/bt_navigator").unwrap();
        goals.name_service(FIRST, "/spin/_action/cancel_goal".to_owned());
        goals.name_service(SECOND, "/wait/_action/cancel_goal".to_owned());
        (file, goals)
    }

    #[test]
    fn g11_the_file_contains_exactly_the_active_goals() {
        let (file, mut goals) = goals();
        let read = || read(&file).unwrap().remove(0);
        assert_eq!(read().node, "/robot1/bt_navigator");
        assert_eq!(read().goals, []);
        goals.add(FIRST, goal(1));
        goals.add(SECOND, goal(2));
        goals.add(SECOND, goal(2));
        let spin = (goal(1), "/spin/_action/cancel_goal".to_owned());
        let wait = (goal(2), "/wait/_action/cancel_goal".to_owned());
        assert_eq!(read().goals, [spin.clone(), wait.clone()]);
        goals.set([(SECOND, goal(2)), (FIRST, goal(3))]);
        assert_eq!(
            read().goals,
            [wait, (goal(3), "/spin/_action/cancel_goal".to_owned())]
        );
        goals.add(FIRST, goal(1));
        assert_eq!(read().goals[0], spin, "it takes the free record");
        goals.set([]);
        assert_eq!(read().goals, []);
    }

    #[test]
    fn g11_other_threads_read_the_number_of_goals() {
        let (_file, mut goals) = goals();
        let count = Arc::new(AtomicUsize::new(7));
        goals.count_in(Arc::clone(&count));
        let counted = || count.load(Ordering::Acquire);
        assert_eq!(counted(), 0);
        goals.add(FIRST, goal(1));
        goals.add(FIRST, goal(1));
        assert_eq!(counted(), 1);
        goals.set([(FIRST, goal(1)), (SECOND, goal(2)), (SECOND, goal(3))]);
        assert_eq!(counted(), 3);
        goals.add(ServerId(7), goal(4));
        assert_eq!(counted(), 3, "it could not be written");
        goals.set([]);
        assert_eq!(counted(), 0);
    }

    #[test]
    fn a_goal_beyond_the_maximum_replaces_no_other() {
        let (file, mut goals) = goals();
        let all = || (0..300).map(|number| (FIRST, goal(number)));
        goals.set(all());
        let read = || read(&file).unwrap().remove(0).goals;
        assert_eq!(read().len(), MAX_GOALS as usize);
        goals.set(all().skip(100));
        assert_eq!(read().len(), 156, "goals beyond the maximum have no record yet");
        goals.set(all().skip(100));
        assert_eq!(read().len(), 200);
        goals.add(ServerId(7), goal(400));
        assert_eq!(read().len(), 200, "a server without a name");
    }

    #[test]
    fn g11_robots_that_start_side_by_side_take_no_region_from_each_other() {
        for _ in 0..200 {
            let file = Arc::new(create().unwrap());
            let lists = GoalLists(Arc::clone(&file));
            std::thread::scope(|scope| {
                for robot in 0..4 {
                    let lists = &lists;
                    scope.spawn(move || {
                        let mut goals = lists.list(robot, &format!("/r{robot}/nav")).unwrap();
                        goals.name_service(FIRST, "/spin/_action/cancel_goal".to_owned());
                        goals.set([(FIRST, goal(1))]);
                    });
                }
            });
            let counts: Vec<usize> = read(&file)
                .unwrap()
                .iter()
                .map(|region| region.goals.len())
                .collect();
            assert_eq!(counts, [1; 4]);
        }
    }

    #[test]
    fn g11_each_robot_has_its_own_region() {
        let file = Arc::new(create().unwrap());
        let lists = GoalLists(Arc::clone(&file));
        let mut robots = [0, 2, 1].map(|robot| lists.list(robot, &format!("/r{robot}/nav")).unwrap());
        for (robot, goals) in (0..).zip(&mut robots) {
            goals.name_service(FIRST, "/spin/_action/cancel_goal".to_owned());
            goals.set((0..300).map(|number| (FIRST, goal(1000 * robot + number))));
        }
        let all = read(&file).unwrap();
        let nodes: Vec<&str> = all.iter().map(|region| region.node.as_str()).collect();
        assert_eq!(nodes, ["/r0/nav", "/r1/nav", "/r2/nav"]);
        for (region, first) in all.iter().zip([0, 2000, 1000]) {
            assert_eq!(region.goals.len(), MAX_GOALS as usize);
            assert_eq!(region.goals[0].0, goal(first));
        }
        // The copy of a region has the goals of its robot alone.
        let copied = read(&copy(&file, 2).unwrap().unwrap()).unwrap();
        assert_eq!(copied, all[2..]);
        assert!(copy(&file, 7).unwrap().is_none(), "there is no such robot");
        // A robot that is started again begins with an empty list.
        let _again = lists.list(2, "/r2/nav").unwrap();
        let counts: Vec<usize> = read(&file)
            .unwrap()
            .iter()
            .map(|region| region.goals.len())
            .collect();
        assert_eq!(counts, [256, 256, 0]);
        assert!(copy(&file, 2).unwrap().is_none(), "it has no goals");
    }

    #[test]
    fn a_file_of_another_format_is_refused() {
        let file = create().unwrap();
        assert!(read(&file).is_err());
        file.set_len(7).unwrap();
        assert!(read(&file).is_err());
        assert_eq!(decode(&[255; RECORD_SIZE]), None);
        assert!(encode(goal(1), &"x".repeat(RECORD_SIZE)).is_none());
    }
}
