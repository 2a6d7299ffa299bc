//! Lines of a dump file, decompressed on another thread while earlier ones are being read.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use flate2::read::MultiGzDecoder;

use crate::archive::open_plain;
use crate::decode::Delimited;

/// Bytes of a block: large enough that passing it between threads costs nothing, small enough for the caches.
const BLOCK: usize = 1 << 18;
/// Blocks that may wait to be read.
const WAITING: usize = 64;
/// Empty lines that are skipped at a time.
const MANY_EMPTY: usize = 1 << 15;
/// Longest line. A row of any dump has a few hundred bytes; a longer one is no dump, and must not fill the memory.
const LONGEST_LINE: usize = 1 << 20;

/// A file's bytes, cut into blocks of whole lines.
struct LineBlocks {
    source: Box<dyn Read + Send>,
    /// The start of a line whose end is not read yet.
    rest: Vec<u8>,
    /// Set when the last line of the file has no end.
    cut: Arc<AtomicBool>,
}

impl LineBlocks {
    fn open(path: &Path) -> io::Result<Self> {
        let file = open_plain(path)?;
        let packed = path.extension().is_some_and(|suffix| suffix == "gz");
        let source: Box<dyn Read + Send> = if packed {
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(BLOCK, file)))
        } else {
            Box::new(file)
        };
        Ok(Self { source, rest: Vec::new(), cut: Arc::default() })
    }

    /// Fills the block with the next lines, each with a line end, even the file's last. `false` when the block is the
    /// last.
    fn next(&mut self, block: &mut Vec<u8>) -> io::Result<bool> {
        let mut length = self.rest.len();
        block.resize(BLOCK.max(length), 0);
        block[..length].copy_from_slice(&self.rest);
        self.rest.clear();
        loop {
            if length == block.len() {
                block.resize(length + BLOCK, 0);
            }
            let read = fill(&mut *self.source, &mut block[length..])?;
            let ended = length + read < block.len();
            if ended {
                block.truncate(length + read);
                if block.last().is_some_and(|byte| *byte != b'\n') {
                    self.cut.store(true, Ordering::Release);
                    block.push(b'\n');
                }
            }
            // Only the first line may have begun in an earlier block.
            let first = memchr::memchr(b'\n', &block[length..]).map_or(block.len(), |end| length + end);
            if first > LONGEST_LINE {
                let problem = format!("a line of more than {LONGEST_LINE} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            if ended {
                return Ok(false);
            }
            if let Some(end) = memchr::memrchr(b'\n', &block[length..]) {
                self.rest.extend_from_slice(&block[length + end + 1..]);
                block.truncate(length + end + 1);
                return Ok(true);
            }
            length += read;
        }
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

/// The blocks of a file, decompressed ahead of the reader.
struct Prefetcher {
    blocks: Receiver<io::Result<Vec<u8>>>,
    used: SyncSender<Vec<u8>>,
    cut: Arc<AtomicBool>,
}

impl Prefetcher {
    fn new(path: &Path) -> io::Result<Self> {
        let mut source = LineBlocks::open(path)?;
        let cut = Arc::clone(&source.cut);
        let (sender, blocks) = sync_channel(WAITING);
        let (used, empty) = sync_channel::<Vec<u8>>(WAITING);
        // The thread ends with the file, or when the receiver is dropped.
        std::thread::Builder::new().name("unpack".to_owned()).spawn(move || {
            loop {
                let mut block = empty.try_recv().unwrap_or_default();
                let more = source.next(&mut block);
                let last = !matches!(more, Ok(true));
                if sender.send(more.map(|_| block)).is_err() || last {
                    break;
                }
            }
        })?;
        Ok(Self { blocks, used, cut })
    }

    /// Replaces a block that was read by the next one; `false` at the end.
    fn replace(&self, block: &mut Vec<u8>) -> io::Result<bool> {
        let Ok(next) = self.blocks.recv() else { return Ok(false) };
        let read = std::mem::replace(block, next?);
        // A block that grew for a long line is not reused, to free its memory.
        if read.capacity() <= 2 * BLOCK {
            let _ = self.used.try_send(read);
        }
        Ok(true)
    }
}

/// A line in its block.
pub(in crate::market) struct DumpLine<'a> {
    /// 1 for the first of the file.
    pub(in crate::market) number: u64,
    pub(in crate::market) block: &'a [u8],
    pub(in crate::market) begin: usize,
    /// End of its text, without the line end.
    pub(in crate::market) end: usize,
    /// The ends of its fields; the last may be behind `end`.
    pub(in crate::market) field_ends: &'a [u32],
}

impl<'a> DumpLine<'a> {
    /// Its bytes, without the line end.
    pub(in crate::market) fn text(&self) -> &'a [u8] {
        &self.block[self.begin..self.end]
    }

    /// Number of its bytes.
    pub(in crate::market) fn length(&self) -> usize {
        self.end - self.begin
    }
}

/// The lines of a file, plain or gzip by its name.
pub(in crate::market) struct Lines {
    source: Prefetcher,
    block: Vec<u8>,
    fields: Delimited,
    /// Lines of the block that are read.
    read: usize,
    /// Number of the line read last; the header is line 1.
    pub(in crate::market) number: u64,
}

impl Lines {
    pub(in crate::market) fn open(path: &Path) -> io::Result<Self> {
        // The ingest checked before the first file that the kernel exists.
        let fields = Delimited::new().map_err(io::Error::other)?;
        Ok(Self { source: Prefetcher::new(path)?, block: Vec::new(), fields, read: 0, number: 0 })
    }

    /// The lines of a block that is not read yet, except for the header: bytes, places of the fields, and the first line. `None`
    /// if the next line is in a partly read block, and at the end of the file.
    pub(in crate::market) fn fresh(&mut self) -> io::Result<Option<(&[u8], &mut Delimited, usize)>> {
        let fresh = if self.read == self.fields.lines() { self.advance()? } else { self.number == 1 };
        Ok(fresh.then_some((&self.block, &mut self.fields, self.read)))
    }

    /// Whether the file ends within its last line; known once that line is read.
    pub(in crate::market) fn is_cut(&self) -> bool {
        self.source.cut.load(Ordering::Acquire)
    }

    /// Skips the rest of the block.
    pub(in crate::market) fn pass(&mut self) {
        self.number += (self.fields.lines() - self.read) as u64;
        self.read = self.fields.lines();
    }

    /// Goes on to the next block that has lines; `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        self.read = 0;
        while self.source.replace(&mut self.block)? {
            self.fields.find(&self.block);
            if self.fields.lines() > 0 {
                return Ok(true);
            }
        }
        self.fields.find(b"");
        Ok(false)
    }

    /// The next line that is not empty; `None` at the end of the file. Among very many empty lines one is returned now
    /// and then, so that the caller can check whether to go on.
    pub(in crate::market) fn next_line(&mut self) -> io::Result<Option<DumpLine<'_>>> {
        let mut passed = 0;
        loop {
            if self.read == self.fields.lines() && !self.advance()? {
                return Ok(None);
            }
            self.read += 1;
            self.number += 1;
            let (begin, end) = self.bounds(self.read - 1);
            if end > begin || passed == MANY_EMPTY {
                let (_, field_ends) = self.fields.line(self.read - 1);
                return Ok(Some(DumpLine { number: self.number, block: &self.block, begin, end, field_ends }));
            }
            passed += 1;
        }
    }

    /// Start and end of a line in the block, without the line end.
    #[inline]
    fn bounds(&self, line: usize) -> (usize, usize) {
        let (begin, field_ends) = self.fields.line(line);
        let end = field_ends[field_ends.len() - 1] as usize;
        (begin, if end > begin && self.block[end - 1] == b'\r' { end - 1 } else { end })
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
        while let Some(line) = lines.next_line()? {
            let text = String::from_utf8_lossy(&line.block[line.begin..line.end]).into_owned();
            assert_eq!(line.field_ends.len(), text.split(',').count());
            all.push((line.number, text));
        }
        Ok(all)
    }

    #[test]
    fn empty_lines_count_but_are_not_returned() {
        let read = lines("a.csv", b"a,b\r\n\n1,2\n\r\n3,4").unwrap();
        let expected = [(1, "a,b"), (3, "1,2"), (5, "3,4")].map(|(number, line)| (number, line.to_owned()));
        assert_eq!(read, expected);
        assert!(lines("b.csv", b"").unwrap().is_empty());
    }

    #[test]
    fn endless_empty_lines_are_returned_now_and_then() {
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

    #[test]
    fn a_line_may_be_as_long_wherever_it_stands() {
        for before in [0, 1, 100_000, BLOCK - 1, BLOCK, BLOCK + 1] {
            for (length, ends) in
                [(LONGEST_LINE, true), (LONGEST_LINE, false), (LONGEST_LINE + 1, true), (LONGEST_LINE + 1, false)]
            {
                let long = [vec![b'7'; length], if ends { b"\nb".to_vec() } else { Vec::new() }].concat();
                let short = if before == 0 { Vec::new() } else { [vec![b'a'; before - 1], b"\n".to_vec()].concat() };
                let read = lines("a.csv", &[short, long].concat());
                assert_eq!(read.is_ok(), length == LONGEST_LINE, "{length} bytes behind {before}, {ends}");
                let known = usize::from(before > 1) + 1 + usize::from(ends);
                assert!(read.is_err() || read.unwrap().len() == known);
            }
        }
    }
}
