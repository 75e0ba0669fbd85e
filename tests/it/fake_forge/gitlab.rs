//! Purpose: a fake GitLab under a sub-path, for the token of a bot user.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use planwright::domain::{
    Account, AccountId, AccountKind, CommentId, Event, ForgeKind, Permission, Project, ThreadKind, ThreadRef,
};
use planwright::forge::local::{CommentState, LogEntry, Logged, Reacted, ThreadState, Visibility};
use planwright::forge::{ForgeError, Local, World};
use serde_json::{Value, json};

use super::github::reaction;
use super::{Asked, Delivery, Reply, Stage, account, gitlab_hooks, gitlab_merges, time};

pub(crate) const TOKEN: &str = "glpat-Fake0Token1";
const NOTE_CAP: usize = 1_000_000;

pub(crate) struct FakeGitlab {
    pub(crate) stage: Stage,
}

impl FakeGitlab {
    pub(crate) async fn start(world: Local) -> Self {
        Self { stage: Stage::start(world, route).await }
    }

    pub(crate) fn url(&self) -> url::Url {
        format!("{}/gitlab", self.stage.url()).parse().unwrap()
    }

    /// The delivery that GitLab would send about an event, with the secret token.
    pub(crate) fn webhook(&self, event: &Event, secret: &str) -> Delivery {
        gitlab_hooks::delivery(&self.stage, event, secret)
    }
}

pub(super) type Answer = Result<Reply, ForgeError>;

fn route(stage: &Stage, asked: &Asked) -> Reply {
    let segments: Vec<&str> = asked.segments.iter().map(String::as_str).collect();
    let Some(rest) = segments.strip_prefix(&["gitlab", "api", "v4"]) else {
        return not_found("404 Not Found");
    };
    if asked.headers.get("private-token").is_none_or(|token| token != TOKEN) {
        return Reply::message(401, "401 Unauthorized");
    }
    let answer = match rest {
        ["projects", path, below @ ..] => project_route(stage, asked, path, below),
        _ => Ok(top_route(stage, asked, rest)),
    };
    answer.unwrap_or_else(Reply::from)
}

fn not_found(text: &str) -> Reply {
    Reply::message(404, text)
}

fn top_route(stage: &Stage, asked: &Asked, rest: &[&str]) -> Reply {
    let bot = stage.world.bot().id;
    let listed = |kind: ThreadKind| {
        let mine = asked.query.get("assignee_id").and_then(|id| id.parse().ok()).map(AccountId);
        let shown = |t: &ThreadRef, state: &ThreadState, world: &World| {
            let seen = world.permission(&t.project, bot) > Permission::None;
            seen && t.kind == kind
                && mine.is_none_or(|id| state.assignees.contains(&id))
                && wanted(asked, state)
        };
        Reply::list(asked, items(stage, shown))
    };
    match (asked.method.as_str(), rest) {
        ("GET", ["user"]) => Reply::ok(user(stage, bot)),
        ("GET", ["users"]) => Reply::list(asked, users(stage, asked)),
        ("GET", ["issues"]) => listed(ThreadKind::Issue),
        ("GET", ["merge_requests"]) => listed(ThreadKind::MergeRequest),
        ("GET", ["projects"]) => {
            let member_only = asked.query.get("membership").is_some_and(|v| v == "true");
            let all: Vec<Project> = stage.world.look(|world| {
                let shown = world.projects().filter(|(p, state)| {
                    if member_only {
                        state.members.contains_key(&bot)
                    } else {
                        world.permission(p, bot) > Permission::None
                    }
                });
                shown.map(|(p, _)| p.clone()).collect()
            });
            Reply::list(asked, all.iter().map(|p| project(stage, p)).collect())
        }
        _ => not_found("404 Not Found"),
    }
}

fn project_route(stage: &Stage, asked: &Asked, path: &str, below: &[&str]) -> Answer {
    let p = find_project(stage, path)?;
    let bot = stage.world.bot().id;
    if stage.world.look(|world| world.permission(&p, bot)) == Permission::None {
        return Ok(not_found("404 Project Not Found"));
    }
    Ok(match (asked.method.as_str(), below) {
        ("GET", []) => Reply::ok(project(stage, &p)),
        ("GET", ["members", "all", id]) => member(stage, &p, AccountId(id.parse().unwrap_or_default())),
        ("GET", ["repository", "files", path]) => file(stage, &p, path)?,
        ("GET", [list @ ("issues" | "merge_requests")]) => {
            let kind = thread_kind(list);
            let here = |t: &ThreadRef, state: &ThreadState, _: &World| {
                t.project == p && t.kind == kind && wanted(asked, state)
            };
            Reply::list(asked, items(stage, here))
        }
        ("POST", ["merge_requests"]) => gitlab_merges::create(stage, asked, &p)?,
        (_, [list @ ("issues" | "merge_requests"), number, rest @ ..]) => {
            let t =
                ThreadRef { project: p, kind: thread_kind(list), number: number.parse().unwrap_or_default() };
            stage.world.look(|world| world.thread(&t).map(|_| ()))?;
            thread_route(stage, asked, &t, rest)?
        }
        _ => not_found("404 Not Found"),
    })
}

fn thread_kind(list: &str) -> ThreadKind {
    if list == "issues" { ThreadKind::Issue } else { ThreadKind::MergeRequest }
}

/// Projects are named by their path or by their number.
fn find_project(stage: &Stage, path: &str) -> Result<Project, ForgeError> {
    let by_number = path.parse::<i64>().ok().and_then(|id| {
        stage.world.look(|world| world.projects().find(|(_, state)| state.id == id).map(|(p, _)| p.clone()))
    });
    let missing = |error: planwright::domain::ParseThreadError| ForgeError::NotFound(error.to_string());
    by_number.map_or_else(|| Project::new(ForgeKind::Gitlab, path).map_err(missing), Ok)
}

fn thread_route(stage: &Stage, asked: &Asked, t: &ThreadRef, rest: &[&str]) -> Answer {
    Ok(match (asked.method.as_str(), rest) {
        ("GET", []) => Reply::ok(item(stage, t)),
        ("PUT", []) => edit_thread(stage, asked, t)?,
        ("GET", ["notes"]) => Reply::list(asked, notes(stage, asked, t)),
        ("POST", ["notes" | "discussions"]) => match too_long(asked) {
            Some(refusal) => refusal,
            None => {
                let id = stage.comment_by_bot(t, &asked.form_value("body"))?;
                let comments = stage.world.look(|world| world.thread(t).map(|s| s.comments.clone()))?;
                let ours = comments.iter().find(|comment| comment.id == id);
                let note = ours.map(|c| note(stage, c)).unwrap_or_default();
                let discussion =
                    json!({"id": format!("{:040x}", id.0), "individual_note": false, "notes": [note]});
                Reply::new(201, if rest == ["notes"] { note } else { discussion })
            }
        },
        ("GET", ["diffs"]) if t.kind == ThreadKind::MergeRequest => {
            Reply::list(asked, gitlab_merges::diffs(stage, t))
        }
        ("GET", ["resource_label_events"]) => Reply::list(asked, label_events(stage, t)),
        (_, ["award_emoji", rest @ ..]) => award_route(stage, asked, t, None, rest)?,
        (_, ["notes", id, "award_emoji", rest @ ..]) => {
            let id = CommentId(id.parse().unwrap_or_default());
            award_route(stage, asked, t, Some(id), rest)?
        }
        ("GET", ["notes", id]) => {
            let id: i64 = id.parse().unwrap_or_default();
            let found = notes(stage, asked, t).into_iter().find(|note| note["id"] == id);
            found.map_or_else(|| not_found("404 Note Not Found"), Reply::ok)
        }
        (_, ["notes", id]) => note_route(stage, asked, t, CommentId(id.parse().unwrap_or_default()))?,
        _ => not_found("404 Not Found"),
    })
}

fn note_route(stage: &Stage, asked: &Asked, t: &ThreadRef, id: CommentId) -> Answer {
    let (bot, now) = (stage.world.bot().id, stage.world.now());
    let found =
        stage.world.look(|world| world.thread(t).map(|s| s.comments.iter().find(|c| c.id == id).cloned()))?;
    let Some(found) = found else { return Ok(not_found("404 Note Not Found")) };
    let needs = if found.author == bot { Permission::Read } else { Permission::Maintain };
    stage.world.look(|world| world.must(&t.project, bot, needs))?;
    Ok(match asked.method.as_str() {
        "PUT" => match too_long(asked) {
            Some(refusal) => refusal,
            None => {
                let text = asked.form_value("body");
                stage.world.with(|world| world.edit_comment((t, id), bot, &text, now))??;
                Reply::ok(note(stage, &CommentState { body: text, ..found }))
            }
        },
        "DELETE" => {
            stage.world.with(|world| world.delete_comment(t, id, bot, now))??;
            Reply::new(204, Value::Null)
        }
        _ => Reply::message(405, "405 Method Not Allowed"),
    })
}

fn edit_thread(stage: &Stage, asked: &Asked, t: &ThreadRef) -> Answer {
    let (bot, now) = (stage.world.bot().id, stage.world.now());
    stage.world.look(|world| world.must(&t.project, bot, Permission::Triage))?;
    let form = asked.form();
    let values =
        |key: &str| form.iter().filter(|(k, _)| k == key).map(|(_, v)| v.clone()).collect::<Vec<_>>();
    let labels =
        |key: &str| values(key).iter().flat_map(|l| l.split(',')).map(str::to_owned).collect::<Vec<_>>();
    for label in labels("add_labels") {
        stage.world.with(|world| world.label(t, &label, bot, now))??;
    }
    for label in labels("remove_labels") {
        stage.world.with(|world| world.unlabel(t, &label, bot, now))??;
    }
    let wanted = values("assignee_ids[]");
    if !wanted.is_empty() {
        let ids: Vec<AccountId> = wanted.iter().filter_map(|id| id.parse().ok()).map(AccountId).collect();
        set_assignees(stage, t, &ids)?;
    }
    if t.kind == ThreadKind::MergeRequest {
        gitlab_merges::edit(stage, asked, t)?;
    }
    Ok(Reply::ok(item(stage, t)))
}

/// GitLab drops whoever cannot see the project, without a word.
fn set_assignees(stage: &Stage, t: &ThreadRef, ids: &[AccountId]) -> Result<(), ForgeError> {
    let (bot, now) = (stage.world.bot().id, stage.world.now());
    stage.world.with(|world| {
        let before = world.thread(t)?.assignees.clone();
        for gone in before.iter().filter(|id| !ids.contains(id)) {
            world.unassign(t, *gone, bot, now)?;
        }
        for new in ids.iter().filter(|id| !before.contains(id)) {
            if world.permission(&t.project, *new) > Permission::None {
                world.assign(t, *new, bot, now)?;
            }
        }
        Ok(())
    })?
}

fn award_route(stage: &Stage, asked: &Asked, t: &ThreadRef, on: Option<CommentId>, rest: &[&str]) -> Answer {
    let bot = stage.world.bot().id;
    let told = |r: &Reacted| json!({ "id": r.id, "name": r.reaction.as_str(), "user": user(stage, r.by) });
    let all = || stage.world.look(|world| world.thread(t).map(|s| s.reactions.clone()));
    Ok(match (asked.method.as_str(), rest) {
        ("GET", []) => Reply::list(asked, all()?.iter().filter(|r| r.on == on).map(told).collect()),
        ("POST", []) => {
            let Some(reaction) = reaction(&asked.form_value("name")) else {
                return Ok(Reply::message(400, "name is not an emoji"));
            };
            if all()?.iter().any(|r| r.on == on && r.by == bot && r.reaction == reaction) {
                return Ok(not_found("404 Award Emoji Name has already been taken Not Found"));
            }
            let id = stage.world.with(|world| world.react(t, on, reaction, bot))??;
            Reply::new(201, all()?.iter().find(|r| r.id == id).map(told).unwrap_or_default())
        }
        ("DELETE", [id]) => {
            stage.world.with(|world| world.unreact(t, id.parse().unwrap_or_default()))??;
            Reply::new(204, Value::Null)
        }
        _ => not_found("404 Not Found"),
    })
}

fn too_long(asked: &Asked) -> Option<Reply> {
    let long = asked.form_value("body").chars().count() > NOTE_CAP;
    long.then(|| Reply::message(400, "note is too long (maximum is 1000000 characters)"))
}

fn wanted(asked: &Asked, state: &ThreadState) -> bool {
    let labelled =
        asked.query.get("labels").is_none_or(|l| l.split(',').all(|l| state.labels.iter().any(|g| g == l)));
    let open = match asked.query.get("state").map(String::as_str) {
        Some("opened") => state.open,
        Some("closed") => !state.open,
        _ => true,
    };
    let from = |head: &str| state.change.as_ref().is_some_and(|change| change.branch.head == head);
    labelled && open && asked.value("source_branch").is_none_or(from)
}

fn member(stage: &Stage, p: &Project, id: AccountId) -> Reply {
    let level = stage.world.look(|world| world.project(p).ok().and_then(|s| s.members.get(&id).copied()));
    let level = match level {
        None | Some(Permission::None) => return not_found("404 Not found"),
        Some(Permission::Read) => 10,
        Some(Permission::Triage) => 20,
        Some(Permission::Write) => 30,
        Some(Permission::Maintain) => 40,
        Some(Permission::Admin) => 50,
    };
    let mut member = user(stage, id);
    member["access_level"] = json!(level);
    Reply::ok(member)
}

fn file(stage: &Stage, p: &Project, path: &str) -> Answer {
    let text = stage.world.look(|world| world.project(p).map(|state| state.files.get(path).cloned()))?;
    let Some(text) = text else { return Ok(not_found("404 File Not Found")) };
    Ok(Reply::ok(json!({
        "file_path": path, "size": text.len(), "encoding": "base64", "content": STANDARD.encode(&text), "ref": "HEAD",
    })))
}

/// As lists of accounts show them: without a word about being a bot.
fn users(stage: &Stage, asked: &Asked) -> Vec<Value> {
    let called = |who: &&Account| asked.value("username").is_none_or(|n| n.eq_ignore_ascii_case(&who.login));
    stage.world.look(|world| world.accounts().filter(called).map(basic_user).collect())
}

fn basic_user(account: &Account) -> Value {
    json!({ "id": account.id.0, "username": account.login, "name": account.login, "state": "active" })
}

pub(crate) fn user(stage: &Stage, id: AccountId) -> Value {
    let account = account(stage, id);
    let mut user = basic_user(&account);
    if account.kind == AccountKind::Bot {
        user["bot"] = json!(true);
    }
    user
}

pub(crate) fn hook_user(stage: &Stage, id: AccountId) -> Value {
    let account = account(stage, id);
    json!({
        "id": account.id.0, "username": account.login, "name": account.login,
        "avatar_url": null, "email": "[REDACTED]",
    })
}

fn project(stage: &Stage, p: &Project) -> Value {
    let Ok(state) = stage.world.look(|world| world.project(p).cloned()) else { return Value::Null };
    let visibility = match state.visibility {
        Visibility::Public => "public",
        Visibility::Private => "private",
    };
    let trunk = state.trunk();
    json!({
        "id": state.id, "path_with_namespace": p.path(), "visibility": visibility, "archived": state.archived,
        "default_branch": trunk, "empty_repo": trunk.is_none(),
        "web_url": format!("https://gitlab.example/{}", p.path()),
    })
}

pub(crate) fn hook_project(stage: &Stage, p: &Project) -> Value {
    let mut told = project(stage, p);
    told["visibility_level"] = json!(if told["visibility"] == "public" { 20 } else { 0 });
    told
}

pub(crate) fn label(name: &str) -> Value {
    json!({ "id": 206, "title": name, "color": "#ffffff", "type": "ProjectLabel" })
}

fn items(stage: &Stage, shown: impl Fn(&ThreadRef, &ThreadState, &World) -> bool) -> Vec<Value> {
    let mut found: Vec<ThreadRef> = stage
        .world
        .look(|world| world.threads().filter(|(t, s)| shown(t, s, world)).map(|(t, _)| t.clone()).collect());
    // GitLab's own order is newest first.
    found.reverse();
    found.iter().map(|t| item(stage, t)).collect()
}

pub(super) fn item(stage: &Stage, t: &ThreadRef) -> Value {
    let Ok(state) = stage.world.look(|world| world.thread(t).cloned()) else { return Value::Null };
    let name = t.to_string();
    let mut item = json!({
        "id": state.id, "iid": t.number, "title": state.title, "description": state.body,
        "author": user(stage, state.author),
        "state": if state.open { "opened" } else { "closed" },
        "confidential": state.confidential,
        "assignees": state.assignees.iter().map(|id| user(stage, *id)).collect::<Vec<_>>(),
        "labels": state.labels,
        "references": { "full": name.strip_prefix("gitlab:") },
        "created_at": time(state.created_at), "updated_at": time(state.updated_at),
        "web_url": format!("https://gitlab.example/{}/-/{}", t.project.path(), t.number),
    });
    gitlab_merges::add_change(stage, &mut item, t, &state);
    item
}

fn note(stage: &Stage, c: &CommentState) -> Value {
    json!({
        "id": c.id.0, "body": c.body, "author": user(stage, c.author), "system": false,
        "created_at": time(c.created_at), "updated_at": time(c.updated_at),
    })
}

/// Comments and the sentences that GitLab itself writes among them.
fn notes(stage: &Stage, asked: &Asked, t: &ThreadRef) -> Vec<Value> {
    let Ok(state) = stage.world.look(|world| world.thread(t).cloned()) else { return Vec::new() };
    let system = |entry: &LogEntry| {
        let body = match &entry.what {
            Logged::Assigned(who) => format!("assigned to @{}", account(stage, *who).login),
            Logged::Unassigned(who) => format!("unassigned @{}", account(stage, *who).login),
            Logged::Labelled(_) | Logged::Unlabelled(_) => return None,
        };
        let author = user(stage, entry.by);
        Some(
            json!({ "id": entry.id, "body": body, "author": author, "system": true, "created_at": time(entry.at) }),
        )
    };
    let mut all: Vec<Value> = state.comments.iter().map(|c| note(stage, c)).collect();
    all.extend(gitlab_merges::review_notes(&state).iter().map(|(c, position)| {
        let mut note = note(stage, c);
        (note["type"], note["position"]) = (json!(position.as_ref().map(|_| "DiffNote")), json!(position));
        note
    }));
    all.extend(state.log.iter().filter_map(system));
    all.sort_by_key(|note| note["id"].as_i64());
    // GitLab's own order is newest first.
    if asked.query.get("sort").is_none_or(|sort| sort != "asc") {
        all.reverse();
    }
    all
}

fn label_events(stage: &Stage, t: &ThreadRef) -> Vec<Value> {
    let log = stage.world.look(|world| world.thread(t).map(|s| s.log.clone())).unwrap_or_default();
    let told = |entry: &LogEntry| {
        let (action, name) = match &entry.what {
            Logged::Labelled(name) => ("add", name),
            Logged::Unlabelled(name) => ("remove", name),
            Logged::Assigned(_) | Logged::Unassigned(_) => return None,
        };
        let user = user(stage, entry.by);
        Some(json!({ "id": entry.id, "action": action, "user": user, "label": { "id": 206, "name": name } }))
    };
    log.iter().filter_map(told).collect()
}
