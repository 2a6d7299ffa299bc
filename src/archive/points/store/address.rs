//! Addresses of object stores: `s3://bucket/prefix`, `gs://…`, `az://…`. Credentials come from the environment and from
//! options, never from an address.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, Error, ObjectStore, RetryConfig};
use secrecy::{ExposeSecret, SecretString};

use super::secrets::Secrets;
use crate::archive::points::fault::ArchiveFault;
use crate::protocol::redacted;

/// Timeout of one request; a file may be a hundred megabytes. The library's default is for small ones.
const TIMEOUT: (&str, &str) = ("timeout", "120s");
/// Time after which a failed request is not tried again.
const RETRY: Duration = Duration::from_secs(20);
/// Attempts after the first.
const RETRIES: usize = 5;

/// Words in the names of options and variables whose values may be shown, because they are locations. Any other value
/// may be secret.
const HARMLESS: [&str; 23] = [
    "region",
    "endpoint",
    "bucket",
    "bucket_name",
    "container_name",
    "account_name",
    "allow_http",
    "allow_invalid_certificates",
    "disable_system_certificates",
    "timeout",
    "connect_timeout",
    "read_timeout",
    "pool_idle_timeout",
    "http1_only",
    "http2_only",
    "virtual_hosted_style_request",
    "conditional_put",
    "checksum_algorithm",
    "skip_signature",
    "unsigned_payload",
    "use_emulator",
    "s3_express",
    "request_payer",
];

/// The protocol of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::archive::points) enum StoreProtocol {
    S3,
    Google,
    Azure,
}

impl StoreProtocol {
    /// From the scheme of an address.
    fn find(scheme: &str) -> Option<Self> {
        match scheme {
            "s3" | "s3a" => Some(Self::S3),
            "gs" => Some(Self::Google),
            "az" | "abfs" | "abfss" => Some(Self::Azure),
            _ => None,
        }
    }

    /// Prefix of its environment variables.
    pub(super) const fn variables(self) -> &'static str {
        match self {
            Self::S3 => "AWS_",
            Self::Google => "GOOGLE_",
            Self::Azure => "AZURE_",
        }
    }

    /// Where credentials come from, for messages.
    pub(super) const fn credentials(self) -> &'static str {
        match self {
            Self::S3 => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (with AWS_SESSION_TOKEN, where there is one)",
            Self::Google => "GOOGLE_APPLICATION_CREDENTIALS",
            Self::Azure => "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        }
    }
}

/// A location in an object store, and how to connect to it.
pub(in crate::archive::points) struct Address {
    pub(super) text: String,
    pub(super) kind: StoreProtocol,
    /// The bucket's URL.
    bucket: String,
    /// The archive's prefix in the bucket.
    pub(super) root: Path,
    options: Vec<(String, SecretString)>,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Address").field(&self.text).finish() // the options may be secret
    }
}

impl Address {
    /// Parses an address and options; does no I/O.
    ///
    /// # Errors
    /// [`ArchiveFault::Address`] for an address or an invalid option. No option's value is shown.
    pub(in crate::archive::points) fn parse(text: &str, options: &[(String, String)]) -> Result<Self, ArchiveFault> {
        let bad = |problem: String| Err(ArchiveFault::Address(problem));
        let known = "s3://bucket/prefix, gs://bucket/prefix and az://container/prefix";
        let Some((scheme, rest)) = text.split_once("://") else {
            return bad(format!("archive: no address of an object store; addresses are {known}"));
        };
        let scheme = scheme.to_ascii_lowercase();
        let Some(kind) = StoreProtocol::find(&scheme) else {
            let scheme = redacted(&scheme);
            return bad(format!("archive: {scheme}:// is neither a folder nor an object store; addresses are {known}"));
        };
        let (host, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        // Hadoop's form of Azure addresses has the container where others have a user.
        let user = host.rsplit_once('@').map(|(user, _)| user);
        if user.is_some_and(|user| kind != StoreProtocol::Azure || user.contains(':')) || rest.contains(['?', '#']) {
            let places = kind.credentials();
            return bad(format!(
                "archive: an address of {scheme}:// holds a bucket and a prefix and nothing else; credentials come from \
                 the environment ({places}) or storage_options"
            ));
        }
        if host.is_empty() {
            return bad(format!("archive: {scheme}:// without a bucket; addresses are {known}"));
        }
        let Ok(root) = Path::parse(prefix) else {
            // Not shown: a secret may have been put into the wrong part of the address.
            return bad(
                "archive: the prefix of an address has an empty part, `.` or `..`; write s3://bucket/some/prefix"
                    .to_owned(),
            );
        };
        let bucket = format!("{scheme}://{host}");
        let text = if root.as_ref().is_empty() { bucket.clone() } else { format!("{bucket}/{root}") };
        let secret = |(name, value): &(String, String)| (name.to_ascii_lowercase(), SecretString::from(value.as_str()));
        Ok(Self { text, kind, bucket, root, options: options.iter().map(secret).collect() })
    }

    /// As written by the user, without a trailing slash.
    pub(in crate::archive::points) fn text(&self) -> &str {
        &self.text
    }

    /// The options, if all of them may be shown.
    pub(in crate::archive::points) fn plain_options(&self) -> Option<Vec<(String, String)>> {
        let plain = |(name, value): &(String, SecretString)| {
            let value = value.expose_secret();
            is_harmless(name, value).then(|| (name.clone(), value.to_owned()))
        };
        self.options.iter().map(plain).collect()
    }

    /// The values that must not appear in messages.
    pub(super) fn secrets(&self) -> Secrets {
        let own = self.options.iter().map(|(name, value)| (name.clone(), value.expose_secret().to_owned()));
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| name.starts_with(self.kind.variables()))?;
            Some((name, value.into_string().ok()?))
        });
        Secrets::new(own.chain(variables).filter(|(name, value)| !is_harmless(name, value)).map(|(_, value)| value))
    }

    /// A client for the store; nothing is sent yet.
    ///
    /// # Errors
    /// [`ArchiveFault::Address`] for an unknown option or variable, or an invalid value.
    pub(super) fn open(&self) -> Result<Arc<dyn ObjectStore>, ArchiveFault> {
        // A provider already installed by the embedding program is fine too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry = RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES, retry_timeout: RETRY };
        let opened = match self.kind {
            StoreProtocol::S3 => {
                let builder = AmazonS3Builder::from_env().with_url(&self.bucket).with_retry(retry);
                self.set(builder, AmazonS3Builder::with_config)?.build().map(|store| Arc::new(store) as _)
            }
            StoreProtocol::Google => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(&self.bucket).with_retry(retry);
                self.set(builder, GoogleCloudStorageBuilder::with_config)?.build().map(|store| Arc::new(store) as _)
            }
            StoreProtocol::Azure => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(&self.bucket).with_retry(retry);
                self.set(builder, MicrosoftAzureBuilder::with_config)?.build().map(|store| Arc::new(store) as _)
            }
        };
        opened.map_err(|error| {
            let problem = self.secrets().hide(&unopened(&error));
            ArchiveFault::Address(format!("archive {}: {problem}; see the environment and storage_options", self.text))
        })
    }

    fn set<B, K: std::str::FromStr>(&self, builder: B, with: fn(B, K, String) -> B) -> Result<B, ArchiveFault> {
        let variable = format!("{}{}", self.kind.variables(), TIMEOUT.0.to_ascii_uppercase());
        let timeout = std::env::var_os(variable).is_none().then_some(TIMEOUT);
        let own = self.options.iter().map(|(name, value)| (name.as_str(), value.expose_secret()));
        timeout.into_iter().chain(own).try_fold(builder, |builder, (name, value)| match name.parse() {
            Ok(key) => Ok(with(builder, key, value.to_owned())),
            Err(_) => Err(ArchiveFault::Address(format!(
                "storage_options: {} is no option of {}; options are named as the environment's variables, such as \
                 {}",
                redacted(name),
                self.bucket,
                self.kind.credentials(),
            ))),
        })
    }
}

/// Why no client of a store can be made, with the cause, which the library's own text lacks.
fn unopened(error: &Error) -> String {
    let (said, cause) = (error.to_string(), cause(error));
    let text = if said.contains(&cause) { said } else { format!("{said}: {cause}") };
    if text.contains("No CA certificates") {
        format!(
            "{text}; install the system's (Debian: ca-certificates), or for an endpoint without TLS set \
             disable_system_certificates=true"
        )
    } else {
        text
    }
}

/// The root cause of an error.
pub(super) fn cause(error: &Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(next) = deepest.source() {
        deepest = next;
    }
    deepest.to_string()
}

/// Whether a value may be shown; one with an `@` may contain a password.
fn is_harmless(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let bare = ["aws_", "google_", "azure_storage_", "azure_"].iter().find_map(|prefix| name.strip_prefix(prefix));
    let bare = bare.unwrap_or(&name);
    let bare = bare.strip_prefix("default_").unwrap_or(bare);
    let bare = bare.split_once("_url").map_or(bare, |(bare, _)| bare); // endpoint_url, endpoint_url_s3
    HARMLESS.contains(&bare) && !value.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str, options: &[(&str, &str)]) -> String {
        let options: Vec<_> = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        match Address::parse(text, &options).and_then(|address| address.open().map(|_| address)) {
            Err(ArchiveFault::Address(problem)) => problem,
            other => panic!("{other:?}"),
        }
    }

    fn parse(text: &str, options: &[(&str, &str)]) -> Address {
        let options: Vec<_> = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Address::parse(text, &options).unwrap()
    }

    #[test]
    fn addresses_name_a_bucket_and_a_prefix() {
        for (text, plain, root) in [
            ("s3://bucket/some/prefix/", "s3://bucket/some/prefix", "some/prefix"),
            ("S3://bucket", "s3://bucket", ""),
            ("s3a://bucket/a%2Fb", "s3a://bucket/a%2Fb", "a%2Fb"),
            ("gs://bucket/prefix", "gs://bucket/prefix", "prefix"),
        ] {
            let address = parse(text, &[("skip_signature", "true")]);
            assert_eq!((address.text.as_str(), address.root.as_ref()), (plain, root));
        }
        let azure = [("account_name", "name"), ("skip_signature", "true")];
        assert_eq!(parse("az://container/prefix", &azure).root.as_ref(), "prefix");
        assert_eq!(parse("abfss://box@name.dfs.core.windows.net/p", &azure[1..]).root.as_ref(), "p");
    }

    #[test]
    fn what_is_no_address_is_refused_and_no_password_is_shown() {
        assert!(problem("http://host/path", &[]).contains("\"http\":// is neither a folder nor an object store"));
        assert!(problem("s3:///prefix", &[]).contains("without a bucket"));
        assert!(problem("s3://bucket/a/../b", &[]).contains("empty part"));
        for text in
            ["s3://key:hush-hush@bucket/p", "s3://hush-hush@bucket", "az://c:hush-hush@account/p", "s3://b/p?hush-hush"]
        {
            let problem = problem(text, &[]);
            assert!(problem.contains("storage_options") && !problem.contains("hush"), "{problem}");
        }
        let wrong = problem("s3://bucket", &[("acces_key", "hush-hush")]);
        assert!(
            wrong.contains("acces_key") && wrong.contains("AWS_ACCESS_KEY_ID") && !wrong.contains("hush"),
            "{wrong}"
        );
        let wrong = problem("s3://bucket", &[("conditional_put", "hush-hush")]);
        assert!(wrong.contains("conditional_put") || wrong.contains("s3://bucket"), "{wrong}");
    }

    #[test]
    fn options_are_shown_where_they_are_no_secrets() {
        let plain =
            [("endpoint", "http://127.0.0.1:1"), ("aws_region", "r"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:1")];
        let options = parse("s3://bucket", &plain).plain_options().unwrap();
        assert_eq!(options[1], ("aws_region".to_owned(), "r".to_owned()));
        for (name, value) in [
            ("access_key_id", "hush-hush"),
            ("secret_access_key", "hush-hush"),
            ("session_token", "hush-hush"),
            ("proxy_url", "http://hush-hush@host:1"),
            ("endpoint", "http://hush-hush@host:1"),
            ("sse_customer_key_base64", "hush-hush"),
        ] {
            let address = parse("s3://bucket", &[(name, value), ("skip_signature", "true")]);
            assert_eq!(address.plain_options(), None, "{name}");
            assert!(!format!("{address:?}").contains("hush"));
            assert!(!address.secrets().hide(&format!("before {value} after")).contains("hush"), "{name}");
        }
    }
}
