//! Which requests are answered: those that know the token, from a page of this server.
//!
//! The server listens on the loopback interface, but every page that a browser shows may send requests
//! there. So the first part of each path is a random token, and requests that name another host, come from
//! another origin or from another site are refused before anything is looked at.

use hyper::header::{HOST, HeaderMap, ORIGIN};

/// Bytes of randomness in a token.
const TOKEN_BYTES: usize = 16;

/// See the module's text.
#[derive(Clone)]
pub(crate) struct Guard {
    token: String,
    port: u16,
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denied {
    Host,
    Origin,
    Token,
}

impl Guard {
    /// A guard with a fresh token.
    pub(crate) fn new(port: u16) -> std::io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(Guard { token: bytes.iter().map(|byte| format!("{byte:02x}")).collect(), port })
    }

    /// Where the server's page is.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// What is asked for, behind the token.
    pub(crate) fn admit<'p>(&self, path: &'p str, headers: &HeaderMap) -> Result<&'p str, Denied> {
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let mut named = headers.get_all(HOST).iter();
        let host = named.next().filter(|_| named.next().is_none());
        if !host.is_some_and(|host| hosts.iter().any(|known| host == known.as_str())) {
            return Err(Denied::Host);
        }
        let ours = |origin: &hyper::header::HeaderValue| {
            hosts.iter().any(|host| origin == format!("http://{host}").as_str())
        };
        if !headers.get_all(ORIGIN).iter().all(ours) {
            return Err(Denied::Origin);
        }
        let site = headers.get("sec-fetch-site");
        if site.is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(Denied::Origin);
        }
        let rest = path.strip_prefix('/').unwrap_or("");
        let (token, rest) = rest.split_once('/').unwrap_or((rest, ""));
        if !equal(token.as_bytes(), self.token.as_bytes()) {
            return Err(Denied::Token);
        }
        Ok(rest)
    }
}

/// Compares in a time that does not depend on where the texts differ.
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_our_own_page_is_let_in() {
        let guard = Guard { token: "secret".into(), port: 80 };
        let admit = |path, list: &[(&'static str, &str)]| {
            guard.admit(path, &headers(list)).map(String::from)
        };
        let host = ("host", "127.0.0.1:80");
        assert_eq!(admit("/secret/api/look", &[host]), Ok("api/look".into()));
        assert_eq!(admit("/secret", &[host]), Ok(String::new()));
        assert_eq!(admit("/secret/", &[("host", "localhost:80")]), Ok(String::new()));
        assert_eq!(
            admit("/secret/", &[host, ("origin", "http://localhost:80")]),
            Ok(String::new())
        );
        assert_eq!(admit("/secre/", &[host]), Err(Denied::Token));
        assert_eq!(admit("/", &[host]), Err(Denied::Token));
        assert_eq!(admit("/x/secret/", &[host]), Err(Denied::Token));
        assert_eq!(admit("/secret/", &[]), Err(Denied::Host));
        assert_eq!(admit("/secret/", &[host, host]), Err(Denied::Host));
        for other in ["127.0.0.1", "127.0.0.1:81", "evil.example", "127.0.0.1:80.evil.example"] {
            assert_eq!(admit("/secret/", &[("host", other)]), Err(Denied::Host), "{other}");
        }
        for other in ["null", "http://evil.example", "https://127.0.0.1:80", "http://127.0.0.1"] {
            assert_eq!(
                admit("/secret/", &[host, ("origin", other)]),
                Err(Denied::Origin),
                "{other}"
            );
        }
        let site = |site| admit("/secret/", &[host, ("sec-fetch-site", site)]);
        assert_eq!(site("cross-site"), Err(Denied::Origin));
        assert_eq!(site("same-site"), Err(Denied::Origin));
        assert_eq!(site("same-origin"), Ok(String::new()));
        assert_eq!(site("none"), Ok(String::new()));
    }

    #[test]
    fn tokens_differ() {
        let token = || Guard::new(1).unwrap().token;
        let (a, b) = (token(), token());
        assert_ne!(a, b);
        assert_eq!(a.len(), 2 * TOKEN_BYTES);
    }
}
