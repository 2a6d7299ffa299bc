//! Shapes and fields of points: how a type's payload is read and written. Sources: service.md 2.1 and 2.3, supplement 2.

/// Shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Single values per point.
    Table,
    /// Price levels per snapshot: `bids` and `asks`, or `levels`; flat form `flat_points`.
    Heatmap,
    /// Flat triplets of price, buy volume and sell volume.
    Profile,
    /// A market profile with nested level objects, under the key [`TPO_WRAPPER`].
    Tpo,
}

impl Shape {
    /// Name of the shape as Python users see it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Heatmap => "heatmap",
            Self::Profile => "profile",
            Self::Tpo => "tpo",
        }
    }
}

/// Key under `Point` that holds the payload of a [`Shape::Tpo`] (section 2.3).
pub const TPO_WRAPPER: &str = "TpoAggregation";

/// Kind of a field, with its value when the service leaves it out (section 2.1 and supplement 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A double; absent means 0.
    Number,
    /// As [`Self::Number`], for a price. It is never 0 in all rows: if it is, the field was renamed.
    Price,
    /// A double; absent means unknown (NaN).
    Optional,
    /// The point's own timestamp; always there.
    Time,
    /// A timestamp that may be absent (not-a-time).
    OptionalTime,
    /// A string; absent means none.
    Text,
    /// A flat list of doubles; absent means empty.
    List,
    /// A list of objects of these fields; absent means empty.
    Rows(&'static [Field]),
}

/// Rule by which the values of finer buckets make a column of the bucket that they fill (section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// The first.
    First,
    /// The last.
    Last,
    /// The least.
    Least,
    /// The greatest.
    Most,
    /// All of them, added up.
    Sum,
}

/// One field of a point payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Name on the wire.
    pub wire: &'static str,
    /// Name of the column that users see.
    pub column: &'static str,
    /// Meaning of its absence.
    pub kind: FieldKind,
    /// Whether the specification leaves the kind open: then `kind` is the likeliest one, and any other is kept.
    pub open: bool,
    /// How the buckets of a finer interval make it; `None` where they do not.
    pub fold: Option<Fold>,
}

impl Field {
    /// The field with the rule by which finer buckets make it.
    pub(super) const fn by(self, fold: Fold) -> Self {
        Self { fold: Some(fold), ..self }
    }
}

pub(super) const fn field(wire: &'static str, column: &'static str, kind: FieldKind) -> Field {
    Field { wire, column, kind, open: false, fold: None }
}

/// A field whose kind section 2.3 does not state.
pub(super) const fn open(name: &'static str, kind: FieldKind) -> Field {
    Field { wire: name, column: name, kind, open: true, fold: None }
}

/// The point's own timestamp.
pub const TIMESTAMP: Field = field("timestamp", "timestamp", FieldKind::Time);
