//! The headers of requests and replies.

/// The version of the protocol.
const PROTOCOL: u8 = 2;

/// Size of the header of a request.
const HEADER: usize = 6;

/// What a client requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestKind {
    FullTree,
    Status,
    Blackboard,
    InsertHook,
    RemoveHook,
    RemoveAllHooks,
    DisableHooks,
    DumpHooks,
    Unlock,
    Record,
    Transitions,
}

impl RequestKind {
    fn of(letter: u8) -> Option<Self> {
        Some(match letter {
            b'T' => Self::FullTree,
            b'S' => Self::Status,
            b'B' => Self::Blackboard,
            b'I' => Self::InsertHook,
            b'R' => Self::RemoveHook,
            b'A' => Self::RemoveAllHooks,
            b'X' => Self::DisableHooks,
            b'D' => Self::DumpHooks,
            b'U' => Self::Unlock,
            b'r' => Self::Record,
            b't' => Self::Transitions,
            _ => return None,
        })
    }
}

/// The header of a request: version, letter, and a number that the reply repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RequestHeader {
    letter: u8,
    number: [u8; 4],
}

impl RequestHeader {
    /// Reads a header. The version is not checked, as in BehaviorTree.CPP.
    pub(super) fn parse(frame: &[u8]) -> Option<Self> {
        let frame: [u8; HEADER] = frame.try_into().ok()?;
        let [_, letter, number @ ..] = frame;
        Some(Self { letter, number })
    }

    /// What is requested; `None`: something unknown.
    pub(super) fn kind(self) -> Option<RequestKind> {
        RequestKind::of(self.letter)
    }

    /// The header of the reply.
    pub(super) fn reply(self, uuid: [u8; 16]) -> Vec<u8> {
        let mut reply = vec![PROTOCOL, self.letter];
        reply.extend_from_slice(&self.number);
        reply.extend_from_slice(&uuid);
        reply
    }
}

/// The message that tells that a breakpoint was reached. `number`: any number.
pub(super) fn breakpoint_reached(number: [u8; 4], uid: u16) -> Vec<Vec<u8>> {
    let mut header = vec![PROTOCOL, b'N'];
    header.extend_from_slice(&number);
    vec![header, uid.to_string().into_bytes()]
}

/// The reply to a request that cannot be answered.
pub(super) fn error_reply(reason: &str) -> Vec<Vec<u8>> {
    vec![b"error".to_vec(), reason.as_bytes().to_vec()]
}
