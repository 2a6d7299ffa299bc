//! 128-bit kernel for 64-bit ARM, all of which have NEON. The intrinsics need no `target_feature`.

mod find;
mod long;
mod short;

pub(super) use find::{index, index_closers, index_list, index_rows, same};
pub(super) use short::{floats, times};
