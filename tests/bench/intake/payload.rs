//! Purpose: a signed `issues.assigned` with the fields and the size of a real one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

pub(crate) const SECRET: &str = "a secret of the benchmark";

/// As GitHub writes it: each account and the repository carry their list of URLs.
pub(crate) fn issues_assigned() -> Vec<u8> {
    let ann = account(21_031_067, "ann-of-the-web");
    let bot = account(21_031_068, "planwright");
    let issue = "https://api.github.com/repos/acme/web/issues/12";
    let mut body = json!({
        "action": "assigned",
        "issue": {
            "url": issue, "repository_url": "https://api.github.com/repos/acme/web",
            "labels_url": format!("{issue}/labels{{/name}}"), "comments_url": format!("{issue}/comments"),
            "events_url": format!("{issue}/events"), "timeline_url": format!("{issue}/timeline"),
            "html_url": "https://github.com/acme/web/issues/12", "id": 444_500_041, "node_id": "MDU6SXNzdWU0NDQ1MDAwNDE=",
            "number": 12, "title": "The search forgets what was typed", "user": ann, "state": "open", "locked": false,
            "labels": [label("bug"), label("good first issue")],
            "assignee": bot, "assignees": [bot, ann, account(21_031_069, "cleo")], "milestone": Value::Null, "comments": 3,
            "created_at": "2026-11-15T15:20:18Z", "updated_at": "2026-11-15T15:20:21Z", "closed_at": Value::Null,
            "author_association": "MEMBER", "active_lock_reason": Value::Null, "state_reason": Value::Null,
            "body": "When I type into the search field and come back, it is empty.\r\n\r\n- [ ] keep the text\r\n- [ ] \
                     test it\r\n\r\nSeen in Firefox and Chromium; the network tab shows one request too many.",
            "reactions": {"url": format!("{issue}/reactions"), "total_count": 0, "+1": 0, "-1": 0, "laugh": 0,
                "hooray": 0, "confused": 0, "heart": 0, "rocket": 0, "eyes": 0},
        },
        "assignee": bot,
        "repository": repository(&ann),
        "sender": ann,
        "installation": {"id": 2_311_213, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMjMxMTIxMw=="},
    });
    body["organization"] = json!({
        "login": "acme", "id": 38_302_899, "url": "https://api.github.com/orgs/acme",
        "repos_url": "https://api.github.com/orgs/acme/repos", "description": "Everything for the road runner",
    });
    body.to_string().into_bytes()
}

fn account(id: u64, login: &str) -> Value {
    let api = format!("https://api.github.com/users/{login}");
    json!({
        "login": login, "id": id, "node_id": "MDQ6VXNlcjIxMDMxMDY3", "gravatar_id": "", "type": "User",
        "site_admin": false, "avatar_url": format!("https://avatars1.githubusercontent.com/u/{id}?v=4"),
        "url": api, "html_url": format!("https://github.com/{login}"), "followers_url": format!("{api}/followers"),
        "following_url": format!("{api}/following{{/other_user}}"), "gists_url": format!("{api}/gists{{/gist_id}}"),
        "starred_url": format!("{api}/starred{{/owner}}{{/repo}}"), "subscriptions_url": format!("{api}/subscriptions"),
        "organizations_url": format!("{api}/orgs"), "repos_url": format!("{api}/repos"),
        "events_url": format!("{api}/events{{/privacy}}"), "received_events_url": format!("{api}/received_events"),
    })
}

fn label(name: &str) -> Value {
    json!({"id": 1_362_934_389, "node_id": "MDU6TGFiZWwxMzYyOTM0Mzg5", "name": name, "color": "d73a4a", "default": true,
        "url": format!("https://api.github.com/repos/acme/web/labels/{name}")})
}

fn repository(owner: &Value) -> Value {
    const LINKS: [&str; 36] = [
        "forks",
        "keys{/key_id}",
        "collaborators{/collaborator}",
        "teams",
        "hooks",
        "issues/events{/number}",
        "events",
        "assignees{/user}",
        "branches{/branch}",
        "tags",
        "git/blobs{/sha}",
        "git/tags{/sha}",
        "git/refs{/sha}",
        "git/trees{/sha}",
        "statuses/{sha}",
        "languages",
        "stargazers",
        "contributors",
        "subscribers",
        "subscription",
        "commits{/sha}",
        "git/commits{/sha}",
        "comments{/number}",
        "issues/comments{/number}",
        "contents/{+path}",
        "compare/{base}...{head}",
        "merges",
        "{archive_format}{/ref}",
        "downloads",
        "issues{/number}",
        "pulls{/number}",
        "milestones{/number}",
        "notifications{?since,all,participating}",
        "labels{/name}",
        "releases{/id}",
        "deployments",
    ];
    let mut repository = json!({
        "id": 186_853_002, "node_id": "MDEwOlJlcG9zaXRvcnkxODY4NTMwMDI=", "name": "web", "full_name": "acme/web",
        "private": false, "owner": owner, "html_url": "https://github.com/acme/web", "description": "The web shop",
        "fork": false, "created_at": "2019-05-15T15:19:25Z", "pushed_at": "2026-11-15T15:20:13Z", "size": 4_211,
        "stargazers_count": 17, "language": "Ruby", "has_issues": true, "forks_count": 2, "open_issues_count": 12,
        "default_branch": "main", "visibility": "public", "topics": ["shop", "web"], "archived": false,
    });
    for link in LINKS {
        let name: String = link.chars().map(|c| if c.is_ascii_lowercase() { c } else { '_' }).collect();
        repository[format!("{name}_url")] = format!("https://api.github.com/repos/acme/web/{link}").into();
    }
    repository
}

/// The same signed body again and again, each time under a new delivery id.
pub(crate) struct Request {
    body: Vec<u8>,
    signature: String,
    pub(crate) ids: Arc<Ids>,
}

impl Request {
    pub(crate) fn new(body: &[u8]) -> Self {
        let mac =
            Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).map(|mac| mac.chain_update(body).finalize());
        let signature = mac.map(|mac| hex::encode(mac.into_bytes())).unwrap_or_default();
        Self { body: body.to_vec(), signature, ids: Arc::default() }
    }

    pub(crate) fn body_length(&self) -> usize {
        self.body.len()
    }

    /// The whole request, and where in it the 36 characters of the delivery id stand.
    pub(crate) fn bytes(&self, path: &str) -> (Vec<u8>, usize) {
        let before = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nX-GitHub-Delivery: ");
        let after = format!(
            "\r\nX-GitHub-Event: issues\r\nX-Hub-Signature-256: sha256={}\r\nContent-Type: application/json\r\n\
             User-Agent: GitHub-Hookshot/044aadd\r\nContent-Length: {}\r\n\r\n",
            self.signature,
            self.body.len()
        );
        let whole = [before.as_bytes(), &[b'0'; 36], after.as_bytes(), &self.body].concat();
        (whole, before.len())
    }
}

/// Ids of deliveries as GitHub makes them: UUIDs of version 1, that is of the time, like the one in its documentation,
/// `72d3162e-cc78-11e3-81ab-4c9367dc0958`. An index over them is used otherwise than one over random numbers.
#[derive(Default)]
pub(crate) struct Ids {
    last: AtomicU64,
}

/// From the beginning of the Gregorian calendar to 1970, in steps of 100 ns.
const GREGORIAN: u64 = 0x01B2_1DD2_1381_4000;

impl Ids {
    #[expect(clippy::disallowed_methods, reason = "this is the outermost edge of a program of its own")]
    pub(crate) fn next(&self) -> String {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = GREGORIAN + (since_1970.as_nanos() / 100) as u64;
        let before = self.last.fetch_max(now, Ordering::Relaxed);
        // Several within one step of the clock take the next ones.
        let time = if before < now { now } else { self.last.fetch_add(1, Ordering::Relaxed) + 1 };
        let (low, mid, high) = (time as u32, (time >> 32) as u16, (time >> 48) as u16 & 0x0FFF);
        format!("{low:08x}-{mid:04x}-1{high:03x}-81ab-4c9367dc0958")
    }
}
