//! How the parameters of a points query are spelled: written to a URL, read from one, and set by the client's argument.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use super::parameters::{Pairs, ParamError, choice, flag, number, push_flag, push_number, push_text};
use crate::protocol::group_by::GroupBy;
use crate::protocol::sort_direction::SortDirection;
use crate::protocol::suggest::hint;

/// Kind of a parameter's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A text, or one of some names.
    Text,
    /// Texts: the parameter may be repeated.
    Texts,
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Whole,
    /// A number.
    Number,
}

impl ParameterKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Texts => "texts",
            Self::Flag => "flag",
            Self::Whole => "whole",
            Self::Number => "number",
        }
    }
}

/// How the client pairs several values of an argument with the requests of a call, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Several {
    /// The subject of a request: each value makes a request.
    Subject,
    /// One for each request.
    Each,
    /// One for all requests, or one for each.
    AllOrEach,
}

/// A way to spell values of a type.
pub(super) trait Argument<T> {
    const KIND: ParameterKind;

    fn write<'a>(&self, name: &'a str, value: &'a T, pairs: &mut Pairs<'a>);
    fn read(&self, name: &str, value: String, into: &mut T) -> Result<(), ParamError>;
    /// As [`read`](Self::read), from what users write; refusals call it by the argument's name.
    fn set(&self, argument: &str, value: &str, into: &mut T) -> Result<(), ParamError> {
        self.read(argument, value.to_owned(), into)
    }
}

/// A value as it stands.
pub(super) struct Plain;

impl Argument<String> for Plain {
    const KIND: ParameterKind = ParameterKind::Text;

    fn write<'a>(&self, name: &'a str, value: &'a String, pairs: &mut Pairs<'a>) {
        push_text(pairs, name, Some(value));
    }

    fn read(&self, _: &str, value: String, into: &mut String) -> Result<(), ParamError> {
        *into = value;
        Ok(())
    }
}

impl Argument<Option<String>> for Plain {
    const KIND: ParameterKind = ParameterKind::Text;

    fn write<'a>(&self, name: &'a str, value: &'a Option<String>, pairs: &mut Pairs<'a>) {
        push_text(pairs, name, value.as_deref());
    }

    fn read(&self, _: &str, value: String, into: &mut Option<String>) -> Result<(), ParamError> {
        *into = Some(value);
        Ok(())
    }
}

impl Argument<Vec<String>> for Plain {
    const KIND: ParameterKind = ParameterKind::Texts;

    fn write<'a>(&self, name: &'a str, value: &'a Vec<String>, pairs: &mut Pairs<'a>) {
        pairs.extend(value.iter().map(|one| (name, Cow::Borrowed(one.as_str()))));
    }

    fn read(&self, _: &str, value: String, into: &mut Vec<String>) -> Result<(), ParamError> {
        into.push(value);
        Ok(())
    }
}

impl Argument<bool> for Plain {
    const KIND: ParameterKind = ParameterKind::Flag;

    fn write<'a>(&self, name: &'a str, value: &'a bool, pairs: &mut Pairs<'a>) {
        push_flag(pairs, name, *value);
    }

    fn read(&self, name: &str, value: String, into: &mut bool) -> Result<(), ParamError> {
        *into = flag(name, &value)?;
        Ok(())
    }
}

/// A whole number with the words for what it counts, such as `seconds`.
pub(super) struct WholeNumber(pub(super) &'static str);

impl<T: Copy + Display + FromStr> Argument<Option<T>> for WholeNumber {
    const KIND: ParameterKind = ParameterKind::Whole;

    fn write<'a>(&self, name: &'a str, value: &'a Option<T>, pairs: &mut Pairs<'a>) {
        push_number(pairs, name, *value);
    }

    fn read(&self, name: &str, value: String, into: &mut Option<T>) -> Result<(), ParamError> {
        *into = Some(number(name, &value, self.0)?);
        Ok(())
    }
}

/// A number of price levels, 1 or more.
pub(super) struct Depth;

impl Argument<Option<u32>> for Depth {
    const KIND: ParameterKind = ParameterKind::Whole;

    fn write<'a>(&self, name: &'a str, value: &'a Option<u32>, pairs: &mut Pairs<'a>) {
        push_number(pairs, name, *value);
    }

    fn read(&self, name: &str, value: String, into: &mut Option<u32>) -> Result<(), ParamError> {
        match number(name, &value, "a number of levels, 1 to 4294967295")? {
            0 => Err(ParamError::new(name, "0 levels asked; give 1 or more")),
            depth => {
                *into = Some(depth);
                Ok(())
            }
        }
    }
}

/// A height of price levels above 0.
pub(super) struct PriceStep;

impl Argument<Option<f64>> for PriceStep {
    const KIND: ParameterKind = ParameterKind::Number;

    fn write<'a>(&self, name: &'a str, value: &'a Option<f64>, pairs: &mut Pairs<'a>) {
        push_number(pairs, name, *value);
    }

    fn read(&self, name: &str, value: String, into: &mut Option<f64>) -> Result<(), ParamError> {
        let size: f64 = number(name, &value, "a price step above 0")?;
        if !(size.is_finite() && size > 0.0) {
            return Err(ParamError::new(name, format!("{value:?} is not a price step above 0")));
        }
        *into = Some(size);
        Ok(())
    }
}

/// Values in USD or not: a flag for users, the quote's name in a URL.
pub(super) struct UsdQuote;

impl Argument<bool> for UsdQuote {
    const KIND: ParameterKind = ParameterKind::Flag;

    fn write<'a>(&self, name: &'a str, value: &'a bool, pairs: &mut Pairs<'a>) {
        push_text(pairs, name, value.then_some("USD"));
    }

    fn read(&self, name: &str, value: String, into: &mut bool) -> Result<(), ParamError> {
        *into = choice(name, &value, (value == "USD").then_some(true), &["USD"])?;
        Ok(())
    }

    fn set(&self, argument: &str, value: &str, into: &mut bool) -> Result<(), ParamError> {
        *into = flag(argument, value)?;
        Ok(())
    }
}

/// One of some names, which differ between a URL and an argument.
pub(super) struct Named;

impl Argument<Option<SortDirection>> for Named {
    const KIND: ParameterKind = ParameterKind::Text;

    fn write<'a>(&self, name: &'a str, value: &'a Option<SortDirection>, pairs: &mut Pairs<'a>) {
        push_text(pairs, name, value.map(SortDirection::name));
    }

    fn read(&self, name: &str, value: String, into: &mut Option<SortDirection>) -> Result<(), ParamError> {
        let names = [SortDirection::Ascending.name(), SortDirection::Descending.name()];
        *into = Some(choice(name, &value, SortDirection::find(&value), &names)?);
        Ok(())
    }

    fn set(&self, argument: &str, value: &str, into: &mut Option<SortDirection>) -> Result<(), ParamError> {
        *into = Some(match value {
            "asc" => SortDirection::Ascending,
            "desc" => SortDirection::Descending,
            _ => choice(argument, value, SortDirection::find(value), &["\"asc\"", "\"desc\""])?,
        });
        Ok(())
    }
}

impl Argument<Option<GroupBy>> for Named {
    const KIND: ParameterKind = ParameterKind::Text;

    fn write<'a>(&self, name: &'a str, value: &'a Option<GroupBy>, pairs: &mut Pairs<'a>) {
        push_text(pairs, name, value.map(GroupBy::name));
    }

    fn read(&self, name: &str, value: String, into: &mut Option<GroupBy>) -> Result<(), ParamError> {
        *into = Some(choice(name, &value, GroupBy::find(&value), &GroupBy::ALL.map(GroupBy::name))?);
        Ok(())
    }

    fn set(&self, argument: &str, value: &str, into: &mut Option<GroupBy>) -> Result<(), ParamError> {
        let known = || GroupBy::ALL.into_iter().map(GroupBy::argument);
        let found = GroupBy::ALL.into_iter().find(|one| [one.argument(), one.name()].contains(&value));
        *into = Some(found.ok_or_else(|| {
            let names = known().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            ParamError::new(argument, format!("{value:?} is not one of {names}{}", hint(value, known())))
        })?);
        Ok(())
    }
}
