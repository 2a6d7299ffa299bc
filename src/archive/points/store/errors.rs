//! Describes errors of an object store: what, where, the remedy, and no credentials.

use object_store::Error;

use super::address::{StoreProtocol, cause};
use super::secrets::Secrets;
use crate::archive::points::fault::ArchiveFault;

/// Most bytes of an answer that are shown.
const SHOWN: usize = 300;
/// Error codes for a missing bucket.
const NO_BUCKET: [&str; 4] = ["NoSuchBucket", "ContainerNotFound", "AccountNotFound", "ResourceNotFound"];

/// Whether an error says that the bucket does not exist.
pub(super) fn is_bucket_missing(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. }) && said(error).is_some_and(|(code, _)| NO_BUCKET.contains(&code.as_str()))
}

/// Converts an error about an object.
pub(super) fn fault(kind: StoreProtocol, url: &str, secrets: &Secrets, error: &Error) -> ArchiveFault {
    let message = match said(error) {
        Some((code, message)) if message.is_empty() => code,
        Some((code, message)) => format!("{code}: {message}"),
        None => cause(error),
    };
    let message = short(&secrets.hide(&message));
    let credentials = kind.credentials();
    let path = url.to_owned();
    let unconditional = message.contains("NotImplemented") || message.contains("501 Not Implemented");
    let problem = match error {
        Error::NotImplemented { .. } | Error::NotSupported { .. } => return ArchiveFault::Unconditional { path },
        Error::Generic { .. } if unconditional => return ArchiveFault::Unconditional { path },
        _ if is_bucket_missing(error) => {
            format!("there is no such bucket ({message}); make it first, or mend the address")
        }
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => format!(
            "the store refuses the credentials ({message}); set {credentials}, or give them as storage_options, and see that \
             they may list, get and put there"
        ),
        _ if message.contains("scheme is not allowed") || message.contains("HttpsOnly") => {
            format!("{message}; an endpoint without TLS needs the option allow_http=true")
        }
        _ if is_without_credentials(&error.to_string()) => format!(
            "there are no credentials for the store ({message}); set {credentials}, or give them as storage_options; of a \
             public bucket skip_signature=true"
        ),
        _ => format!("the store does not answer as it should: {message}; see the address, the region and the network"),
    };
    ArchiveFault::Access { path, problem }
}

/// Without credentials the library asks the metadata service of a cloud machine, which does not answer here.
fn is_without_credentials(text: &str) -> bool {
    const SIGNS: [&str; 6] = [
        "/latest/api/token",
        "/latest/meta-data/",
        "/computeMetadata/",
        "/metadata/identity/",
        "169.254.169.254",
        "Error getting credentials",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// The code and the message of an answer's body. The rest may repeat what was sent, including credentials.
fn said(error: &Error) -> Option<(String, String)> {
    let text = error.to_string();
    let inner = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        let (inner, _) = rest.split_once(&format!("</{tag}>"))?;
        Some(inner.trim().to_owned())
    };
    let code = inner("Code")?;
    // Azure's messages continue with request ids.
    let message = inner("Message").unwrap_or_default();
    Some((code, message.lines().next().unwrap_or_default().to_owned()))
}

/// One line of bounded length, without anything that could be part of a signed URL.
fn short(text: &str) -> String {
    let line = text.split_whitespace().map(bare).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A URL without its query and user.
fn bare(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if path.is_empty() { format!("{scheme}://{host}") } else { format!("{scheme}://{host}/{path}") }
}
