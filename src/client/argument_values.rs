//! Checks the values of sessions, block lengths and tenors (service.md 4.1, 8.5), so that what the service would refuse
//! is refused before it is planned.

use super::error::ClientError;
use crate::protocol::PointsQuery;
use crate::protocol::discovery::TENORS;
use crate::protocol::grid::{SESSION_PREFIX, TPO_SESSIONS, TpoSession};
use crate::protocol::suggest::{did_you_mean, hint};

/// The wire name of a session, from its short name such as `daily` or from a wire name, known or not.
///
/// # Errors
/// For anything else, with a suggestion.
pub(super) fn session(name: &str) -> Result<String, ClientError> {
    let known = TPO_SESSIONS.iter();
    if let Some(session) = known.clone().find(|session| session.short == name) {
        return Ok(session.name.to_owned());
    }
    if name.starts_with(SESSION_PREFIX) {
        let slip = known.clone().find(|known| known.name != name && strsim::osa_distance(known.name, name) <= 2);
        return match slip {
            None => Ok(name.to_owned()),
            Some(TpoSession { name: meant, .. }) => {
                Err(ClientError::invalid(format!("session {name:?} is not known; did you mean {meant}?")))
            }
        };
    }
    let shorts = TPO_SESSIONS.map(|session| session.short);
    let meant = known.clone().find(|session| session.is_meant_by(name));
    let near = meant.map_or_else(|| hint(&name.to_lowercase(), shorts), |session| did_you_mean(session.short));
    let all = shorts.join(", ");
    Err(ClientError::invalid(format!("session {name:?} is not one of {all}, nor a wire name {SESSION_PREFIX}…{near}")))
}

/// Refuses misspelt tenors. Unknown tenors pass, because the service may add some.
pub(super) fn check_tenor(query: &PointsQuery) -> Result<(), ClientError> {
    if query.tenor.as_deref().is_some_and(|given| given.contains(',')) {
        return Err(ClientError::invalid("tenor: a call takes one; ask for each of them"));
    }
    match query.tenor.as_deref().and_then(|given| meant_tenor(given).map(|meant| (given, meant))) {
        None => Ok(()),
        Some((given, meant)) => {
            let all = TENORS.join(", ");
            Err(ClientError::invalid(format!("tenor {given:?} is not known; did you mean {meant}? (known are {all})")))
        }
    }
}

/// The known tenor that is meant by another spelling: `1w`, `one-month`, `TWO_MONTHS`.
fn meant_tenor(given: &str) -> Option<&'static str> {
    let mut plain = given.to_uppercase().replace(['-', ' ', '_'], "");
    for (long, short) in [("WEEKS", "W"), ("WEEK", "W"), ("MONTHS", "M"), ("MONTH", "M")] {
        if let Some(rest) = plain.strip_suffix(long) {
            plain = format!("{rest}{short}");
        }
    }
    for (digit, word) in [("1", "ONE"), ("2", "TWO"), ("3", "THREE")] {
        if let Some(rest) = plain.strip_prefix(digit) {
            plain = format!("{word}{rest}");
        }
    }
    TENORS.into_iter().find(|known| *known != given && known.replace('_', "") == plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_known_or_wire_names() {
        assert_eq!(session("daily").unwrap(), "TPO_SESSION_DAILY");
        for open in ["TPO_SESSION_WEEKLY", "TPO_SESSION_UNSPECIFIED", "TPO_SESSION_LUNAR"] {
            assert_eq!(session(open).unwrap(), open);
        }
        for (slip, meant) in [
            ("day", "daily"),
            ("DAILY", "daily"),
            ("weekl", "weekly"),
            ("1M", "monthly"),
            ("TPO_SESSION_DAYLY", "TPO_SESSION_DAILY"),
        ] {
            let problem = session(slip).unwrap_err().message;
            assert!(problem.contains(&format!("did you mean {meant}?")), "{problem}");
        }
        assert!(session("lunar").unwrap_err().message.contains("daily, weekly, monthly"));
    }

    #[test]
    fn tenors_written_otherwise_are_recognized_and_new_ones_pass() {
        for (given, meant) in
            [("1w", "ONE_W"), ("ONE_WEEK", "ONE_W"), ("one_m", "ONE_M"), ("2 months", "TWO_M"), ("THREEM", "THREE_M")]
        {
            assert_eq!(meant_tenor(given), Some(meant), "{given}");
        }
        for open in ["ONE_W", "THREE_M", "SIX_M", "ONE_Y", "ONE_D"] {
            assert_eq!(meant_tenor(open), None, "{open}");
        }
    }
}
