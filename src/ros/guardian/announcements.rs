//! Holds back the announcements of the guardian's participants until the participants listen.
//!
//! Fast DDS 2.14 announces a new participant before it accepts messages to it (`RTPSParticipantImpl::enable`). A server
//! answers a new participant once and at once. On one machine, four of five answers came too early and were lost; the
//! next announcement of the server comes up to three seconds later, and the robot drives on meanwhile. So the
//! participants announce themselves to a socket of this process, which forwards their announcements when they listen.

use std::ffi::c_int;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::ptr;

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

/// The announcements of this process's participants, and their targets.
pub(super) struct Announcements {
    socket: UdpSocket,
    /// Sends to the participants of this machine.
    localhost: UdpSocket,
    /// Each is bound to the address of an interface: the kernel uses that interface for multicast.
    interfaces: Vec<UdpSocket>,
    /// The first port of the domain.
    first_port: u16,
}

impl Announcements {
    /// Sets up the middleware, like [`middleware::set_up`], and redirects announcements to here. `None` if that is not
    /// possible.
    pub(super) fn set_up() -> (Option<Profile>, Option<Self>) {
        let Ok((socket, port, localhost)) = open_sockets() else {
            return (middleware::set_up(), None);
        };
        let (profile, reach) = middleware::set_up_announcing_to(port);
        let announcements = reach.map(|reach| Self {
            socket,
            localhost,
            interfaces: match reach {
                Reach::Machine => Vec::new(),
                Reach::Network => interface_addresses()
                    .into_iter()
                    .filter_map(|address| UdpSocket::bind((address, 0)).ok())
                    .collect(),
            },
            first_port: first_port(domain_id()),
        });
        (profile, announcements)
    }

    /// Forwards the announcements received since the last call. Must not be called while a participant is created.
    pub(super) fn forward(&self) {
        let mut message = [0; MAX_ANNOUNCEMENT_SIZE];
        while let Ok(length) = self.socket.recv(&mut message) {
            self.send(message.get(..length).unwrap_or_default());
        }
    }

    fn send(&self, message: &[u8]) {
        // Errors are ignored: a peer may be absent, and the next announcement follows soon.
        for interface in &self.interfaces {
            let _ = interface.send_to(message, (MULTICAST_GROUP, self.first_port));
        }
        for port in (FIRST_UNICAST_PORT..PORTS_PER_DOMAIN).step_by(PORTS_PER_PARTICIPANT) {
            let port = self.first_port.saturating_add(port);
            let _ = self.localhost.send_to(message, (Ipv4Addr::LOCALHOST, port));
        }
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
    use std::time::Duration;

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
            interfaces: Vec::new(),
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
    fn the_first_port_is_that_of_the_specification() {
        assert_eq!(first_port(0), 7400);
        assert_eq!(first_port(232), 65400);
        // No domain has this number.
        assert_eq!(first_port(999), u16::MAX);
    }
}
