//! 128-bit kernel for 64-bit ARM, all of which have NEON. The intrinsics need no `target_feature`.

mod decimal16;
mod decimal31;
mod find;

pub(super) use decimal16::{floats, times};
pub(super) use find::{index, index_closers, index_list, index_rows, same};
