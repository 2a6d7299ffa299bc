//! Which rows and columns are read.

use crate::clock::Window;
use crate::protocol::Shape;

/// What is read of a key's files.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// The rows: those whose bucket starts lie in it.
    pub window: Window,
    /// The columns that are wanted beside the times; others may come with them. `None` wants all.
    pub columns: Option<&'a [String]>,
}

impl From<Window> for Scan<'_> {
    /// Every column of a window.
    fn from(window: Window) -> Self {
        Self { window, columns: None }
    }
}

/// Whether a column is read where some are wanted: heatmaps and volume profiles are their levels, and nothing without them.
pub fn is_wanted(shape: Shape, name: &str, wanted: &[String]) -> bool {
    matches!(shape, Shape::Heatmap | Shape::Profile) || wanted.iter().any(|wanted| wanted == name)
}
