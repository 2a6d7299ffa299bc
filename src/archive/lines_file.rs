//! Append-only text files: readers, and the next writer after one that was killed, only see complete lines.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::ArchiveError;
use super::locked_file::LockedFile;
use super::regular_file::open_regular;
use super::state_file::{is_foreign, is_same_file, open_own_to_write};

/// Bytes at the end of a file that are read when it is opened; no line is longer.
const TAIL: u64 = 1 << 20;

/// A file that one writer at a time appends lines to.
pub struct LinesFile {
    path: PathBuf,
    file: LockedFile,
    length: u64,
}

impl LinesFile {
    /// Opens a file, or creates it and its folders with a header. An incomplete last line, left by a killed writer, is
    /// cut off. Also returns the last lines without the header.
    ///
    /// # Errors
    /// It cannot be written, another writer has it, or it starts with something other than the header.
    pub fn open(path: &Path, header: &str) -> Result<(Self, String), ArchiveError> {
        Self::taken(path, file_at(path)?, header)
    }

    /// Opens a file in folders below a root. The root may be behind a link; none of the folders may be one.
    ///
    /// # Errors
    /// As [`Self::open`], and where one of the folders is a link.
    pub fn open_below(root: &Path, folders: &[&str], name: &str, header: &str) -> Result<(Self, String), ArchiveError> {
        let mut path = root.to_owned();
        for folder in folders {
            path.push(folder);
            if fs::symlink_metadata(&path).is_ok_and(|about| about.file_type().is_symlink()) {
                return Err(ArchiveError::new(
                    &path,
                    "a link, and none is followed here: put a folder, or nothing, in its place",
                ));
            }
        }
        Self::open(&path.join(name), header)
    }

    fn taken(path: &Path, file: File, header: &str) -> Result<(Self, String), ArchiveError> {
        // Without locks, whoever shares the file has to coordinate.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(ArchiveError::new(path, "another recording writes it; give each a folder of its own"));
        }
        Self::of(path, LockedFile::new(file), header)
    }

    /// Appends a line to a file that several writers share: it is only open for this line.
    ///
    /// # Errors
    /// As [`Self::open`] and [`Self::append`].
    pub fn add_line(path: &Path, header: &str, line: &str) -> Result<(), ArchiveError> {
        let file = LockedFile::exclusive(file_at(path)?);
        Self::of(path, file, header)?.0.append(format!("{line}\n").as_bytes())
    }

    /// Calls `each` with the lines of a file, if it is there; bytes that are no text are replaced.
    ///
    /// # Errors
    /// It cannot be read, or is something else than a file of its own.
    pub fn each_line(path: &Path, mut each: impl FnMut(&str)) -> Result<(), ArchiveError> {
        if let Some(problem) = is_foreign(path) {
            return Err(ArchiveError::new(path, problem));
        }
        let bad = |error: std::io::Error| ArchiveError::new(path, error.to_string());
        let file = match open_regular(OpenOptions::new().read(true), path, false) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            file => file.map_err(bad)?,
        };
        let (mut file, mut line) = (BufReader::new(file), Vec::new());
        while file.read_until(b'\n', &mut line).map_err(bad)? > 0 {
            each(&String::from_utf8_lossy(&line));
            line.clear();
        }
        Ok(())
    }

    fn of(path: &Path, mut file: LockedFile, header: &str) -> Result<(Self, String), ArchiveError> {
        let bad = |error: std::io::Error| ArchiveError::new(path, error.to_string());
        let length = file.seek(SeekFrom::End(0)).map_err(bad)?;
        // Checked before anything is cut off, because the file may be someone else's.
        let mut first = vec![0; header.len().min(usize::try_from(length).unwrap_or(usize::MAX))];
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut first)).map_err(bad)?;
        if !header.as_bytes().starts_with(&first) {
            return Err(ArchiveError::new(
                path,
                format!("no recording: its first line is not {:?}", header.trim_end()),
            ));
        }
        let mut opened = Self { path: path.to_owned(), file, length: 0 };
        if first.len() < header.len() {
            opened.cut()?;
            opened.append(header.as_bytes())?;
            return Ok((opened, String::new()));
        }
        // The newline that ends the header is always found.
        let begin = length.saturating_sub(TAIL).max(header.len().saturating_sub(1) as u64);
        let mut tail = Vec::new();
        opened.file.seek(SeekFrom::Start(begin)).and_then(|_| opened.file.read_to_end(&mut tail)).map_err(bad)?;
        let is_end = |byte: &u8| *byte == b'\n';
        let (Some(first), Some(last)) = (tail.iter().position(is_end), tail.iter().rposition(is_end)) else {
            return Err(ArchiveError::new(path, format!("no recording: its last line has more than {TAIL} bytes")));
        };
        opened.length = begin + last as u64 + 1;
        opened.cut()?;
        Ok((opened, String::from_utf8_lossy(&tail[first + 1..=last]).into_owned()))
    }

    /// Appends complete lines, all of them or none.
    ///
    /// # Errors
    /// The file cannot be written, such as on a full disk; or it is no longer the one at its path.
    pub fn append(&mut self, lines: &[u8]) -> Result<(), ArchiveError> {
        if !is_same_file(&self.file, &self.path) {
            let problem = "it, or a folder above it, was moved, removed or replaced while it was being written";
            return Err(ArchiveError::new(&self.path, problem));
        }
        if let Err(error) = self.file.write_all(lines) {
            // A part that was written must not stay: the next line would be joined to it.
            let _ = self.cut();
            return Err(ArchiveError::new(&self.path, error.to_string()));
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Cuts off everything after the last complete line.
    fn cut(&mut self) -> Result<(), ArchiveError> {
        let cut = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
        cut.map(drop).map_err(|error| ArchiveError::new(&self.path, error.to_string()))
    }
}

fn file_at(path: &Path) -> Result<File, ArchiveError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| open_own_to_write(path, false)).map_err(|error| ArchiveError::new(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "a,b\n";

    fn problem_of(outcome: Result<(LinesFile, String), ArchiveError>) -> String {
        outcome.map(|(_, tail)| tail).unwrap_err().problem
    }

    #[test]
    fn lines_are_added_and_a_line_without_an_end_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("day.csv");
        let (mut file, tail) = LinesFile::open(&path, HEADER).unwrap();
        assert_eq!(tail, "");
        file.append(b"1,2\n3,4\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a,b\n1,2\n3,4\n", "there at once");
        assert!(problem_of(LinesFile::open(&path, HEADER)).contains("another recording"));
        drop(file);
        fs::write(&path, "a,b\n1,2\n3,4\n5").unwrap();
        let (mut file, tail) = LinesFile::open(&path, HEADER).unwrap();
        assert_eq!(tail, "1,2\n3,4\n");
        file.append(b"5,6\n").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "a,b\n1,2\n3,4\n5,6\n");
        // Killed while writing the header.
        fs::write(&path, "a,").unwrap();
        assert_eq!(LinesFile::open(&path, HEADER).unwrap().1, "");
        assert_eq!(fs::read_to_string(&path).unwrap(), HEADER);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_gone_takes_no_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("day.csv");
        for replaced in [false, true] {
            let (mut file, _) = LinesFile::open(&path, HEADER).unwrap();
            file.append(b"1,2\n").unwrap();
            fs::remove_dir_all(path.parent().unwrap()).unwrap();
            if replaced {
                fs::create_dir(path.parent().unwrap()).unwrap();
                fs::write(&path, HEADER).unwrap();
            }
            assert!(file.append(b"3,4\n").unwrap_err().problem.contains("removed"));
        }
    }

    #[test]
    fn several_writers_add_lines_to_a_file_that_none_keeps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.jsonl");
        std::thread::scope(|threads| {
            for writer in 0..4 {
                let path = &path;
                threads.spawn(move || {
                    for line in 0..50 {
                        LinesFile::add_line(path, HEADER, &format!("{writer},{line}")).unwrap();
                    }
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().skip(1).collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!((text.lines().next(), lines.len()), (Some("a,b"), 200));
    }

    #[test]
    fn of_a_large_file_the_end_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day.csv");
        let rows = (1_000_000..1_300_000).map(|row| format!("{row},x\n")).collect::<Vec<_>>().concat();
        fs::write(&path, format!("{HEADER}{rows}130000")).unwrap();
        let (file, tail) = LinesFile::open(&path, HEADER).unwrap();
        assert_eq!(file.length, (HEADER.len() + rows.len()) as u64);
        assert!(tail.len() > 1_000_000 && tail.starts_with('1') && rows.ends_with(&tail));
    }

    #[test]
    fn what_is_no_recording_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day.csv");
        for text in ["b,a\n1,2\n", "something\n", "some", "a;b\n", &format!("{HEADER}{}", "x".repeat(2 << 20))] {
            fs::write(&path, text).unwrap();
            assert!(problem_of(LinesFile::open(&path, HEADER)).starts_with("no recording: it"), "{}", &text[..4]);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(problem_of(LinesFile::open(&path, HEADER)).contains("no file"));
    }
}
