//! Settings of the middleware, made before it starts.
//!
//! Fast DDS gives each process a port: a queue in shared memory into which all other processes of the machine write
//! their messages for it. When a process is killed (`SIGKILL`, a crash), its queue may seem to be in use. The writers
//! then continue to use the old queue after the restarted process has created a new one of the same name. Their
//! messages arrive seconds later, when the middleware repeats them, or never (Fast DDS 2.14.5; its issues 4728 and
//! 5053). Of 15 servers that were killed and restarted during a navigation, 13 were reached within two seconds over UDP
//! and 2 over shared memory (`test/test_server_restart.py`). When a process opens the queue of another one, it may also
//! sleep for 333 ms with the lock of its writers (`SharedMemGlobal::open_port_internal`): a cancel of a client in Python
//! left that much later. So this node uses only UDP, unless the user has chosen a transport.

use std::ffi::{CStr, OsString};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const PROFILE: &str = include_str!("../../config/fast_dds.xml");

/// The variable that names a profile for Fast DDS 2 (Humble, Jazzy), and all variables by which a user chooses a
/// profile.
const VARIABLE: &str = "FASTRTPS_DEFAULT_PROFILES_FILE";
const CHOSEN: [&str; 2] = [VARIABLE, "FASTDDS_DEFAULT_PROFILES_FILE"];
const CHOSEN_FILES: [&str; 2] = ["DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml"];

/// The variable that chooses the transports of Fast DDS.
const TRANSPORTS: &str = "FASTDDS_BUILTIN_TRANSPORTS";

/// The variables that set the range of discovery.
const RANGE: &str = "ROS_AUTOMATIC_DISCOVERY_RANGE";
const LOCALHOST_ONLY: &str = "ROS_LOCALHOST_ONLY";
const STATIC_PEERS: &str = "ROS_STATIC_PEERS";

/// The variables that make a participant a client of a discovery server, to which alone it announces itself.
const DISCOVERY_SERVER: [&str; 2] = ["ROS_DISCOVERY_SERVER", "FASTDDS_ENVIRONMENT_FILE"];

/// The settings of rmw_fastrtps for `LOCALHOST`, without shared memory: each mark in the profile and its replacement.
const LOCALHOST: [(&str, &str); 4] = [
    (
        "<!-- transport -->",
        "<transport_descriptors><transport_descriptor><transport_id>navtree_udp</transport_id><type>UDPv4</type>\
         <receiveBufferSize>2097152</receiveBufferSize><maxInitialPeersRange>32</maxInitialPeersRange>\
         </transport_descriptor></transport_descriptors>",
    ),
    (
        "<!-- use transport -->",
        "<userTransports><transport_id>navtree_udp</transport_id></userTransports>\
         <useBuiltinTransports>false</useBuiltinTransports>",
    ),
    (
        "<!-- listen -->",
        "<metatrafficUnicastLocatorList><locator/></metatrafficUnicastLocatorList>",
    ),
    (
        PEERS,
        "<initialPeersList><locator><udpv4><address>127.0.0.1</address></udpv4></locator></initialPeersList>",
    ),
];

/// The mark for the properties of a participant, and the property of one that does not match its own endpoints.
const PROPERTIES: &str = "<!-- properties -->";
const IGNORE_ITSELF: &str = "<propertiesPolicy><properties><property><name>fastdds.ignore_local_endpoints</name>\
                             <value>true</value></property></properties></propertiesPolicy>";

/// The mark for the addresses to which a participant announces itself.
const PEERS: &str = "<!-- peers -->";

/// The file of the profile, removed on drop. Fast DDS reads it with the first node. It resolves the path (`realpath`)
/// and rejects a file without a name, such as one of `memfd_create`.
#[derive(Debug)]
pub struct Profile {
    path: PathBuf,
    text: String,
}

impl Profile {
    /// Removes the file, when a node has read it: it must not stay when the process is killed.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// Writes the file again, before another context is created. Without it, the node runs with the defaults.
    pub fn restore(&self) {
        let _ = self.write();
    }

    fn write(&self) -> std::io::Result<()> {
        // An existing file belongs to another process.
        let mut file = OpenOptions::new().write(true).create_new(true).open(&self.path)?;
        file.write_all(self.text.as_bytes())
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A folder in memory for the profile, used if the folder for temporary files rejects it (full disk).
const MEMORY: &str = "/dev/shm";

/// The transport of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Transport {
    /// The choice of the user or of rmw.
    Unchanged,
    /// Only UDP.
    Udp,
    /// Only UDP, and only to this machine.
    LocalUdp,
}

/// The range of announcements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// The participants of this machine.
    Machine,
    /// Also the participants of the local networks.
    Network,
}

/// Sets up Fast DDS for this process: UDP instead of shared memory, quick repetition of lost messages, frequent
/// announcements, answers that do not wait for readers, and sample memory that is allocated when samples arrive. By
/// default, Fast DDS allocates a hundred samples in every endpoint at once: 3.3 MiB for this node's endpoints, a
/// quarter of its private memory, never used.
///
/// rcl has no setting for these, so this writes a profile. Returns `None` if the user has a profile, which is then
/// used, or if no folder accepts the file. Call it before this process starts any node or thread, and keep the profile
/// until a node exists.
pub fn set_up() -> Option<Profile> {
    set_up_with(None, false).0
}

/// Like [`set_up`], for a process whose nodes do not use each other's topics and services. Fast DDS compares each new
/// endpoint with all others of the process: 6,000 endpoints of 100 simulated robots took 8 s, and 0.8 s without
/// (`nav_sim` with parameter `robots`).
pub fn set_up_ignoring_itself() -> Option<Profile> {
    set_up_with(None, true).0
}

/// Like [`set_up`], for a process that forwards the announcements of its participants itself. The participants announce
/// themselves only to this UDP port of this machine, and to those that they know. Also returns how far to forward the
/// announcements, or `None` if the participants announce themselves as usual.
pub(super) fn set_up_announcing_to(port: u16) -> (Option<Profile>, Option<Reach>) {
    set_up_with(Some(port), false)
}

fn set_up_with(announce_to: Option<u16>, ignores_itself: bool) -> (Option<Profile>, Option<Reach>) {
    let chosen = CHOSEN.iter().any(|name| std::env::var_os(name).is_some())
        || CHOSEN_FILES.iter().any(|name| Path::new(name).exists());
    if chosen {
        return (None, None);
    }
    let is_fast_dds_2 = is_fast_dds_2();
    let transport = transport(is_fast_dds_2, |name| std::env::var_os(name));
    let reach = reach(is_fast_dds_2, transport, |name| std::env::var_os(name));
    let mut text = PROFILE.to_owned();
    if ignores_itself {
        text = text.replace(PROPERTIES, IGNORE_ITSELF);
    }
    if let (Some(port), Some(_)) = (announce_to, reach) {
        let peer = format!("<udpv4><port>{port}</port><address>127.0.0.1</address></udpv4>");
        let peers = format!("<initialPeersList><locator>{peer}</locator></initialPeersList>");
        text = text.replace(PEERS, &peers);
    }
    if transport == Transport::LocalUdp {
        for (mark, setting) in LOCALHOST {
            text = text.replace(mark, setting);
        }
    }
    let profile = written(&text, &[&std::env::temp_dir(), Path::new(MEMORY)]);
    // SAFETY: the only other threads are those that libraries start when they are loaded (LTTng's). These threads may
    // read the list that the kernel created; the first change copies that list and leaves it in place.
    unsafe {
        if let Some(profile) = &profile {
            std::env::set_var(VARIABLE, &profile.path);
        }
        let holds_back = announce_to.is_some() && reach.is_some();
        for (variable, value) in changes(transport, profile.is_some(), holds_back) {
            match value {
                Some(value) => std::env::set_var(variable, value),
                None => std::env::remove_var(variable),
            }
        }
    }
    let reach = reach.filter(|_| profile.is_some());
    (profile, reach)
}

/// The changes of environment variables, with and without a profile, and with one that holds announcements back. `None`:
/// removed.
fn changes(
    transport: Transport,
    has_profile: bool,
    holds_back: bool,
) -> &'static [(&'static str, Option<&'static str>)] {
    match transport {
        // With any other range, rmw_fastrtps adds the multicast group to the addresses of the profile, and the
        // announcements go there at once.
        Transport::Udp if has_profile && holds_back => {
            &[(TRANSPORTS, Some("UDPv4")), (RANGE, Some("SYSTEM_DEFAULT"))]
        }
        // Needed also without a profile: over shared memory, restarted servers are not reached.
        Transport::Udp => &[(TRANSPORTS, Some("UDPv4"))],
        // For LOCALHOST, rmw_fastrtps adds shared memory to a profile. The profile contains the other settings.
        Transport::LocalUdp if has_profile => &[(RANGE, Some("SYSTEM_DEFAULT")), (LOCALHOST_ONLY, None)],
        Transport::LocalUdp | Transport::Unchanged => &[],
    }
}

/// Whether the middleware reads the profile. Only then may the profile limit discovery to this machine.
fn is_fast_dds_2() -> bool {
    // SAFETY: takes no argument and returns null or a text that is valid until the process ends.
    let name = unsafe {
        let name = r2r_rcl::rmw_get_implementation_identifier();
        (!name.is_null()).then(|| CStr::from_ptr(name))
    };
    let is_fast_dds = name.is_some_and(|name| name.to_bytes().starts_with(b"rmw_fastrtps"));
    is_fast_dds && std::env::var_os("ROS_DISTRO").is_some_and(|distribution| distribution == "jazzy")
}

fn transport(is_fast_dds_2: bool, variable: impl Fn(&str) -> Option<OsString>) -> Transport {
    let variable = |name| variable(name).unwrap_or_default();
    // rcl treats any other value as LOCALHOST.
    let is_known_other_range = ["", "SUBNET", "SYSTEM_DEFAULT", "OFF"]
        .iter()
        .any(|range| variable(RANGE) == *range);
    let local = variable(LOCALHOST_ONLY) == "1" || !is_known_other_range;
    if !variable(TRANSPORTS).is_empty() {
        Transport::Unchanged
    } else if !local {
        Transport::Udp
    } else if is_fast_dds_2 && variable(STATIC_PEERS).is_empty() {
        Transport::LocalUdp
    } else {
        Transport::Unchanged
    }
}

/// How far participants with the profile announce themselves. `None` if the user, rmw or another middleware sets the
/// targets of announcements.
fn reach(
    is_fast_dds_2: bool,
    transport: Transport,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<Reach> {
    let variable = |name| variable(name).unwrap_or_default();
    if DISCOVERY_SERVER.iter().any(|name| !variable(name).is_empty()) {
        return None;
    }
    match transport {
        Transport::LocalUdp => Some(Reach::Machine),
        Transport::Udp if is_fast_dds_2 && variable(STATIC_PEERS).is_empty() && variable(RANGE) != "OFF" => {
            Some(Reach::Network)
        }
        Transport::Udp | Transport::Unchanged => None,
    }
}

/// Writes a text to a new file in the first folder that accepts it. `None` if no folder does: the node runs without it.
fn written(text: &str, folders: &[&Path]) -> Option<Profile> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let name = format!("navtree-{}-{}.xml", std::process::id(), now.as_nanos());
    folders.iter().find_map(|folder| {
        let path = folder.join(&name);
        let text = text.to_owned();
        let profile = Profile { path, text };
        profile.write().ok()?;
        Some(profile)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_there_as_long_as_it_is_needed() {
        let profile = written(PROFILE, &[&std::env::temp_dir()]).unwrap();
        let path = profile.path.clone();
        // Fast DDS opens the file in this way.
        let resolved = path.canonicalize().unwrap();
        assert_eq!(std::fs::read_to_string(resolved).unwrap(), PROFILE);
        profile.remove();
        assert!(!path.exists());
        profile.restore();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), PROFILE);
        drop(profile);
        assert!(!path.exists());
    }

    #[test]
    fn the_file_is_written_to_memory_where_the_temporary_folder_takes_none() {
        let profile = written(PROFILE, &[Path::new("/proc/none"), Path::new(MEMORY)]).unwrap();
        assert!(profile.path.starts_with(MEMORY));
        assert_eq!(std::fs::read_to_string(&profile.path).unwrap(), PROFILE);
    }

    #[test]
    fn shared_memory_is_not_used_where_no_folder_takes_the_file() {
        let udp: &[_] = &[(TRANSPORTS, Some("UDPv4"))];
        assert_eq!(changes(Transport::Udp, true, false), udp);
        assert_eq!(changes(Transport::Udp, false, false), udp);
        // Without the profile, only these variables limit discovery to this machine.
        assert_eq!(changes(Transport::LocalUdp, false, false), []);
        assert_eq!(changes(Transport::LocalUdp, true, false).len(), 2);
        assert_eq!(changes(Transport::Unchanged, true, false), []);
    }

    #[test]
    fn announcements_that_are_held_back_do_not_go_to_the_multicast_group() {
        let range = (RANGE, Some("SYSTEM_DEFAULT"));
        for transport in [Transport::Udp, Transport::LocalUdp] {
            assert!(changes(transport, true, true).contains(&range));
            assert!(!changes(transport, false, true).contains(&range));
        }
    }

    #[test]
    fn the_profile_has_each_place_once() {
        for mark in LOCALHOST.iter().map(|(mark, _)| *mark).chain([PROPERTIES]) {
            assert_eq!(PROFILE.matches(mark).count(), 1, "{mark}");
        }
    }

    #[test]
    fn announcements_are_held_back_only_where_the_profile_says_to_whom_they_go() {
        let reach = |is_fast_dds_2: bool, transport: Transport, set: &[(&str, &str)]| {
            reach(is_fast_dds_2, transport, |name| {
                let (_, value) = set.iter().find(|(variable, _)| *variable == name)?;
                Some(OsString::from(value))
            })
        };
        assert_eq!(reach(true, Transport::LocalUdp, &[]), Some(Reach::Machine));
        assert_eq!(reach(true, Transport::Udp, &[]), Some(Reach::Network));
        assert_eq!(reach(true, Transport::Udp, &[(RANGE, "OFF")]), None);
        assert_eq!(reach(true, Transport::Udp, &[(STATIC_PEERS, "10.0.0.7")]), None);
        for transport in [Transport::Udp, Transport::LocalUdp] {
            let server = [("ROS_DISCOVERY_SERVER", "10.0.0.7:11811")];
            assert_eq!(reach(true, transport, &server), None);
        }
        assert_eq!(reach(false, Transport::Udp, &[]), None);
        assert_eq!(reach(true, Transport::Unchanged, &[]), None);
    }

    #[test]
    fn shared_memory_is_used_only_where_the_user_wants_it_or_rmw_leaves_no_choice() {
        let chosen = |is_fast_dds_2: bool, set: &[(&str, &str)]| {
            transport(is_fast_dds_2, |name| {
                let (_, value) = set.iter().find(|(variable, _)| *variable == name)?;
                Some(OsString::from(value))
            })
        };
        assert_eq!(chosen(true, &[]), Transport::Udp);
        assert_eq!(chosen(true, &[(RANGE, "SUBNET")]), Transport::Udp);
        for local in ["LOCALHOST", "localhost", "LOCAL"] {
            assert_eq!(chosen(true, &[(RANGE, local)]), Transport::LocalUdp, "{local}");
        }
        assert_eq!(chosen(true, &[(LOCALHOST_ONLY, "1")]), Transport::LocalUdp);
        assert_eq!(chosen(true, &[(TRANSPORTS, "DEFAULT")]), Transport::Unchanged);
        let peers = [(RANGE, "LOCALHOST"), (STATIC_PEERS, "10.0.0.7")];
        assert_eq!(chosen(true, &peers), Transport::Unchanged);
        // Another middleware ignores the profile and would use the whole network.
        assert_eq!(chosen(false, &[(RANGE, "LOCALHOST")]), Transport::Unchanged);
    }
}
