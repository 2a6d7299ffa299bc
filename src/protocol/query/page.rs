//! Pages and texts in the queries of the analytics (service.md 4.3).

use super::parameters::{Pairs, ParamError, number, push_number};
use crate::protocol::analytics::{DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET};

/// The page that a query asks for (section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page {
    /// `limit`, rows; 20 when absent.
    pub limit: Option<i64>,
    /// `offset`, rows to skip; 0 when absent.
    pub offset: Option<i64>,
}

impl Page {
    /// Rows to skip and rows to give.
    pub fn bounds(self) -> (usize, usize) {
        let at_least_none = |rows: i64| usize::try_from(rows).unwrap_or(0);
        (at_least_none(self.offset.unwrap_or(0)), at_least_none(self.limit.unwrap_or(DEFAULT_LIMIT)))
    }

    pub(super) fn push(self, pairs: &mut Pairs<'_>) {
        push_number(pairs, "limit", self.limit);
        push_number(pairs, "offset", self.offset);
    }

    /// Reads one parameter; `false` when it is not one of a page.
    pub(super) fn read(&mut self, name: &str, value: &str) -> Result<bool, ParamError> {
        match name {
            "limit" => self.limit = Some(number(name, value, "a number of rows")?),
            "offset" => self.offset = Some(number(name, value, "a row number from 0")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn check(self) -> Result<(), ParamError> {
        match self.limit {
            Some(limit) if !(1..=MAX_LIMIT).contains(&limit) => {
                Err(ParamError::new("limit", format!("{limit} rows asked; ask for 1 to {MAX_LIMIT} at a time")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_offset(self) -> Result<(), ParamError> {
        match self.offset {
            Some(offset) if !(0..=MAX_OFFSET).contains(&offset) => {
                let problem = format!("{offset} is not within 0 to {MAX_OFFSET}; start earlier, or narrow the filters");
                Err(ParamError::new("offset", problem))
            }
            _ => Ok(()),
        }
    }
}

/// A text that was given.
pub(super) fn text(value: String) -> Option<String> {
    (!value.is_empty()).then_some(value)
}
