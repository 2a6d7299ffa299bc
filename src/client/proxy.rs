//! The proxy of a client: its address, and what of it appears in no message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use reqwest::{Proxy, Url};

use super::address::redacted;
use super::error::ClientError;

/// Replacement for a proxy's password in messages.
const HIDDEN: &str = "<proxy password>";

/// A proxy by its address.
pub(super) struct GivenProxy {
    pub proxy: Proxy,
    /// The password as it is given and as it is sent: a careless proxy may echo either.
    secrets: Vec<String>,
}

impl GivenProxy {
    /// # Errors
    /// For what is no address of an HTTP proxy.
    pub(super) fn new(address: &str) -> Result<Self, ClientError> {
        // A host may be given without a scheme, and a user before a host looks like one.
        let url =
            Url::parse(address).ok().filter(Url::has_host).or_else(|| Url::parse(&format!("http://{address}")).ok());
        if let Some(url) = url.as_ref().filter(|url| !matches!(url.scheme(), "http" | "https")) {
            let problem =
                format!("proxy: {:?} is no proxy of HTTP; give an address such as http://host:3128", url.scheme());
            return Err(ClientError::invalid(problem));
        }
        let proxy = Proxy::all(address)
            .map_err(|_| ClientError::invalid("proxy: it is no address; give one such as http://host:3128"))?;
        let secrets = url.as_ref().map(secrets).unwrap_or_default();
        Ok(Self { proxy, secrets })
    }

    pub(super) fn redact(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| redacted(&text, secret, HIDDEN))
    }
}

fn secrets(url: &Url) -> Vec<String> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let Some(password) = url.password().map(decoded).filter(|password| !password.is_empty()) else { return Vec::new() };
    let sent = STANDARD.encode(format!("{}:{password}", decoded(url.username())));
    vec![sent, password]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_redacted_as_it_is_given_and_as_it_is_sent() {
        for address in
            ["http://user:PWSECRET88@127.0.0.1:1", "user:PWSECRET88@127.0.0.1:1", "https://user:PWSECRET8%38@a.b"]
        {
            let proxy = GivenProxy::new(address).unwrap();
            let echoed = "for user by Basic dXNlcjpQV1NFQ1JFVDg4, PWSECRET88";
            assert_eq!(proxy.redact(echoed), "for user by Basic <proxy password>, <proxy password>", "{address}");
        }
        assert_eq!(GivenProxy::new("http://127.0.0.1:1").unwrap().redact("as it was"), "as it was");
    }

    #[test]
    fn other_proxies_than_those_of_http_are_refused() {
        for address in ["socks5://127.0.0.1:1", "ftp://host"] {
            let refused = GivenProxy::new(address).err().unwrap().message;
            assert!(refused.contains("is no proxy of HTTP"), "{refused}");
        }
        assert!(GivenProxy::new("host:3128").is_ok());
    }
}
