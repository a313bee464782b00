//! The announcements of the guardian's participants, held back until the participant listens.
//!
//! Fast DDS 2.14 announces a new participant before it accepts what is sent to it (`RTPSParticipantImpl::enable`). A server
//! answers a new participant once and at once. On one machine four answers of five came too early and were lost; the
//! server announces itself next up to three seconds later. The robot drives on for that long. So the participants announce
//! themselves to a socket of this process, which passes their announcements on when they listen.

use std::ffi::c_int;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::ptr;

use crate::ros::middleware::{self, Profile, Reach};

/// The ports of RTPS (its specification, 9.6.1.1): the first of domain 0, how many belong to a domain, and the first for
/// discovery of a single participant, with two ports for each.
const FIRST_PORT: u16 = 7400;
const PORTS_OF_A_DOMAIN: u16 = 250;
const FIRST_UNICAST_PORT: u16 = 10;
const PORTS_OF_A_PARTICIPANT: usize = 2;
/// The group that all participants of a network listen to (the same, 9.6.1.4.1).
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

/// Bytes of the longest announcement; usual are 500.
const LONGEST: usize = 65536;

/// What the participants of this process announce, and to whom it is passed on.
pub(super) struct Announcements {
    socket: UdpSocket,
    /// To the participants of this machine.
    machine: UdpSocket,
    /// Each bound to the address of an interface: the kernel sends to a group through the interface of that address.
    networks: Vec<UdpSocket>,
    /// The first port of the domain.
    first_port: u16,
}

impl Announcements {
    /// Sets up the middleware, as [`middleware::set_up`] does, so that announcements come here. `None` where they cannot.
    pub(super) fn set_up() -> (Option<Profile>, Option<Self>) {
        let Ok((socket, port, machine)) = sockets() else {
            return (middleware::set_up(), None);
        };
        let (profile, reach) = middleware::set_up_announcing_to(port);
        let domain = std::env::var("ROS_DOMAIN_ID").unwrap_or_default();
        let announcements = reach.map(|reach| Self {
            socket,
            machine,
            networks: match reach {
                Reach::Machine => Vec::new(),
                Reach::Network => interfaces()
                    .into_iter()
                    .filter_map(|address| UdpSocket::bind((address, 0)).ok())
                    .collect(),
            },
            first_port: first_port(domain.parse().unwrap_or(0)),
        });
        (profile, announcements)
    }

    /// Passes on what has come since the last call. Not to be called while a participant is made.
    pub(super) fn pass_on(&self) {
        let mut message = [0; LONGEST];
        while let Ok(length) = self.socket.recv(&mut message) {
            self.send(message.get(..length).unwrap_or_default());
        }
    }

    fn send(&self, message: &[u8]) {
        // No error matters: a peer may not be there, and the next announcement follows soon.
        for network in &self.networks {
            let _ = network.send_to(message, (GROUP, self.first_port));
        }
        for port in (FIRST_UNICAST_PORT..PORTS_OF_A_DOMAIN).step_by(PORTS_OF_A_PARTICIPANT) {
            let port = self.first_port.saturating_add(port);
            let _ = self.machine.send_to(message, (Ipv4Addr::LOCALHOST, port));
        }
    }
}

fn first_port(domain: u16) -> u16 {
    FIRST_PORT.saturating_add(PORTS_OF_A_DOMAIN.saturating_mul(domain))
}

/// The one that announcements come to, its port, and the one that they are passed on with.
fn sockets() -> io::Result<(UdpSocket, u16, UdpSocket)> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_nonblocking(true)?;
    let port = socket.local_addr()?.port();
    Ok((socket, port, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?))
}

/// The IPv4 addresses of this machine's interfaces that can send to a group, without the loopback. None where the system
/// does not say.
fn interfaces() -> Vec<Ipv4Addr> {
    const WANTED: c_int = libc::IFF_UP | libc::IFF_MULTICAST;
    let mut found = Vec::new();
    let mut first = ptr::null_mut();
    // SAFETY: the list is given back once, after it was read. Each entry is the system's, and an address is read as one of
    // IPv4 only where it says that it is one.
    unsafe {
        if libc::getifaddrs(&raw mut first) != 0 {
            return found;
        }
        let mut next = first;
        while let Some(interface) = next.as_ref() {
            next = interface.ifa_next;
            let flags = interface.ifa_flags.cast_signed() & (WANTED | libc::IFF_LOOPBACK);
            let family = interface
                .ifa_addr
                .as_ref()
                .map(|address| c_int::from(address.sa_family));
            if flags == WANTED && family == Some(libc::AF_INET) {
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
    fn an_announcement_is_passed_on_to_a_participant_of_this_machine() {
        let (socket, port, machine) = sockets().unwrap();
        let peer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // As if the peer were the fourth participant of its domain.
        let first_port = peer.local_addr().unwrap().port() - FIRST_UNICAST_PORT - 6;
        let announcements = Announcements {
            socket,
            machine,
            networks: Vec::new(),
            first_port,
        };
        peer.send_to(b"RTPS", (Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut message = [0; 8];
        // The kernel delivers over the loopback before `send_to` returns.
        announcements.pass_on();
        let length = peer.recv(&mut message).unwrap();
        assert_eq!(message.get(..length), Some(&b"RTPS"[..]));
    }

    #[test]
    fn the_first_port_is_that_of_the_specification() {
        assert_eq!(first_port(0), 7400);
        assert_eq!(first_port(232), 65400);
        // There is no such domain.
        assert_eq!(first_port(999), u16::MAX);
    }
}
