//! Purpose: a signed `issues.assigned` with the fields and the size of a real one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub(crate) const SECRET: &str = "a secret of the benchmark";

/// As GitHub writes it: in its order of the fields, and each account and the repository with their list of URLs. The order
/// is why this is text: how well a body packs depends on it.
pub(crate) fn issues_assigned() -> Vec<u8> {
    let (ann, bot, cleo) = (
        account(21_031_067, "ann-of-the-web"),
        account(21_031_068, "planwright"),
        account(21_031_069, "cleo"),
    );
    let labels = format!("{},{}", label("bug"), label("good first issue"));
    let repo = "https://api.github.com/repos/acme/web";
    let issue = format!("{repo}/issues/12");
    let body = format!(
        r#"{{"action":"assigned","issue":{{"url":"{issue}","repository_url":"{repo}","labels_url":"{issue}/labels{{/name}}",
"comments_url":"{issue}/comments","events_url":"{issue}/events","html_url":"https://github.com/acme/web/issues/12",
"id":444500041,"node_id":"MDU6SXNzdWU0NDQ1MDAwNDE=","number":12,"title":"The search forgets what was typed",
"user":{ann},"labels":[{labels}],"state":"open","locked":false,"assignee":{bot},"assignees":[{bot},{ann},{cleo}],
"milestone":null,"comments":3,"created_at":"2026-11-15T15:20:18Z","updated_at":"2026-11-15T15:20:21Z","closed_at":null,
"author_association":"MEMBER","active_lock_reason":null,"body":"When I type into the search field and come back, it is
 empty.\r\n\r\n- [ ] keep the text\r\n- [ ] test it\r\n\r\nSeen in Firefox and Chromium; the network tab shows one request
 too many.","reactions":{{"url":"{issue}/reactions","total_count":0,"+1":0,"-1":0,"laugh":0,"hooray":0,"confused":0,
"heart":0,"rocket":0,"eyes":0}},"timeline_url":"{issue}/timeline","state_reason":null}},"assignee":{bot},"repository":{repository},
"organization":{{"login":"acme","id":38302899,"url":"https://api.github.com/orgs/acme",
"repos_url":"https://api.github.com/orgs/acme/repos","description":"Everything for the road runner"}},"sender":{ann},
"installation":{{"id":2311213,"node_id":"MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMjMxMTIxMw=="}}}}"#,
        repository = repository(&ann)
    );
    body.replace('\n', "").into_bytes()
}

fn account(id: u64, login: &str) -> String {
    let api = format!("https://api.github.com/users/{login}");
    format!(
        r#"{{"login":"{login}","id":{id},"node_id":"MDQ6VXNlcjIxMDMxMDY3",
"avatar_url":"https://avatars1.githubusercontent.com/u/{id}?v=4","gravatar_id":"","url":"{api}",
"html_url":"https://github.com/{login}","followers_url":"{api}/followers","following_url":"{api}/following{{/other_user}}",
"gists_url":"{api}/gists{{/gist_id}}","starred_url":"{api}/starred{{/owner}}{{/repo}}","subscriptions_url":"{api}/subscriptions",
"organizations_url":"{api}/orgs","repos_url":"{api}/repos","events_url":"{api}/events{{/privacy}}",
"received_events_url":"{api}/received_events","type":"User","site_admin":false}}"#
    )
}

fn label(name: &str) -> String {
    format!(
        r#"{{"id":1362934389,"node_id":"MDU6TGFiZWwxMzYyOTM0Mzg5","url":"https://api.github.com/repos/acme/web/labels/{name}",
"name":"{name}","color":"d73a4a","default":true}}"#
    )
}

fn repository(owner: &str) -> String {
    const LINKS: [(&str, &str); 36] = [
        ("forks", "forks"),
        ("keys", "keys{/key_id}"),
        ("collaborators", "collaborators{/collaborator}"),
        ("teams", "teams"),
        ("hooks", "hooks"),
        ("issue_events", "issues/events{/number}"),
        ("events", "events"),
        ("assignees", "assignees{/user}"),
        ("branches", "branches{/branch}"),
        ("tags", "tags"),
        ("blobs", "git/blobs{/sha}"),
        ("git_tags", "git/tags{/sha}"),
        ("git_refs", "git/refs{/sha}"),
        ("trees", "git/trees{/sha}"),
        ("statuses", "statuses/{sha}"),
        ("languages", "languages"),
        ("stargazers", "stargazers"),
        ("contributors", "contributors"),
        ("subscribers", "subscribers"),
        ("subscription", "subscription"),
        ("commits", "commits{/sha}"),
        ("git_commits", "git/commits{/sha}"),
        ("comments", "comments{/number}"),
        ("issue_comment", "issues/comments{/number}"),
        ("contents", "contents/{+path}"),
        ("compare", "compare/{base}...{head}"),
        ("merges", "merges"),
        ("archive", "{archive_format}{/ref}"),
        ("downloads", "downloads"),
        ("issues", "issues{/number}"),
        ("pulls", "pulls{/number}"),
        ("milestones", "milestones{/number}"),
        ("notifications", "notifications{?since,all,participating}"),
        ("labels", "labels{/name}"),
        ("releases", "releases{/id}"),
        ("deployments", "deployments"),
    ];
    let links: String = LINKS
        .iter()
        .map(|(name, at)| format!(r#""{name}_url":"https://api.github.com/repos/acme/web/{at}","#))
        .collect();
    format!(
        r#"{{"id":186853002,"node_id":"MDEwOlJlcG9zaXRvcnkxODY4NTMwMDI=","name":"web","full_name":"acme/web","private":false,
"owner":{owner},"html_url":"https://github.com/acme/web","description":"The web shop","fork":false,{links}
"created_at":"2019-05-15T15:19:25Z","pushed_at":"2026-11-15T15:20:13Z","size":4211,"stargazers_count":17,"language":"Ruby",
"has_issues":true,"forks_count":2,"archived":false,"open_issues_count":12,"topics":["shop","web"],"visibility":"public",
"default_branch":"main"}}"#
    )
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
