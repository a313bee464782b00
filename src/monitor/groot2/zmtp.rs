//! ZMTP 3.0, the wire protocol of ZeroMQ, without security mechanism and with bounds.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Maximum size of a message from a client, in bytes. The largest are lists of hooks.
const MAX_MESSAGE: usize = 256 * 1024;
/// Maximum number of frames of a message.
const MAX_FRAMES: usize = 8;

const GREETING: usize = 64;
const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// Why a connection is closed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ZmtpError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("not ZMTP: {0}")]
    Protocol(&'static str),
}

/// What a peer sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Message {
    /// The frames of a message.
    Frames(Vec<Vec<u8>>),
    /// A command: its name and its data.
    Command(Vec<u8>, Vec<u8>),
}

/// Exchanges greetings. `own`: the type of the socket; `peers`: the types that may connect to it.
pub(super) async fn shake_hands<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    own: &str,
    peers: &[&str],
) -> Result<(), ZmtpError> {
    let mut greeting = [0; GREETING];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    greeting[12..16].copy_from_slice(b"NULL");
    stream.write_all(&greeting).await?;
    let mut theirs = [0; GREETING];
    stream.read_exact(&mut theirs).await?;
    if theirs[0] != 0xff || theirs[9] & 1 == 0 || theirs[10] < 3 {
        return Err(ZmtpError::Protocol("another greeting"));
    }
    if theirs[12..32] != greeting[12..32] {
        return Err(ZmtpError::Protocol("another security mechanism"));
    }
    let mut ready = b"\x05READY\x0bSocket-Type".to_vec();
    ready.extend_from_slice(&u32::try_from(own.len()).unwrap_or(0).to_be_bytes());
    ready.extend_from_slice(own.as_bytes());
    write_frame(stream, COMMAND, &ready).await?;
    let Message::Command(name, data) = read(stream).await? else {
        return Err(ZmtpError::Protocol("no READY"));
    };
    let kind = property(&data, b"Socket-Type").unwrap_or_default();
    if name != b"READY" || !peers.iter().any(|peer| peer.as_bytes() == kind) {
        return Err(ZmtpError::Protocol("another socket type"));
    }
    Ok(())
}

/// The value of a property of a READY command.
fn property<'d>(mut data: &'d [u8], wanted: &[u8]) -> Option<&'d [u8]> {
    loop {
        let (length, rest) = data.split_first()?;
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (length, rest) = rest.split_at_checked(4)?;
        let length = usize::try_from(u32::from_be_bytes(length.try_into().ok()?)).ok()?;
        let (value, rest) = rest.split_at_checked(length)?;
        // Names of properties have no case.
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        data = rest;
    }
}

/// Reads a message or a command. Not to be cancelled: a part would be lost.
pub(super) async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Message, ZmtpError> {
    let mut frames = Vec::new();
    let mut size = 0_usize;
    loop {
        let flags = stream.read_u8().await?;
        let length = if flags & LONG == 0 {
            u64::from(stream.read_u8().await?)
        } else {
            stream.read_u64().await?
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        size = size.saturating_add(length);
        if size > MAX_MESSAGE || frames.len() == MAX_FRAMES {
            return Err(ZmtpError::Protocol("a message is too large"));
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        if flags & COMMAND != 0 {
            return command(&body);
        }
        frames.push(body);
        if flags & MORE == 0 {
            return Ok(Message::Frames(frames));
        }
    }
}

fn command(body: &[u8]) -> Result<Message, ZmtpError> {
    let parts = body
        .split_first()
        .and_then(|(length, rest)| rest.split_at_checked(usize::from(*length)));
    let (name, data) = parts.ok_or(ZmtpError::Protocol("a command without name"))?;
    Ok(Message::Command(name.to_vec(), data.to_vec()))
}

/// The answer to a command: a PING gets a PONG with its context.
pub(super) fn pong(name: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let context = data.get(2..).filter(|_| name == b"PING")?;
    // A context has at most 16 bytes.
    let context = &context[..context.len().min(16)];
    Some([b"\x04PONG", context].concat())
}

/// Writes a command.
pub(super) async fn write_command<S: AsyncWrite + Unpin>(
    stream: &mut S,
    body: &[u8],
) -> Result<(), ZmtpError> {
    write_frame(stream, COMMAND, body).await
}

/// Writes a message.
pub(super) async fn write<S: AsyncWrite + Unpin>(
    stream: &mut S,
    frames: &[Vec<u8>],
) -> Result<(), ZmtpError> {
    for (index, frame) in frames.iter().enumerate() {
        let more = if index + 1 < frames.len() { MORE } else { 0 };
        write_frame(stream, more, frame).await?;
    }
    Ok(())
}

async fn write_frame<S: AsyncWrite + Unpin>(stream: &mut S, flags: u8, body: &[u8]) -> Result<(), ZmtpError> {
    let mut bytes = Vec::with_capacity(body.len() + 9);
    match u8::try_from(body.len()) {
        Ok(length) => bytes.extend_from_slice(&[flags, length]),
        Err(_) => {
            bytes.push(flags | LONG);
            bytes.extend_from_slice(&(body.len() as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(body);
    stream.write_all(&bytes).await?;
    Ok(())
}
