//! Purpose: the fake GitHub's pull requests.

use planwright::domain::{FileDiff, NewChangeRequest, Permission, Project, Readiness, ThreadRef};
use planwright::forge::ForgeError;
use planwright::forge::local::{ReviewState, ThreadState};
use serde_json::{Value, json};

use super::github::{Answer, issue, repository, user};
use super::{Asked, Reply, Stage, time};

pub(super) fn route(stage: &Stage, asked: &Asked, p: &Project, below: &[&str]) -> Answer {
    if asked.method != "GET" {
        stage.world.look(|world| world.must(p, stage.world.bot().id, Permission::Write))?;
        if stage.world.look(|world| world.project(p).is_ok_and(|project| project.archived)) {
            return Ok(Reply::message(403, "Repository was archived so is read-only."));
        }
    }
    let numbered = |number: &str| ThreadRef::issue(p.clone(), number.parse().unwrap_or_default());
    match (asked.method.as_str(), below) {
        ("GET", []) => Ok(Reply::list(asked, pulls(stage, asked, p))),
        ("POST", []) => create(stage, asked, p),
        (_, [number, rest @ ..]) => {
            let t = numbered(number);
            stage.world.look(|world| world.change_request(&t))?;
            pull_route(stage, asked, &t, rest)
        }
        _ => Ok(Reply::message(404, "Not Found")),
    }
}

fn create(stage: &Stage, asked: &Asked, p: &Project) -> Answer {
    let (bot, now, body) = (stage.world.bot().id, stage.world.now(), asked.json());
    let text = |key: &str| body[key].as_str().unwrap_or_default();
    let new = NewChangeRequest {
        head: text("head"),
        base: text("base"),
        title: text("title"),
        body: text("body"),
        readiness: if body["draft"] == true { Readiness::Draft } else { Readiness::Ready },
    };
    match stage.world.with(|world| world.open_change_request(p, bot, &new, now))? {
        Ok(opened) => Ok(Reply::new(201, pull(stage, &opened.thread))),
        Err(ForgeError::Invalid(why)) => Ok(refused(&why)),
        Err(error) => Err(error),
    }
}

/// What is wrong stands in a list of its own.
fn refused(why: &str) -> Reply {
    let errors = json!([{ "resource": "PullRequest", "code": "custom", "message": why }]);
    Reply::new(422, json!({ "message": "Validation Failed", "errors": errors }))
}

fn pull_route(stage: &Stage, asked: &Asked, t: &ThreadRef, rest: &[&str]) -> Answer {
    let (bot, now, body) = (stage.world.bot().id, stage.world.now(), asked.json());
    match (asked.method.as_str(), rest) {
        ("GET", []) => Ok(Reply::ok(pull(stage, t))),
        ("PATCH", []) => {
            let before = stage.world.look(|world| world.change_request(t))?;
            let title = body["title"].as_str().unwrap_or(&before.title);
            let text = body["body"].as_str().unwrap_or(&before.body);
            stage.world.with(|world| world.edit_change_request(t, bot, (title, text), now))??;
            Ok(Reply::ok(pull(stage, t)))
        }
        ("GET", ["reviews"]) => Ok(Reply::list(asked, reviews(stage, t, Said::AsAWhole))),
        ("GET", ["comments"]) => Ok(Reply::list(asked, reviews(stage, t, Said::OnLines))),
        ("GET", ["files"]) => {
            let change = stage.world.look(|world| world.thread(t).map(|state| state.change.clone()))?;
            let file = |file: &FileDiff| {
                let patch = Some(&file.patch).filter(|patch| !patch.is_empty());
                json!({ "sha": "0123", "filename": file.path, "status": "modified", "patch": patch })
            };
            Ok(Reply::list(asked, change.iter().flat_map(|change| &change.diff).map(file).collect()))
        }
        ("POST", ["requested_reviewers"]) => request_review(stage, asked, t),
        _ => Ok(Reply::message(404, "Not Found")),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Said {
    AsAWhole,
    OnLines,
}

/// What a review says as a whole and what it says on lines are lists of their own; neither is among the comments.
fn reviews(stage: &Stage, t: &ThreadRef, which: Said) -> Vec<Value> {
    let change = stage.world.look(|world| world.thread(t).map(|state| state.change.clone()));
    let all = change.ok().flatten().map(|change| change.reviews).unwrap_or_default();
    let told = |review: &ReviewState| {
        let ReviewState { comment: c, on, asks_for_changes } = review;
        let mut told = json!({
            "id": c.id.0, "body": c.body, "user": user(stage, c.author), "author_association": "NONE",
        });
        match on {
            None => {
                told["state"] = json!(if *asks_for_changes { "CHANGES_REQUESTED" } else { "COMMENTED" });
                told["submitted_at"] = json!(time(c.created_at));
            }
            Some(on) => {
                (told["path"], told["line"]) = (json!(on.path), json!(on.line));
                (told["created_at"], told["updated_at"]) =
                    (json!(time(c.created_at)), json!(time(c.updated_at)));
            }
        }
        told
    };
    let wanted = |review: &&ReviewState| review.on.is_some() == (which == Said::OnLines);
    all.iter().filter(wanted).map(told).collect()
}

fn request_review(stage: &Stage, asked: &Asked, t: &ThreadRef) -> Answer {
    let (bot, now, body) = (stage.world.bot().id, stage.world.now(), asked.json());
    for login in body["reviewers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let who = stage.world.look(|world| {
            world
                .accounts()
                .find(|account| account.login.eq_ignore_ascii_case(login))
                .map(|account| account.id)
        });
        let Some(who) = who else { return Ok(refused(&format!("Could not resolve to a node: {login}"))) };
        stage.world.look(|world| world.may_review(t, who))?;
        stage.world.with(|world| world.request_review(t, who, bot, now))??;
    }
    Ok(Reply::new(201, pull(stage, t)))
}

fn pulls(stage: &Stage, asked: &Asked, p: &Project) -> Vec<Value> {
    let shown = |state: &ThreadState| match asked.value("state").unwrap_or("open") {
        "all" => true,
        "closed" => !state.open,
        _ => state.open,
    };
    let mut found: Vec<ThreadRef> = stage.world.look(|world| {
        let here = world.threads().filter(|(t, s)| t.project == *p && s.change.is_some() && shown(s));
        here.map(|(t, _)| t.clone()).collect()
    });
    if asked.value("direction") != Some("asc") {
        found.reverse();
    }
    let mut pulls: Vec<Value> = found.iter().map(|t| pull(stage, t)).collect();
    // A head without its owner is no filter for GitHub, and no error either.
    if let Some(label) = asked.value("head").filter(|head| head.contains(':')) {
        pulls.retain(|pull| pull["head"]["label"] == label);
    }
    pulls
}

/// A pull request as such; under `/issues` it is shown as an issue.
pub(super) fn pull(stage: &Stage, t: &ThreadRef) -> Value {
    let mut pull = issue(stage, t);
    let change = stage.world.look(|world| world.thread(t).map(|state| state.change.clone()));
    let (Ok(Some(change)), Some(fields)) = (change, pull.as_object_mut()) else { return Value::Null };
    fields.remove("repository");
    fields.remove("pull_request");
    let repo = repository(stage, &t.project);
    let owner = repo["owner"]["login"].as_str().unwrap_or_default().to_owned();
    let branch = change.branch;
    // A fork can have the same owner, so that the filter finds it; and its repository may be gone.
    let head_repo = if branch.same_repository { repo.clone() } else { Value::Null };
    pull["head"] =
        json!({ "label": format!("{owner}:{}", branch.head), "ref": branch.head, "repo": head_repo });
    pull["base"] = json!({ "label": format!("{owner}:{}", branch.base), "ref": branch.base, "repo": repo });
    pull["draft"] = json!(change.draft);
    pull["merged"] = json!(change.merged);
    pull["requested_reviewers"] = change.reviewers.iter().map(|id| user(stage, *id)).collect();
    pull["html_url"] = json!(format!("https://github.example/{}/pull/{}", t.project.path(), t.number));
    pull
}
