//! Holds back the announcements of this process's participants until the participants listen.
//!
//! Fast DDS 2.14 announces a new participant before it accepts messages to it (`RTPSParticipantImpl::enable`). Another
//! participant answers a new one once and at once. On one machine, four of five answers came too early and were lost; the
//! next announcement of the other participant comes up to three seconds later. Until then, a lifecycle manager waits for
//! this node, and a robot whose navigator was killed drives on. So the participants announce themselves to a socket of
//! this process, which forwards their announcements when they listen. Participants that know each other announce
//! themselves to each other directly.

use std::ffi::c_int;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::ops::Range;
use std::ptr;
use std::time::{Duration, Instant};

use crate::ros::middleware::{self, Profile, Reach};

/// The ports of RTPS (its specification, 9.6.1.1): the first of domain 0, the number per domain, and the first one for
/// discovery of a single participant, with two ports for each.
const FIRST_PORT: u16 = 7400;
const PORTS_PER_DOMAIN: u16 = 250;
const FIRST_UNICAST_PORT: u16 = 10;
const PORTS_PER_PARTICIPANT: usize = 2;
/// The multicast group of all participants of a network (the same, 9.6.1.4.1).
const MULTICAST_GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

/// Maximum size of an announcement in bytes; 500 is usual.
const MAX_ANNOUNCEMENT_SIZE: usize = 65536;

/// The first bytes of each message, and the place of its sender, a participant (the same, 8.3.3.1 and 9.4.4).
const MAGIC: &[u8] = b"RTPS";
const SENDER: Range<usize> = 8..20;

/// How long a new participant of a running process is held back. It listens within a millisecond.
const HOLD_TIME: Duration = Duration::from_millis(50);

/// The first announcements of a participant are all forwarded, because the network may lose them. Later ones are for
/// participants whose own announcements do not arrive here.
const FIRST_ANNOUNCEMENTS: u32 = 5;
const LATER_PERIOD: Duration = Duration::from_secs(3);

/// The maximum number of announcements that are forwarded at once: others use the thread too, and any program of the machine
/// may send to the socket.
const MAX_AT_ONCE: usize = 8;

/// A process has one participant, and another one while it looks for goals of an earlier run.
const MAX_SENDERS: usize = 16;

/// The announcements of this process's participants, and their targets.
#[derive(Debug)]
pub struct Announcements {
    socket: UdpSocket,
    /// Sends to the participants of this machine.
    localhost: UdpSocket,
    reach: Reach,
    /// The first port of the domain.
    first_port: u16,
}

impl Announcements {
    /// Sets up the middleware, like [`middleware::set_up`], and redirects announcements to here. `None` if that is not
    /// possible.
    pub fn set_up() -> (Option<Profile>, Option<Self>) {
        let Ok((socket, port, localhost)) = open_sockets() else {
            return (middleware::set_up(), None);
        };
        let (profile, reach) = middleware::set_up_announcing_to(port);
        let announcements = reach.map(|reach| Self {
            socket,
            localhost,
            reach,
            first_port: first_port(domain_id()),
        });
        (profile, announcements)
    }

    /// Forwards announcements received since the last call, at most [`MAX_AT_ONCE`]. Must not be called while a participant is created.
    pub(super) fn forward(&self) {
        for message in received(|message| self.socket.recv(message)) {
            self.send(&message);
        }
    }

    /// Forwards announcements as they come, for a process that creates participants at any time. Forwards those that are
    /// there at once: no participant may be in creation when this begins.
    pub async fn forward_always(self) {
        let mut senders = Senders::default();
        for message in received(|message| self.socket.recv(message)) {
            if senders.is_due(&message, Instant::now()) {
                self.send(&message);
            }
        }
        let socket = self.socket.try_clone().and_then(tokio::net::UdpSocket::from_std);
        let socket = match socket {
            Ok(socket) => socket,
            Err(error) => {
                tracing::warn!("this node is not announced again, and others may find it late: {error}");
                return;
            }
        };
        let mut last = Instant::now();
        while socket.readable().await.is_ok() {
            let mut due = received(|message| socket.try_recv(message));
            due.retain(|message| senders.is_due(message, Instant::now()));
            // Most announcements are not forwarded, and a sleep costs more than they do: sleep also if they come quickly.
            if !due.is_empty() || last.elapsed() < HOLD_TIME {
                tokio::time::sleep(HOLD_TIME).await;
            }
            last = Instant::now();
            due.iter().for_each(|message| self.send(message));
        }
    }

    fn send(&self, message: &[u8]) {
        // Errors are ignored: a peer may be absent, and the next announcement follows soon.
        if self.reach == Reach::Network {
            // Read each time: an interface may have come up since.
            for address in interface_addresses() {
                // The kernel uses the interface of this address for multicast.
                let _ = UdpSocket::bind((address, 0))
                    .and_then(|socket| socket.send_to(message, (MULTICAST_GROUP, self.first_port)));
            }
        }
        for port in (FIRST_UNICAST_PORT..PORTS_PER_DOMAIN).step_by(PORTS_PER_PARTICIPANT) {
            let port = self.first_port.saturating_add(port);
            let _ = self.localhost.send_to(message, (Ipv4Addr::LOCALHOST, port));
        }
    }
}

/// The announcements that have arrived, at most [`MAX_AT_ONCE`].
fn received(receive: impl Fn(&mut [u8]) -> io::Result<usize>) -> Vec<Vec<u8>> {
    let mut message = [0; MAX_ANNOUNCEMENT_SIZE];
    let next = || {
        let length = receive(&mut message).ok()?;
        message.get(..length).map(<[u8]>::to_vec)
    };
    std::iter::from_fn(next).take(MAX_AT_ONCE).collect()
}

/// The participants that announce themselves, and what was forwarded for them.
#[derive(Default)]
struct Senders(Vec<Sender>);

struct Sender {
    id: Vec<u8>,
    forwarded: u32,
    last: Instant,
}

impl Senders {
    /// Whether an announcement is to be forwarded now.
    fn is_due(&mut self, message: &[u8], now: Instant) -> bool {
        let Some(id) = message.get(SENDER).filter(|_| message.starts_with(MAGIC)) else {
            return false;
        };
        let Some(sender) = self.0.iter_mut().find(|sender| sender.id == id) else {
            if self.0.len() >= MAX_SENDERS {
                self.0.remove(0);
            }
            self.0.push(Sender {
                id: id.to_vec(),
                forwarded: 1,
                last: now,
            });
            return true;
        };
        if sender.forwarded >= FIRST_ANNOUNCEMENTS
            && now.saturating_duration_since(sender.last) < LATER_PERIOD
        {
            return false;
        }
        sender.forwarded = sender.forwarded.saturating_add(1);
        sender.last = now;
        true
    }
}

/// The domain of the process. rcl also reads numbers with blanks around them and hexadecimal numbers.
fn domain_id() -> u16 {
    let mut domain = 0;
    // SAFETY: rcl writes the number to a variable that outlives the call.
    let code = unsafe { r2r_rcl::rcl_get_default_domain_id(&raw mut domain) };
    // With an invalid number, rcl creates no participant.
    u16::try_from(domain).ok().filter(|_| code == 0).unwrap_or(0)
}

fn first_port(domain: u16) -> u16 {
    FIRST_PORT.saturating_add(PORTS_PER_DOMAIN.saturating_mul(domain))
}

/// The socket that receives announcements, its port, and the socket that forwards them.
fn open_sockets() -> io::Result<(UdpSocket, u16, UdpSocket)> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_nonblocking(true)?;
    let port = socket.local_addr()?.port();
    Ok((socket, port, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?))
}

/// The IPv4 addresses of this machine's multicast interfaces, without the loopback. Empty if the system returns an
/// error.
fn interface_addresses() -> Vec<Ipv4Addr> {
    const REQUIRED_FLAGS: c_int = libc::IFF_UP | libc::IFF_MULTICAST;
    let mut found = Vec::new();
    let mut first = ptr::null_mut();
    // SAFETY: the list is freed once, after the last read. Each entry comes from the system, and an address is read as
    // IPv4 only if its family is IPv4.
    unsafe {
        if libc::getifaddrs(&raw mut first) != 0 {
            return found;
        }
        let mut next = first;
        while let Some(interface) = next.as_ref() {
            next = interface.ifa_next;
            let flags = interface.ifa_flags.cast_signed() & (REQUIRED_FLAGS | libc::IFF_LOOPBACK);
            let family = interface
                .ifa_addr
                .as_ref()
                .map(|address| c_int::from(address.sa_family));
            if flags == REQUIRED_FLAGS && family == Some(libc::AF_INET) {
                let address = interface.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                found.push(Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)));
            }
        }
        libc::freeifaddrs(first);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_is_forwarded_to_a_participant_of_this_machine() {
        let (socket, port, localhost) = open_sockets().unwrap();
        let peer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // The peer acts as the fourth participant of its domain.
        let first_port = peer.local_addr().unwrap().port() - FIRST_UNICAST_PORT - 6;
        let announcements = Announcements {
            socket,
            localhost,
            reach: Reach::Machine,
            first_port,
        };
        peer.send_to(b"RTPS", (Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut message = [0; 8];
        // The kernel delivers on the loopback before `send_to` returns.
        announcements.forward();
        let length = peer.recv(&mut message).unwrap();
        assert_eq!(message.get(..length), Some(&b"RTPS"[..]));
    }

    #[test]
    fn the_first_announcements_are_forwarded_and_then_one_in_three_seconds() {
        let mut senders = Senders::default();
        let start = Instant::now();
        let mut is_due = |sender: u8, seconds: f32| {
            let message = [MAGIC, &[0; 4], &[sender; 12], b"the announcement"].concat();
            senders.is_due(&message, start + Duration::from_secs_f32(seconds))
        };
        let first = [0.0, 0.1, 0.2, 0.3, 0.4, 0.9, 3.3, 3.4, 3.9, 6.3, 6.4].map(|time| is_due(1, time));
        let t = true;
        assert_eq!(first, [t, t, t, t, t, !t, !t, t, !t, !t, t]);
        assert!(is_due(2, 6.4) && is_due(2, 6.5));
        assert!(!senders.is_due(b"RTPS and too short", start));
        assert!(!senders.is_due(&[0; 100], start));
    }

    #[test]
    fn the_first_port_is_that_of_the_specification() {
        assert_eq!(first_port(0), 7400);
        assert_eq!(first_port(232), 65400);
        // No domain has this number.
        assert_eq!(first_port(999), u16::MAX);
    }
}
