//! Frames of the stream's `WebSocket`s, good and bad, written by hand (RFC 6455): how each connection ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::harness::Bench;
use crate::market::Market;
use crate::service::StreamLimits;

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

fn bench(change: impl FnOnce(&mut StreamLimits)) -> Bench {
    Bench::with(|config| {
        config.source = Arc::new(Market::demo(0));
        // A close over what is still sent would take the close frame back from a peer that is slow to read.
        config.stream.farewell_within = Duration::from_secs(30);
        change(&mut config.stream);
    })
}

/// A frame: its first byte (final bit, reserved bits, opcode), its length as announced, its payload under a mask of zeros.
fn announced(first: u8, length: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..=125 => bytes.push(MASKED | length as u8),
        126..=0xffff => {
            bytes.push(MASKED | 0x7e);
            bytes.extend((length as u16).to_be_bytes());
        }
        _ => {
            bytes.push(MASKED | 127);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    announced(first, payload.len() as u64, payload)
}

fn close(code: u16, reason: &str) -> Vec<u8> {
    [&code.to_be_bytes()[..], reason.as_bytes()].concat()
}

struct Raw(TcpStream);

impl Raw {
    fn open(bench: &Bench) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", bench.service.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let request = "GET /nonbook/ws?encoding=json HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
                       Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        // The example of RFC 6455, 1.3.
        assert!(head.to_lowercase().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
        Self(stream)
    }

    fn known(bench: &Bench, tier: &str) -> Self {
        let mut raw = Self::open(bench);
        raw.ask(&json!({"id": 1, "method": "public/authenticate", "params": {"token": bench.key(tier)}}));
        raw
    }

    fn ask(&mut self, request: &serde_json::Value) {
        self.0.write_all(&frame(FINAL | TEXT, request.to_string().as_bytes())).unwrap();
        let (opcode, answer) = self.hear().unwrap();
        assert!(opcode == TEXT && answer.windows(8).any(|part| part == b"\"result\""), "{answer:?}");
    }

    fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    /// The next frame; `None` at the end.
    fn hear(&mut self) -> Option<(u8, Vec<u8>)> {
        let head = self.exactly(2)?;
        assert_eq!(head[0] & 0xf0, FINAL, "whole frames without reserved bits");
        let length = match head[1] {
            126 => usize::from(u16::from_be_bytes(self.exactly(2)?.try_into().unwrap())),
            127 => u64::from_be_bytes(self.exactly(8)?.try_into().unwrap()) as usize,
            short => usize::from(short),
        };
        Some((head[0] & 0x0f, self.exactly(length)?))
    }

    /// What the last frame says, which must be a close frame, and an orderly end after it.
    fn end(mut self) -> (Option<u16>, String) {
        loop {
            let (opcode, payload) = self.hear().expect("the connection ended without a close frame");
            if opcode == CLOSE {
                assert!(matches!(self.0.read(&mut [0]), Ok(0) | Err(_)), "something came after the close frame");
                let code = payload.get(..2).map(|code| u16::from_be_bytes(code.try_into().unwrap()));
                return (code, String::from_utf8(payload.get(2..).unwrap_or_default().to_vec()).unwrap());
            }
        }
    }
}

/// How a connection ends on which these bytes are sent.
fn end_of(bench: &Bench, bytes: &[u8]) -> (Option<u16>, String) {
    let mut raw = Raw::open(bench);
    raw.0.write_all(bytes).unwrap();
    raw.end()
}

#[test]
fn a_close_frame_is_answered_with_its_own_code() {
    let bench = bench(|_| ());
    for (code, reason) in [(1000, "done"), (1001, ""), (3000, "a library's"), (4999, "one's own")] {
        assert_eq!(end_of(&bench, &frame(FINAL | CLOSE, &close(code, reason))), (Some(code), reason.to_owned()));
    }
    assert_eq!(end_of(&bench, &frame(FINAL | CLOSE, b"")), (None, String::new()));
    // Codes that no frame may carry, and half of one.
    for payload in [close(999, ""), close(1005, ""), close(1006, ""), close(1015, ""), vec![3]] {
        assert_eq!(end_of(&bench, &frame(FINAL | CLOSE, &payload)).0, Some(1002), "{payload:?}");
    }
}

#[test]
fn nothing_is_sent_after_a_close_frame() {
    let bench = bench(|limits| limits.every = Duration::from_millis(1));
    let mut raw = Raw::known(&bench, "basic");
    let channel = json!({"type": "TRADE", "exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT"});
    raw.ask(&json!({"id": 2, "method": "public/subscribe", "params": {"channels": [channel]}}));
    bench.advance(3_600);
    assert_eq!(raw.hear().unwrap().0, TEXT);
    raw.0.write_all(&frame(FINAL | CLOSE, &close(1000, "enough"))).unwrap();
    assert_eq!(raw.end(), (Some(1000), "enough".to_owned()));
}

#[test]
fn frames_that_break_the_protocol_end_the_connection_with_1002() {
    let bench = bench(|_| ());
    let unmasked = vec![FINAL | TEXT, 2, b'{', b'}'];
    for (bytes, what) in [
        (unmasked, "without a mask"),
        (frame(FINAL | 0x40 | TEXT, b"{}"), "a reserved bit"),
        (frame(FINAL | 0x10 | PING, b""), "a reserved bit of a ping"),
        (frame(FINAL | 3, b""), "a reserved opcode of data"),
        (frame(FINAL | 0x0b, b""), "a reserved opcode of control"),
        (frame(PING, b""), "a control frame in parts"),
        (frame(FINAL | PING, &[0; 126]), "a long control frame"),
        (frame(FINAL, b"{}"), "a continuation of nothing"),
        ([frame(TEXT, b"{"), frame(FINAL | TEXT, b"}")].concat(), "a message within a message"),
    ] {
        assert_eq!(end_of(&bench, &bytes).0, Some(1002), "{what}");
    }
}

#[test]
fn texts_that_are_no_utf8_end_the_connection_with_1007() {
    let bench = bench(|_| ());
    for bytes in [
        frame(FINAL | TEXT, b"\"\xff\""),
        frame(FINAL | TEXT, b"\xc3"),
        [frame(TEXT, b"\"\xed\xa0"), frame(FINAL, b"\x80\"")].concat(),
        frame(FINAL | CLOSE, b"\x03\xe8\xff"),
    ] {
        assert_eq!(end_of(&bench, &bytes).0, Some(1007), "{bytes:?}");
    }
    // A letter may lie across two frames.
    let mut raw = Raw::open(&bench);
    raw.0.write_all(&[frame(TEXT, b"\"\xc3"), frame(FINAL, b"\xa4\"")].concat()).unwrap();
    assert!(raw.hear().unwrap().1.windows(6).any(|part| part == b"-32600"));
}

#[test]
fn messages_that_are_too_long_end_the_connection_with_1009() {
    let bench = bench(|_| ());
    let limit = 64 * 1024;
    assert_eq!(end_of(&bench, &announced(FINAL | TEXT, limit + 1, b"{")).0, Some(1009));
    assert_eq!(end_of(&bench, &announced(FINAL | TEXT, 1 << 40, b"")).0, Some(1009));
    let parts: Vec<u8> = (0..9).flat_map(|part| frame(if part == 0 { TEXT } else { 0 }, &[b' '; 8 * 1024])).collect();
    assert_eq!(end_of(&bench, &parts).0, Some(1009));
    // The close frame reaches a peer that goes on sending.
    let long = vec![b' '; 4 << 20];
    assert_eq!(end_of(&bench, &frame(FINAL | TEXT, &long)).0, Some(1009));
    let mut raw = Raw::open(&bench);
    raw.0.write_all(&frame(FINAL | TEXT, &vec![b' '; 64 * 1024])).unwrap();
    assert!(raw.hear().unwrap().1.windows(6).any(|part| part == b"-32700"), "the longest that may be is read");
}

/// How a connection ends on which a frame is sent over and over, beginning with these bytes.
fn end_of_flood(mut raw: Raw, first: &[u8], frame: &[u8]) -> (Option<u16>, String) {
    let (mut stream, many) = (raw.0.try_clone().unwrap(), frame.repeat(1_000));
    let enough = AtomicBool::new(false);
    stream.write_all(first).unwrap();
    let payload = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !enough.load(Ordering::SeqCst) && stream.write_all(&many).is_ok() {
                std::hint::spin_loop();
            }
        });
        let payload = loop {
            match raw.hear() {
                Some((CLOSE, payload)) => break Some(payload),
                Some(_) => {}
                None => break None,
            }
        };
        enough.store(true, Ordering::SeqCst);
        payload
    });
    let payload = payload.expect("the connection ended without a close frame");
    (
        payload.get(..2).map(|code| u16::from_be_bytes(code.try_into().unwrap())),
        String::from_utf8(payload[2..].to_vec()).unwrap(),
    )
}

#[test]
fn a_flood_of_frames_puts_no_limit_off() {
    let bench = bench(|limits| limits.subscribe_within = Duration::from_millis(300));
    // What is not answered, pings whose answers are read, and a message without an end.
    let (pong, ping, more) = (frame(FINAL | PONG, b""), frame(FINAL | PING, b""), frame(0, b""));
    for (first, flood) in [(vec![], pong), (vec![], ping), (frame(TEXT, b""), more)] {
        let end = end_of_flood(Raw::known(&bench, "basic"), &first, &flood);
        assert_eq!(end, (Some(1008), "no channel is open".to_owned()));
    }
}

#[test]
fn who_sends_no_key_may_say_little() {
    let bench = bench(|_| ());
    for (first, payload) in [(FINAL | PING, ""), (FINAL | TEXT, "{}"), (FINAL | PONG, "")] {
        let end = end_of_flood(Raw::open(&bench), b"", &frame(first, payload.as_bytes()));
        assert_eq!(end, (Some(1008), "too many messages without a key".to_owned()));
    }
}

#[test]
fn a_refused_handshake_says_what_is_spoken() {
    let bench = bench(|_| ());
    let answer = bench.raw(
        "GET /ws?encoding=json HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    assert_eq!((answer.status, answer.code().as_str()), (426, "UPGRADE_REQUIRED"));
    assert_eq!((answer.header("upgrade"), answer.header("sec-websocket-version")), (Some("websocket"), Some("13")));
}
