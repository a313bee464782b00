//! Checks of a request before anything is done for it.

use std::net::IpAddr;

use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, ORIGIN, TRANSFER_ENCODING};
use hyper::{Method, Request, StatusCode};

use super::token::Token;

/// A refused request: its status, and the reason for the person who sent it.
pub(super) type Refusal = (StatusCode, &'static str);

/// The one value of a header. A header that is there twice is an error: two readers could take different ones.
fn single(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    match (first.map(|value| value.to_str()), second) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value)),
        _ => Err((StatusCode::BAD_REQUEST, "a header is malformed or repeated\n")),
    }
}

/// Refuses requests that a page of another site made the browser send.
///
/// An attacker's page can reach this server under a name of the attacker that resolves to this machine. Such a request has
/// that name in `Host`, so only addresses, `localhost` and the configured name pass. A request across sites has another
/// `Origin`, or says so in `Sec-Fetch-Site`.
pub(super) fn check_source<B>(request: &Request<B>, own_name: Option<&str>) -> Result<(), Refusal> {
    let headers = request.headers();
    let host = single(headers, HOST)?.ok_or((StatusCode::BAD_REQUEST, "no Host header\n"))?;
    if !is_known_host(host, own_name) {
        return Err((
            StatusCode::FORBIDDEN,
            "this name is not known here: use the address of the machine\n",
        ));
    }
    let is_own = |origin: &str| {
        let of_origin = origin.strip_prefix("http://");
        of_origin.is_some_and(|of_origin| of_origin.eq_ignore_ascii_case(host))
    };
    if single(headers, ORIGIN)?.is_some_and(|origin| !is_own(origin)) {
        return Err((StatusCode::FORBIDDEN, "requests of other sites are refused\n"));
    }
    let site = single(headers, HeaderName::from_static("sec-fetch-site"))?;
    // Somebody may follow a link to the page, which has no content without its token.
    let is_link = request.method() == Method::GET && request.uri().path() == "/";
    match site {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if is_link => Ok(()),
        Some(_) => Err((StatusCode::FORBIDDEN, "requests of other sites are refused\n")),
    }
}

fn is_known_host(host: &str, own_name: Option<&str>) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name);
    bare.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || own_name.is_some_and(|own| name.eq_ignore_ascii_case(own))
}

/// Refuses requests without the token.
pub(super) fn check_token<B>(request: &Request<B>, token: &Token) -> Result<(), Refusal> {
    let given = single(request.headers(), AUTHORIZATION)?;
    let is_right = given
        .and_then(|value| value.strip_prefix("Bearer "))
        .is_some_and(|value| token.is(value.as_bytes()));
    if is_right {
        Ok(())
    } else {
        Err((
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong: the node prints the address with the token on standard error\n",
        ))
    }
}

/// Refuses requests with a body: no request needs one, so none is read.
pub(super) fn check_no_body<B>(request: &Request<B>) -> Result<(), Refusal> {
    let length = single(request.headers(), CONTENT_LENGTH)?;
    if request.headers().contains_key(TRANSFER_ENCODING) || length.is_some_and(|length| length != "0") {
        return Err((StatusCode::PAYLOAD_TOO_LARGE, "no request has a body here\n"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_own_names_are_known_hosts() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:8080",
            "localhost:1",
            "[::1]:8080",
            "10.0.0.7",
            "LOCALHOST",
            "robot:80",
        ] {
            assert!(is_known_host(host, Some("robot")), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:80:x",
        ] {
            assert!(!is_known_host(host, Some("robot")), "{host}");
        }
    }

    fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    #[test]
    fn requests_of_other_sites_are_refused() {
        let check =
            |path, headers: &[(&str, &str)]| check_source(&request("GET", path, headers), None).is_ok();
        let host = ("Host", "127.0.0.1:7000");
        assert!(check("/events", &[host]));
        assert!(check(
            "/events",
            &[
                host,
                ("Origin", "http://127.0.0.1:7000"),
                ("Sec-Fetch-Site", "same-origin")
            ]
        ));
        assert!(check("/", &[host, ("Sec-Fetch-Site", "cross-site")]));
        for wrong in [
            &[host, ("Origin", "http://127.0.0.1:7001")][..],
            &[host, ("Origin", "https://127.0.0.1:7000")],
            &[host, ("Origin", "null")],
            &[host, ("Sec-Fetch-Site", "cross-site")],
            &[host, ("Sec-Fetch-Site", "same-site")],
            &[("Host", "evil.example")],
            &[host, ("Host", "evil.example")],
            &[],
        ] {
            assert!(!check("/events", wrong), "{wrong:?}");
        }
    }

    #[test]
    fn bodies_and_wrong_tokens_are_refused() {
        let token = Token::chosen("0123456789abcdef").unwrap();
        let has_token =
            |value| check_token(&request("GET", "/", &[("Authorization", value)]), &token).is_ok();
        assert!(has_token("Bearer 0123456789abcdef"));
        assert!(
            !has_token("0123456789abcdef") && !has_token("Bearer ") && !has_token("Basic 0123456789abcdef")
        );
        let has_body = |name, value| check_no_body(&request("POST", "/", &[(name, value)])).is_err();
        assert!(has_body("Content-Length", "1") && has_body("Transfer-Encoding", "chunked"));
        assert!(!has_body("Content-Length", "0"));
    }
}
