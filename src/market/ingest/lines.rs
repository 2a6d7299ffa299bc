//! Lines of a dump file, unpacked on a thread of its own while earlier ones are being read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use flate2::read::MultiGzDecoder;

/// Bytes that are handed over at a time: large enough that the hand-over costs nothing, small enough for the caches.
const BLOCK: usize = 1 << 18;
/// Blocks that may wait to be read.
const WAITING: usize = 8;
/// Empty lines that are passed in one go.
const MANY_EMPTY: usize = 1 << 15;
/// Longest line. A row of any dump has a few hundred bytes; what is longer is no dump, and must not fill the memory.
const LONGEST_LINE: usize = 1 << 20;

/// The bytes of a file, unpacked ahead of the reader.
struct Ahead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    used: SyncSender<Vec<u8>>,
}

impl Ahead {
    fn new(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let packed = path.extension().is_some_and(|suffix| suffix == "gz");
        let mut bytes: Box<dyn Read + Send> = if packed {
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(BLOCK, file)))
        } else {
            Box::new(file)
        };
        let (sender, blocks) = sync_channel(WAITING);
        let (used, empty) = sync_channel::<Vec<u8>>(WAITING);
        // The thread ends with the file, or when nobody takes its blocks any more.
        std::thread::Builder::new().name("unpack".to_owned()).spawn(move || {
            loop {
                let mut block = empty.try_recv().unwrap_or_default();
                block.resize(BLOCK, 0);
                let read = fill(&mut bytes, &mut block);
                let last = !matches!(read, Ok(BLOCK));
                let whole = read.map(|length| {
                    block.truncate(length);
                    block
                });
                if sender.send(whole).is_err() || last {
                    break;
                }
            }
        })?;
        Ok(Self { blocks, used })
    }

    /// Appends the next block; `false` at the end.
    fn append_to(&self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        let Ok(block) = self.blocks.recv() else { return Ok(false) };
        let block = block?;
        bytes.extend_from_slice(&block);
        let _ = self.used.try_send(block);
        Ok(true)
    }
}

/// Fills the block as far as the source goes.
fn fill(source: &mut dyn Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match source.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The lines of a file, plain or gzip by its name.
pub(super) struct Lines {
    source: Ahead,
    bytes: Vec<u8>,
    /// What of `bytes` is not read yet.
    begin: usize,
    ended: bool,
    /// Number of the line read last; the header is line 1.
    pub(super) number: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { source: Ahead::new(path)?, bytes: Vec::new(), begin: 0, ended: false, number: 0 })
    }

    /// The next line that is not empty, without its end, and its number; `None` at the end of the file. Of very many empty
    /// lines one is told now and then, so that whoever reads can look whether to go on.
    pub(super) fn next_line(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        for passed in 0_usize.. {
            let Some((begin, end, next)) = self.find()? else { return Ok(None) };
            self.begin = next;
            self.number += 1;
            let end = if self.bytes[begin..end].ends_with(b"\r") { end - 1 } else { end };
            if end > begin || passed == MANY_EMPTY {
                return Ok(Some((self.number, &self.bytes[begin..end])));
            }
        }
        Ok(None) // the count has no end
    }

    /// Where the next line begins and ends, and where the one after it begins.
    fn find(&mut self) -> io::Result<Option<(usize, usize, usize)>> {
        let mut searched = self.begin;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.bytes[searched..]) {
                return Ok(Some((self.begin, searched + found, searched + found + 1)));
            }
            if self.ended {
                let end = self.bytes.len();
                return Ok((self.begin < end).then_some((self.begin, end, end)));
            }
            if self.bytes.len() - self.begin > LONGEST_LINE {
                let problem = format!("a line of more than {LONGEST_LINE} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            self.bytes.drain(..self.begin);
            self.begin = 0;
            searched = self.bytes.len();
            self.ended = !self.source.append_to(&mut self.bytes)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn lines(name: &str, bytes: &[u8]) -> io::Result<Vec<(u64, String)>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut lines = Lines::open(&path)?;
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next_line()? {
            all.push((number, String::from_utf8_lossy(line).into_owned()));
        }
        Ok(all)
    }

    #[test]
    fn empty_lines_count_but_are_not_told() {
        let read = lines("a.csv", b"a,b\r\n\n1,2\n\r\n3,4").unwrap();
        let expected = [(1, "a,b"), (3, "1,2"), (5, "3,4")].map(|(number, line)| (number, line.to_owned()));
        assert_eq!(read, expected);
        assert!(lines("b.csv", b"").unwrap().is_empty());
    }

    #[test]
    fn endless_empty_lines_are_told_now_and_then() {
        let read = lines("a.csv", &[&b"a\n"[..], &b"\n".repeat(100_000), b"b"].concat()).unwrap();
        let (empty, full): (Vec<_>, Vec<_>) = read.into_iter().partition(|(_, line)| line.is_empty());
        assert_eq!(full, [(1, "a".to_owned()), (100_002, "b".to_owned())]);
        assert_eq!(empty.len(), 3);
    }

    #[test]
    fn lines_cross_blocks_and_members() {
        let text: Vec<String> = (0..200_000).map(|row| format!("{row},{}", row * 7)).collect();
        let mut packed = Vec::new();
        for part in text.chunks(70_000) {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all((part.join("\n") + "\n").as_bytes()).unwrap();
            packed.extend(encoder.finish().unwrap());
        }
        let read = lines("a.csv.gz", &packed).unwrap();
        assert!(read.iter().map(|(_, line)| line).eq(&text));
        assert!(lines("a.csv.gz", &packed[..packed.len() - 9]).is_err(), "a cut file is no shorter file");
        assert_eq!(lines("a.csv", (text.join("\n")).as_bytes()).unwrap(), read);
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&vec![b'7'; 1 << 23]).unwrap();
        let error = lines("a.csv.gz", &encoder.finish().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "a line of more than 1048576 bytes");
    }
}
