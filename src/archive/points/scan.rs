//! Which rows and columns are read.

use crate::clock::Window;
use crate::protocol::Shape;

/// The part of a key's files to read.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// The rows: those whose bucket starts are in it.
    pub window: Window,
    /// The columns to read beside the times; others may be included. `None` is all.
    pub columns: Option<&'a [String]>,
}

impl From<Window> for Scan<'_> {
    /// Every column of a window.
    fn from(window: Window) -> Self {
        Self { window, columns: None }
    }
}

/// Whether a column is read when only some are wanted: heatmaps and volume profiles always need their levels.
pub fn is_wanted(shape: Shape, name: &str, wanted: &[String]) -> bool {
    matches!(shape, Shape::Heatmap | Shape::Profile) || wanted.iter().any(|wanted| wanted == name)
}
