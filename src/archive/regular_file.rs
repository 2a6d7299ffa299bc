//! Opens files that users name without blocking: opening, or reading, a named pipe without a writer would block
//! forever.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Largest file of settings (keys, certificates, a dialect).
const LARGEST: u64 = 16 << 20;
/// Paths of a process's own open files: a pipe there has a writer, such as a shell's `<(…)`.
const OWN: [&str; 3] = ["/dev/fd/", "/dev/stdin", "/proc/self/fd/"];

/// Opens a file for reading.
///
/// # Errors
/// It cannot be opened, or it is a folder, a named pipe, a socket or a device. Never blocks.
pub fn open_plain(path: &Path) -> io::Result<File> {
    open_plain_with(OpenOptions::new().read(true), path)
}

/// As [`open_plain`], with options.
pub fn open_plain_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open_regular(options, path, true)
}

/// The same, following links or not.
pub(super) fn open_regular(options: &mut OpenOptions, path: &Path, links: bool) -> io::Result<File> {
    let file = open_at_once(options, path, links)?;
    plain(&file.metadata()?).map(|()| file)
}

/// Opens anything without blocking, following links or not.
fn open_at_once(options: &mut OpenOptions, path: &Path, links: bool) -> io::Result<File> {
    #[cfg(unix)]
    {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY | if links { 0 } else { libc::O_NOFOLLOW };
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    }
    #[cfg(not(unix))]
    let _ = links;
    // For something that cannot be opened at all (a socket), its type is a better message than the system's.
    options.open(path).map_err(|error| match std::fs::metadata(path).map(|about| plain(&about)) {
        Ok(Err(strange)) => strange,
        _ => error,
    })
}

/// Refuses anything but a file.
pub(crate) fn plain(about: &Metadata) -> io::Result<()> {
    if about.is_file() {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidInput, format!("{}, not a file", kind(about))))
}

fn kind(about: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = about.file_type();
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    if about.is_dir() { "a folder" } else { "a device" }
}

/// Reads a file of settings: keys, certificates, a dialect. A pipe that this process has open is read to its end.
///
/// # Errors
/// As [`open_plain`], and when it is larger than 16 MB.
pub fn read_settings(path: &Path) -> io::Result<Vec<u8>> {
    let file = if OWN.iter().any(|own| path.to_str().is_some_and(|path| path.starts_with(own))) {
        File::open(path)?
    } else {
        open_plain(path)?
    };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("larger than {} MB", LARGEST >> 20)));
    }
    Ok(bytes)
}

/// As [`read_settings`], as text.
///
/// # Errors
/// As [`read_settings`], and for invalid UTF-8.
pub fn read_settings_text(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(read_settings(path)?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// Opens a file for appending, creating it if needed; a pipe with a reader is accepted too.
///
/// # Errors
/// It cannot be opened, or it is a folder, a socket, or a pipe without a reader.
pub fn open_log(path: &Path) -> io::Result<File> {
    let file = open_at_once(OpenOptions::new().create(true).append(true), path, true)?;
    // From here on writes wait for a slow reader.
    #[cfg(unix)]
    {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    }
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn message_of<T: std::fmt::Debug>(outcome: io::Result<T>) -> String {
        outcome.unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, socket) = (folder.path().join("pipe"), folder.path().join("socket"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, kind) in [
            (pipe.as_path(), "a named pipe"),
            (&socket, "a socket"),
            (folder.path(), "a folder"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            assert_eq!(message_of(open_plain(path)), format!("{kind}, not a file"));
            assert_eq!(message_of(read_settings(path)), format!("{kind}, not a file"));
            let both = open_plain_with(OpenOptions::new().read(true).write(true), path);
            assert_eq!(message_of(both), format!("{kind}, not a file"));
        }
        assert_eq!(message_of(open_log(&pipe)), "a named pipe, not a file");
        assert_eq!(message_of(open_log(&socket)), "a socket, not a file");
        let file = folder.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read_settings_text(&file).unwrap(), "text");
        std::fs::File::create(&file).unwrap().set_len(LARGEST + 1).unwrap();
        assert_eq!(message_of(read_settings(&file)), "larger than 16 MB");
    }
}
