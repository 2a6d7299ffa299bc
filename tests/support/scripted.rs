//! A server that does what a script says, over real sockets: for faults that no well-behaved server shows.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What happens on one request.
#[derive(Clone)]
pub(crate) enum Step {
    /// Send these bytes and close.
    Send(Vec<u8>),
    /// Close without a word.
    Close,
    /// Keep the connection open and say nothing until the client goes away.
    Stall,
    /// Do anything with the connection.
    Run(fn(TcpStream)),
    /// Choose by the request's head.
    Choose(fn(&str) -> Step),
}

/// A running scripted server.
pub(crate) struct Scripted {
    /// Base address.
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// Plays one step per request; the last step is repeated.
    pub(crate) fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let script = Arc::new(Mutex::new(VecDeque::from(steps)));
        // The thread ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                thread::spawn(move || serve(stream, &seen, &script));
            }
        });
        Self { url, requests }
    }

    /// Heads of the requests that came, in order.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>, script: &Mutex<VecDeque<Step>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    seen.lock().unwrap().push(head.clone());
    let mut step = {
        let mut script = script.lock().unwrap();
        if script.len() > 1 { script.pop_front().unwrap() } else { script[0].clone() }
    };
    loop {
        match step {
            Step::Send(bytes) => {
                let _ = stream.write_all(&bytes);
                let _ = stream.shutdown(Shutdown::Write);
            }
            Step::Close => {}
            Step::Run(run) => run(stream),
            Step::Stall => drop(stream.read(&mut byte)),
            Step::Choose(choose) => {
                step = choose(&head);
                continue;
            }
        }
        return;
    }
}

/// A whole answer with a status, further header lines and a body.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}", body.len())
        .into_bytes()
}
