//! Which requests are let in, what is served, and what a hostile model or request can do.

use crate::client::{Served, file, folder};
use serde_json::json;

const EVIL: &str = "</script><script>hacked=1</script><img src=x onerror=hacked=1>";

fn post(served: &Served, path: &str, more: &str) -> u16 {
    let more = format!("content-type: application/json\r\n{more}");
    served.request("POST", path, &more, "{}").status
}

#[test]
fn nothing_is_served_without_the_token() {
    let served = Served::examples(&["peterson.pml"]);
    let token = &served.token;
    let almost = format!("{}0", &token[..token.len() - 1]).replace(token.as_str(), "x");
    for path in ["/", "/app.js", "/api/models", "/index.html", &format!("/{almost}/api/models")] {
        let response = served.request("GET", path, "", "");
        assert_eq!(response.status, 403, "{path}");
        assert!(!response.body.contains("Peterson") && !response.body.contains(token.as_str()));
        assert_eq!(post(&served, path, ""), 403, "{path}");
    }
    assert_eq!(post(&served, &format!("/{token}/api/models"), ""), 200);
}

#[test]
fn other_pages_and_names_are_refused() {
    let served = Served::examples(&["peterson.pml"]);
    let path = format!("/{}/api/models", served.token);
    let refused = [
        "origin: http://evil.example\r\n",
        "origin: null\r\n",
        "origin: https://127.0.0.1\r\n",
        "sec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\n",
        "host: evil.example\r\n",
    ];
    for more in refused {
        assert_eq!(post(&served, &path, more), 403, "{more}");
    }
    // A name that an attacker makes point here (DNS rebinding).
    let (token, port) = (&served.token, served.port);
    for host in
        ["evil.example".to_string(), format!("evil.example:{port}"), format!("127.0.0.2:{port}")]
    {
        let request =
            format!("GET /{token}/ HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        assert_eq!(served.raw(request.as_bytes()).status, 403, "{host}");
    }
    let own = format!("origin: http://127.0.0.1:{port}\r\nsec-fetch-site: same-origin\r\n");
    assert_eq!(post(&served, &path, &own), 200);
    // What a form of another page could send.
    let plain = served.request("POST", &path, "content-type: text/plain\r\n", "{}");
    assert_eq!(plain.status, 405);
    assert_eq!(served.request("GET", &path, "", "").status, 405);
}

#[test]
fn no_path_leads_to_a_file() {
    let served = Served::examples(&["peterson.pml"]);
    let token = &served.token;
    let tricks = [
        "../Cargo.toml",
        "../../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%2fetc%2fpasswd",
        "/etc/passwd",
        "./app.js",
        "app.js%00",
        "models/peterson.pml",
        "peterson.pml",
        "api",
        "api/",
        "api/../app.js",
        "api/%6dodels",
        "app.js/..",
        "\\..\\app.js",
    ];
    for trick in tricks {
        let response = served.request("GET", &format!("/{token}/{trick}"), "", "");
        assert!([400, 404, 405].contains(&response.status), "{trick}: {}", response.status);
        assert!(!response.body.contains("root:") && !response.body.contains("[package]"));
    }
    for model in [json!(-1), json!("../../Cargo.toml"), json!(1), json!(u64::MAX), json!(null)] {
        let status = served.post("open", &json!({ "model": model })).status;
        assert!([400, 404].contains(&status), "{model}: {status}");
    }
}

#[test]
fn an_included_file_from_elsewhere_is_not_shown() {
    let folder = folder("included");
    std::fs::write(folder.join("secret.txt"), "/* secret */ byte hidden_elsewhere;\n").unwrap();
    let inner = folder.join("inner");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join("near.pml"), "byte near;\n").unwrap();
    let text =
        "#include \"../secret.txt\"\n#include \"near.pml\"\nactive proctype p() { near = 1 }\n";
    std::fs::write(inner.join("model.pml"), text).unwrap();
    let served = Served::new(vec![file(inner.join("model.pml"))]);
    let answer = served.post("open", &json!({ "model": 0 }));
    assert!(answer.body.contains("byte near"), "{}", answer.body);
    assert!(!answer.body.contains("hidden_elsewhere"), "{}", answer.body);
}

#[test]
fn sizes_are_limited() {
    let served = Served::examples(&["peterson.pml"]);
    let large = "0".repeat(9 << 20);
    let answer = served.post("look", &json!({ "model": 0, "path": large }));
    assert_eq!(answer.status, 413);
    let path = "0".repeat(1_000_001);
    assert_eq!(served.post("look", &json!({ "model": 0, "path": path })).status, 400);
    let many: Vec<String> = (0..100).map(|n| format!("turn == {n}")).collect();
    let answer = served.post("look", &json!({ "model": 0, "path": "", "watches": many }));
    assert_eq!(answer.status, 400);
    let header = format!("x-large: {}\r\n", "x".repeat(1 << 20));
    let answer = served.request("GET", &format!("/{}/", served.token), &header, "");
    assert!(answer.status == 431 || answer.status == 0, "{}", answer.status);
    let answer = served.post("bookmarks", &json!({ "model": 0, "bookmarks": "x".repeat(2 << 20) }));
    assert_eq!(answer.status, 400);
    // Deeply nested input is refused by a parser, not by the stack.
    let deep = format!("{}0{}", "(".repeat(100_000), ")".repeat(100_000));
    let answer = served.ask("look", json!({ "model": 0, "watches": [deep] }));
    assert!(answer["watches"][0]["problem"].is_string());
    let deep = format!("{}1{}", "!(".repeat(900), ")".repeat(900));
    served.ask("look", json!({ "model": 0, "watches": [deep] }));
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let path = format!("/{}/api/look", served.token);
    let answer = served.request("POST", &path, "content-type: application/json\r\n", &nested);
    assert_eq!(answer.status, 400);
    assert_eq!(served.get("").status, 200, "it still works");
}

#[test]
fn nonsense_is_answered_with_a_sentence() {
    let served = Served::examples(&["peterson.pml", "boolean/bluetooth-2-1.bp"]);
    let refused = |question: &str, body| served.refused(question, body).0;
    assert_eq!(refused("look", json!({})), 400);
    assert_eq!(refused("look", json!({ "model": 0, "path": "A" })), 400);
    assert_eq!(refused("look", json!({ "model": 7 })), 404);
    assert_eq!(refused("dance", json!({})), 404);
    assert_eq!(refused("run", json!({ "model": 0, "path": "", "mode": "fly" })), 400);
    assert_eq!(refused("run", json!({ "model": 0, "path": "", "mode": "nearest" })), 400);
    assert_eq!(
        refused("run", json!({ "model": 1, "path": "", "mode": "random", "until": "x" })),
        400
    );
    let check = |more: serde_json::Value| {
        let mut body = json!({ "model": 0, "property": "safety" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        served.post("check", &body).status
    };
    assert_eq!(check(json!({ "seconds": -1 })), 400);
    assert_eq!(check(json!({ "seconds": 1e300 })), 400);
    assert_eq!(check(json!({ "memory": 0 })), 400);
    // A path that cannot be followed is followed as far as it goes.
    let look = served
        .ask("look", json!({ "model": 0, "path": "0zz", "here": 99, "from": 9_999_999_999_u64 }));
    assert_eq!((&look["length"], &look["here"], &look["rows"]), (&json!(1), &json!(1), &json!([])));
    served.ask(
        "graph",
        json!({ "model": 0, "path": "0", "levels": 1_000_000, "merge": ["no such"] }),
    );
}

#[test]
fn hostile_texts_stay_texts() {
    let folder = folder("hostile");
    let name = folder.join("<img src=x onerror=hacked=1>.pml");
    let text =
        format!("/* {EVIL} */\nbyte x;\nactive proctype p() {{ x = 1; printf(\"{EVIL}\\n\") }}\n");
    std::fs::write(&name, text).unwrap();
    let served = Served::new(vec![file(name)]);
    for answer in [
        served.post("open", &json!({ "model": 0 })),
        served.post("look", &json!({ "model": 0, "path": "00", "watches": [EVIL] })),
        served.post("%3C/script%3E%3Cscript%3Ehacked=1", &json!({})),
        served.get("%3C/script%3E%3Cscript%3Ehacked=1"),
    ] {
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
        assert!(answer.head.contains("x-content-type-options: nosniff"));
        assert!(
            answer.head.contains("content-security-policy: default-src 'none'; script-src 'self'")
        );
    }
    // The page itself holds none of the model's texts.
    let page = served.get("").body;
    assert!(!page.contains("hacked") && !page.contains("onerror"));
}

/// Connections that say nothing, that are refused and never read, and that ask for much and never read: whoever has the
/// token is answered at once all the same.
#[test]
fn strangers_cannot_keep_others_out() {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::{Duration, Instant};
    let served = Served::examples(&["peterson.pml"]);
    let (port, token) = (served.port, &served.token);
    let request = format!("GET /wrong/ HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n");
    let mut open = Vec::new();
    for text in ["", "GET", &request, &request.repeat(50)] {
        for _ in 0..80 {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            open.push(stream);
        }
    }
    let begin = Instant::now();
    assert_eq!(post(&served, &format!("/{token}/api/models"), ""), 200);
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    // After a refusal the connection is closed.
    let mut refused = TcpStream::connect(("127.0.0.1", port)).unwrap();
    refused.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    refused.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    refused.read_to_string(&mut answer).expect("the other end closes");
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("connection: close"), "{answer}");
    drop(open);
}
