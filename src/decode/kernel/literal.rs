//! The bytes that stand between the numbers of a learnt point, cut into pieces that one comparison covers.

/// Bytes that are compared at once.
pub(in super::super) const PIECE: usize = 32;

/// Bytes that must stand somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Literal {
    pieces: Vec<LiteralPiece>,
    length: usize,
}

/// At most 32 of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LiteralPiece {
    pub(super) bytes: [u8; PIECE],
    pub(super) length: usize,
}

impl Literal {
    /// These bytes.
    pub(in super::super) fn new(bytes: &[u8]) -> Self {
        let piece = |part: &[u8]| {
            let mut bytes = [0; PIECE];
            bytes[..part.len()].copy_from_slice(part);
            LiteralPiece { bytes, length: part.len() }
        };
        Self { pieces: bytes.chunks(PIECE).map(piece).collect(), length: bytes.len() }
    }

    /// Number of bytes.
    pub(in super::super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn pieces(&self) -> &[LiteralPiece] {
        &self.pieces
    }
}

impl LiteralPiece {
    /// Whether the piece stands there; `false` past the end.
    pub(super) fn stands_at(&self, bytes: &[u8], at: usize) -> bool {
        bytes.get(at..at + self.length) == Some(&self.bytes[..self.length])
    }
}
