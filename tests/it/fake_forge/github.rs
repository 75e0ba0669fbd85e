//! Purpose: a fake GitHub under `/api/v3`, for a token or for an App with one installation.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use planwright::domain::{
    AccountId, AccountKind, CommentId, Event, ForgeKind, Permission, Project, ThreadRef,
};
use planwright::forge::local::{LogEntry, Logged, Reacted, ThreadState, Visibility};
use planwright::forge::{ForgeError, Local, Reaction, World};
use serde_json::{Value, json};

use super::{Asked, Delivery, Reply, Stage, account, github_hooks, github_pulls, time};

pub(crate) const TOKEN: &str = "ghp_Fake0Token1";
pub(crate) const APP_ID: u64 = 4711;
const INSTALLATION: u64 = 99;
/// GitHub's own limit for a comment, in characters.
const COMMENT_CAP: usize = 65_536;

const INSTALLATION_TOKEN: &str = "ghs_fake";

pub(crate) struct FakeGithub {
    pub(crate) stage: Stage,
}

impl FakeGithub {
    pub(crate) async fn start(world: Local) -> Self {
        Self { stage: Stage::start(world, route).await }
    }

    pub(crate) fn api_url(&self) -> url::Url {
        format!("{}/api/v3", self.stage.url()).parse().unwrap()
    }

    /// The delivery that GitHub would send about an event, signed.
    pub(crate) fn webhook(&self, event: &Event, secret: &str) -> Delivery {
        github_hooks::delivery(&self.stage, event, secret)
    }
}

pub(super) type Answer = Result<Reply, ForgeError>;

fn route(stage: &Stage, asked: &Asked) -> Reply {
    let segments: Vec<&str> = asked.segments.iter().map(String::as_str).collect();
    let Some(rest) = segments.strip_prefix(&["api", "v3"]) else { return Reply::message(404, "Not Found") };
    let caller = Caller::of(asked);
    let answer = match (caller, rest) {
        (Caller::Nobody, _) => Ok(Reply::message(401, "Bad credentials")),
        (Caller::App, ["app", ..] | ["repos", _, _, "installation"]) => app_route(stage, asked, rest),
        (Caller::App, _) | (_, ["app", ..]) => Ok(Reply::message(401, "not with this kind of credentials")),
        (Caller::User | Caller::Installation, ["repos", owner, name, below @ ..]) => {
            repo_route(stage, asked, &format!("{owner}/{name}"), below)
        }
        (Caller::User | Caller::Installation, _) => top_route(stage, asked, caller, rest),
    };
    answer.unwrap_or_else(Reply::from)
}

#[derive(Clone, Copy, PartialEq)]
enum Caller {
    Nobody,
    User,
    App,
    Installation,
}

impl Caller {
    fn of(asked: &Asked) -> Self {
        let header = asked.headers.get("authorization").and_then(|v| v.to_str().ok()).unwrap_or_default();
        let token = header.strip_prefix("Bearer ").unwrap_or_default();
        if token == TOKEN {
            Self::User
        } else if token == INSTALLATION_TOKEN {
            Self::Installation
        } else if is_jwt_of_the_app(token) {
            Self::App
        } else {
            Self::Nobody
        }
    }
}

/// The claims are checked as GitHub checks them; the signature is octocrab's business.
fn is_jwt_of_the_app(token: &str) -> bool {
    let [_, claims, _] = token.split('.').collect::<Vec<_>>()[..] else { return false };
    let claims = URL_SAFE_NO_PAD.decode(claims).ok().and_then(|c| serde_json::from_slice::<Value>(&c).ok());
    let Some(claims) = claims else { return false };
    let number = |key: &str| claims[key].as_i64().unwrap_or_default();
    let issuer = claims["iss"].as_u64().or_else(|| claims["iss"].as_str()?.parse().ok());
    issuer == Some(APP_ID) && number("exp") - number("iat") <= 600 + 60
}

fn app_route(stage: &Stage, asked: &Asked, rest: &[&str]) -> Answer {
    let bot = stage.world.bot();
    Ok(match (asked.method.as_str(), rest) {
        ("GET", ["app"]) => Reply::ok(json!({ "id": APP_ID, "slug": bot.login.trim_end_matches("[bot]") })),
        ("GET", ["app", "installations"]) => Reply::list(asked, vec![installation(Permission::Write)]),
        ("GET", ["repos", owner, name, "installation"]) => {
            let project = project(&format!("{owner}/{name}"))?;
            stage.world.look(|world| world.must(&project, bot.id, Permission::Read))?;
            Reply::ok(installation(stage.world.look(|world| world.permission(&project, bot.id))))
        }
        ("POST", ["app", "installations", "99", "access_tokens"]) => {
            let token = token_for(&asked.json());
            Reply::new(201, json!({ "token": token, "expires_at": stage.token_end(), "permissions": {} }))
        }
        _ => Reply::message(404, "Not Found"),
    })
}

/// An App's permissions are set once for all of an installation; here they follow what the bot may do in the project.
fn installation(level: Permission) -> Value {
    let writes = if level >= Permission::Write { "write" } else { "read" };
    json!({
        "id": INSTALLATION,
        "suspended_at": null,
        "permissions": { "issues": "write", "metadata": "read", "contents": writes, "pull_requests": writes },
    })
}

/// What a token is good for is a part of its name, so that a test sees it.
fn token_for(wanted: &Value) -> String {
    let Some(repositories) = wanted["repositories"].as_array() else { return INSTALLATION_TOKEN.into() };
    let names: Vec<&str> = repositories.iter().filter_map(Value::as_str).collect();
    let rights = wanted["permissions"].as_object().into_iter().flatten();
    let rights: Vec<String> =
        rights.map(|(name, right)| format!("{name}_{}", right.as_str().unwrap_or_default())).collect();
    format!("{INSTALLATION_TOKEN}_{}_{}", names.join("_"), rights.join("_"))
}

fn top_route(stage: &Stage, asked: &Asked, caller: Caller, rest: &[&str]) -> Answer {
    let bot = stage.world.bot().id;
    Ok(match (asked.method.as_str(), rest) {
        ("GET", ["user"]) if caller == Caller::User => Reply::ok(user(stage, bot)),
        ("GET", ["users", login]) => page_of(stage, login),
        ("GET", ["issues"]) if caller == Caller::User => {
            let mine = asked.query.get("filter").is_none_or(|filter| filter == "assigned");
            let shown = |t: &ThreadRef, state: &ThreadState, world: &World| {
                let seen =
                    if mine { state.assignees.contains(&bot) } else { is_member(world, &t.project, bot) };
                seen && wanted(asked, state)
            };
            Reply::list(asked, issues(stage, shown))
        }
        ("GET", ["installation", "repositories"]) if caller == Caller::Installation => {
            let all = stage.world.look(|world| {
                let ours = world.projects().filter(|(p, _)| is_member(world, p, bot));
                ours.map(|(p, _)| p.clone()).collect::<Vec<_>>()
            });
            let total = all.len();
            let mut reply = Reply::list(asked, all.iter().map(|p| repository(stage, p)).collect());
            reply.body = json!({ "total_count": total, "repositories": reply.body });
            reply
        }
        _ => Reply::message(404, "Not Found"),
    })
}

fn repo_route(stage: &Stage, asked: &Asked, path: &str, below: &[&str]) -> Answer {
    let project = project(path)?;
    let bot = stage.world.bot().id;
    stage.world.look(|world| world.must(&project, bot, Permission::Read))?;
    Ok(match (asked.method.as_str(), below) {
        ("GET", []) => Reply::ok(repository(stage, &project)),
        ("GET", ["contents", path @ ..]) => contents(stage, &project, &path.join("/"))?,
        ("GET", ["branches", name]) => {
            let state = stage.world.look(|world| world.project(&project).cloned())?;
            if state.trunk().is_none() || !state.has_branch(name) {
                return Ok(Reply::message(404, "Branch not found"));
            }
            Reply::ok(json!({ "name": name, "protected": false }))
        }
        (_, ["pulls", below @ ..]) => github_pulls::route(stage, asked, &project, below)?,
        ("GET", ["collaborators", login, "permission"]) => collaborator(stage, &project, login),
        ("GET", ["issues"]) => {
            let here =
                |t: &ThreadRef, state: &ThreadState, _: &World| t.project == project && wanted(asked, state);
            Reply::list(asked, issues(stage, here))
        }
        (_, ["issues", "comments", id, rest @ ..]) => {
            let id = CommentId(id.parse().unwrap_or_default());
            let holds = |state: &ThreadState| state.comments.iter().any(|comment| comment.id == id);
            let found = stage.world.look(|world| {
                world.threads().find(|(t, s)| t.project == project && holds(s)).map(|(t, _)| t.clone())
            });
            match found {
                Some(t) => comment_route(stage, asked, &t, id, rest)?,
                None => Reply::message(404, "Not Found"),
            }
        }
        (_, ["issues", number, rest @ ..]) => {
            let t = ThreadRef::issue(project, number.parse().unwrap_or_default());
            stage.world.look(|world| world.thread(&t).map(|_| ()))?;
            issue_route(stage, asked, &t, rest)?
        }
        _ => Reply::message(404, "Not Found"),
    })
}

fn issue_route(stage: &Stage, asked: &Asked, t: &ThreadRef, rest: &[&str]) -> Answer {
    let (bot, now, body) = (stage.world.bot().id, stage.world.now(), asked.json());
    let names = |key: &str| -> Vec<String> {
        body[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect()
    };
    let triage = || stage.world.look(|world| world.must(&t.project, bot, Permission::Triage));
    Ok(match (asked.method.as_str(), rest) {
        ("GET", []) => Reply::ok(issue(stage, t)),
        ("GET", ["comments"]) => Reply::list(asked, comments(stage, t)),
        ("POST", ["comments"]) => match too_long(&body) {
            Some(refusal) => refusal,
            None => {
                let text = body["body"].as_str().unwrap_or_default();
                let id = stage.comment_by_bot(t, text)?;
                let ours = comments(stage, t).into_iter().find(|c| c["id"] == id.0);
                Reply::new(201, ours.unwrap_or_default())
            }
        },
        ("GET", ["events"]) => Reply::list(asked, events(stage, t)),
        (_, ["reactions", rest @ ..]) => reaction_route(stage, asked, t, None, rest)?,
        ("POST", ["assignees"]) => {
            triage()?;
            for who in members_called(stage, t, &names("assignees")) {
                stage.world.with(|world| world.assign(t, who, bot, now))??;
            }
            Reply::new(201, issue(stage, t))
        }
        ("DELETE", ["assignees"]) => {
            triage()?;
            for who in members_called(stage, t, &names("assignees")) {
                stage.world.with(|world| world.unassign(t, who, bot, now))??;
            }
            Reply::ok(issue(stage, t))
        }
        ("POST", ["labels"]) => {
            triage()?;
            for label in names("labels") {
                stage.world.with(|world| world.label(t, &label, bot, now))??;
            }
            Reply::ok(labels(stage, t))
        }
        ("DELETE", ["labels", label]) => {
            triage()?;
            let there =
                stage.world.look(|world| world.thread(t).is_ok_and(|s| s.labels.iter().any(|l| l == label)));
            if !there {
                return Ok(Reply::message(404, "Label does not exist"));
            }
            stage.world.with(|world| world.unlabel(t, label, bot, now))??;
            Reply::ok(labels(stage, t))
        }
        _ => Reply::message(404, "Not Found"),
    })
}

fn comment_route(stage: &Stage, asked: &Asked, t: &ThreadRef, id: CommentId, rest: &[&str]) -> Answer {
    let (bot, now, body) = (stage.world.bot().id, stage.world.now(), asked.json());
    let ours = |world: &World| {
        world.thread(t).is_ok_and(|s| s.comments.iter().any(|c| c.id == id && c.author == bot))
    };
    let may = || {
        let needs = if stage.world.look(ours) { Permission::Read } else { Permission::Write };
        stage.world.look(|world| world.must(&t.project, bot, needs))
    };
    Ok(match (asked.method.as_str(), rest) {
        ("GET", []) => {
            let mut found = comments(stage, t).into_iter().find(|c| c["id"] == id.0).unwrap_or_default();
            found["issue_url"] =
                json!(format!("https://forge.invalid/repos/{}/issues/{}", t.project.path(), t.number));
            Reply::ok(found)
        }
        ("PATCH", []) => match too_long(&body) {
            Some(refusal) => refusal,
            None => {
                may()?;
                let text = body["body"].as_str().unwrap_or_default();
                stage.world.with(|world| world.edit_comment((t, id), bot, text, now))??;
                Reply::ok(comments(stage, t).into_iter().find(|c| c["id"] == id.0).unwrap_or_default())
            }
        },
        ("DELETE", []) => {
            may()?;
            stage.world.with(|world| world.delete_comment(t, id, bot, now))??;
            Reply::new(204, Value::Null)
        }
        (_, ["reactions", rest @ ..]) => reaction_route(stage, asked, t, Some(id), rest)?,
        _ => Reply::message(404, "Not Found"),
    })
}

fn reaction_route(
    stage: &Stage,
    asked: &Asked,
    t: &ThreadRef,
    on: Option<CommentId>,
    rest: &[&str],
) -> Answer {
    let bot = stage.world.bot().id;
    let given =
        |r: &Reacted| json!({ "id": r.id, "content": r.reaction.as_str(), "user": user(stage, r.by) });
    let all = || stage.world.look(|world| world.thread(t).map(|s| s.reactions.clone()));
    Ok(match (asked.method.as_str(), rest) {
        ("GET", []) => {
            let wanted = |r: &&Reacted| {
                r.on == on && asked.query.get("content").is_none_or(|content| content == r.reaction.as_str())
            };
            Reply::list(asked, all()?.iter().filter(wanted).map(given).collect())
        }
        ("POST", []) => {
            let Some(reaction) = reaction(asked.json()["content"].as_str().unwrap_or_default()) else {
                return Ok(Reply::message(422, "content is not a reaction"));
            };
            let known = all()?.len();
            let id = stage.world.with(|world| world.react(t, on, reaction, bot))??;
            let all = all()?;
            let status = if all.len() > known { 201 } else { 200 };
            Reply::new(status, all.iter().find(|r| r.id == id).map(given).unwrap_or_default())
        }
        ("DELETE", [id]) => {
            stage.world.with(|world| world.unreact(t, id.parse().unwrap_or_default()))??;
            Reply::new(204, Value::Null)
        }
        _ => Reply::message(404, "Not Found"),
    })
}

pub(crate) fn reaction(name: &str) -> Option<Reaction> {
    [Reaction::Eyes, Reaction::Rocket, Reaction::Confused].into_iter().find(|r| r.as_str() == name)
}

fn project(path: &str) -> Result<Project, ForgeError> {
    Project::new(ForgeKind::Github, path).map_err(|error| ForgeError::NotFound(error.to_string()))
}

fn is_member(world: &World, p: &Project, who: AccountId) -> bool {
    world.project(p).is_ok_and(|state| state.members.contains_key(&who))
}

fn wanted(asked: &Asked, state: &ThreadState) -> bool {
    let labelled =
        asked.query.get("labels").is_none_or(|l| l.split(',').all(|l| state.labels.iter().any(|g| g == l)));
    let open = match asked.query.get("state").map_or("open", String::as_str) {
        "all" => true,
        "closed" => !state.open,
        _ => state.open,
    };
    labelled && open
}

/// GitHub silently leaves out whom it cannot assign.
fn members_called(stage: &Stage, t: &ThreadRef, logins: &[String]) -> Vec<AccountId> {
    stage.world.look(|world| {
        let named =
            world.accounts().filter(|a| logins.iter().any(|login| login.eq_ignore_ascii_case(&a.login)));
        named.map(|a| a.id).filter(|id| is_member(world, &t.project, *id)).collect()
    })
}

fn too_long(body: &Value) -> Option<Reply> {
    let length = body["body"].as_str().map_or(0, |text| text.chars().count());
    let errors =
        json!([{ "resource": "IssueComment", "message": "body is too long (maximum is 65536 characters)" }]);
    (length > COMMENT_CAP)
        .then(|| Reply::new(422, json!({ "message": "Validation Failed", "errors": errors })))
}

fn collaborator(stage: &Stage, p: &Project, login: &str) -> Reply {
    let found = stage.world.look(|world| {
        let account = world.account_called(login)?;
        (account.kind == AccountKind::Person).then(|| (account.id, world.permission(p, account.id)))
    });
    let Some((id, level)) = found else { return Reply::message(404, "Not Found") };
    // The old field knows no triage and no maintain.
    let permission = match level {
        Permission::Triage => "read",
        Permission::Maintain => "write",
        Permission::None | Permission::Read | Permission::Write | Permission::Admin => level.as_str(),
    };
    Reply::ok(json!({ "permission": permission, "role_name": level.as_str(), "user": user(stage, id) }))
}

fn contents(stage: &Stage, p: &Project, path: &str) -> Answer {
    let text = stage.world.look(|world| world.project(p).map(|state| state.files.get(path).cloned()))?;
    let Some(text) = text else { return Ok(Reply::message(404, "Not Found")) };
    let mut encoded = STANDARD.encode(&text);
    for at in (60..encoded.len()).step_by(60).rev() {
        encoded.insert(at, '\n');
    }
    Ok(Reply::ok(
        json!({ "type": "file", "encoding": "base64", "size": text.len(), "path": path, "content": encoded }),
    ))
}

/// Organizations have a page among the users: whoever owns a project and is no account.
fn page_of(stage: &Stage, login: &str) -> Reply {
    let account = stage.world.look(|world| world.account_called(login).map(|account| account.id));
    let owner = || {
        stage.world.look(|world| {
            let mut owners = world.projects().filter_map(|(p, _)| p.path().split_once('/'));
            owners.find(|(owner, _)| owner.eq_ignore_ascii_case(login)).map(|(owner, _)| organization(owner))
        })
    };
    let shown = account.map(|id| user(stage, id)).or_else(owner);
    shown.map_or(Reply::message(404, "Not Found"), Reply::ok)
}

fn organization(login: &str) -> Value {
    json!({ "id": 1, "login": login, "type": "Organization" })
}

pub(crate) fn user(stage: &Stage, id: AccountId) -> Value {
    let account = account(stage, id);
    let kind = match account.kind {
        AccountKind::Person | AccountKind::Ghost => "User",
        AccountKind::Bot => "Bot",
    };
    json!({ "id": account.id.0, "login": account.login, "type": kind, "site_admin": false })
}

pub(crate) fn repository(stage: &Stage, p: &Project) -> Value {
    let bot = stage.world.bot().id;
    let (state, level) = stage.world.look(|world| (world.project(p).cloned(), world.permission(p, bot)));
    let Ok(state) = state else { return Value::Null };
    let (owner, name) = p.path().split_once('/').unwrap();
    json!({
        "id": state.id, "name": name, "full_name": p.path(), "archived": state.archived,
        "private": state.visibility == Visibility::Private,
        "owner": organization(owner),
        // Named even before anything was pushed.
        "default_branch": state.trunk().unwrap_or_else(|| "main".into()),
        "html_url": format!("https://github.example/{}", p.path()),
        "permissions": {
            "admin": level >= Permission::Admin, "maintain": level >= Permission::Maintain,
            "push": level >= Permission::Write, "triage": level >= Permission::Triage, "pull": level >= Permission::Read,
        },
    })
}

fn issues(stage: &Stage, shown: impl Fn(&ThreadRef, &ThreadState, &World) -> bool) -> Vec<Value> {
    let found: Vec<ThreadRef> = stage
        .world
        .look(|world| world.threads().filter(|(t, s)| shown(t, s, world)).map(|(t, _)| t.clone()).collect());
    found.iter().map(|t| issue(stage, t)).collect()
}

pub(crate) fn label(name: &str) -> Value {
    json!({ "id": 208_045_946, "name": name, "color": "ededed", "default": false, "description": null })
}

fn labels(stage: &Stage, t: &ThreadRef) -> Value {
    stage
        .world
        .look(|world| world.thread(t).map(|s| s.labels.iter().map(|l| label(l)).collect()))
        .unwrap_or_default()
}

pub(crate) fn issue(stage: &Stage, t: &ThreadRef) -> Value {
    let Ok(state) = stage.world.look(|world| world.thread(t).cloned()) else { return Value::Null };
    let assignees: Vec<Value> = state.assignees.iter().map(|id| user(stage, *id)).collect();
    let mut issue = json!({
        "id": state.id, "number": t.number, "title": state.title, "body": state.body,
        "user": user(stage, state.author),
        "state": if state.open { "open" } else { "closed" },
        "assignee": assignees.first(), "assignees": assignees,
        "labels": labels(stage, t),
        "locked": false, "milestone": null, "comments": state.comments.len(), "author_association": "NONE",
        "created_at": time(state.created_at), "updated_at": time(state.updated_at),
        "html_url": format!("https://github.example/{}/issues/{}", t.project.path(), t.number),
        "repository": repository(stage, &t.project),
    });
    if state.change.is_some() {
        issue["pull_request"] = json!({ "url": format!("https://api.github.example/pulls/{}", t.number) });
    }
    issue
}

fn comments(stage: &Stage, t: &ThreadRef) -> Vec<Value> {
    let all = stage.world.look(|world| world.thread(t).map(|s| s.comments.clone())).unwrap_or_default();
    all.iter()
        .map(|c| {
            json!({
                "id": c.id.0, "body": c.body, "user": user(stage, c.author), "author_association": "NONE",
                "created_at": time(c.created_at), "updated_at": time(c.updated_at),
            })
        })
        .collect()
}

fn events(stage: &Stage, t: &ThreadRef) -> Vec<Value> {
    let log = stage.world.look(|world| world.thread(t).map(|s| s.log.clone())).unwrap_or_default();
    let told = |entry: &LogEntry| {
        let by = user(stage, entry.by);
        let mut event = json!({ "id": entry.id, "created_at": time(entry.at), "actor": by });
        let (name, key, value) = match &entry.what {
            Logged::Assigned(who) => ("assigned", "assignee", user(stage, *who)),
            Logged::Unassigned(who) => ("unassigned", "assignee", user(stage, *who)),
            Logged::Labelled(name) => ("labeled", "label", label(name)),
            Logged::Unlabelled(name) => ("unlabeled", "label", label(name)),
        };
        // As GitHub has it: the actor of an assignment is the assignee, and the assigner stands apart.
        if key == "assignee" {
            event["assigner"] = by;
            event["actor"] = value.clone();
        }
        event["event"] = json!(name);
        event[key] = value;
        event
    };
    log.iter().map(told).collect()
}
