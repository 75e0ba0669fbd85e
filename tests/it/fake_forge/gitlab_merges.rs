//! Purpose: the fake GitLab's merge requests, whose titles say whether they are drafts.

use planwright::domain::{AccountId, FileDiff, NewChangeRequest, Permission, Project, Readiness, ThreadRef};
use planwright::forge::ForgeError;
use planwright::forge::local::{CommentState, ThreadState};
use serde_json::{Value, json};

use super::gitlab::{Answer, item, user};
use super::{Asked, Reply, Stage};

pub(super) fn create(stage: &Stage, asked: &Asked, p: &Project) -> Answer {
    let (bot, now) = (stage.world.bot().id, stage.world.now());
    stage.world.look(|world| world.must(p, bot, Permission::Write))?;
    if stage.world.look(|world| world.project(p).is_ok_and(|project| project.archived)) {
        return Ok(Reply::message(403, "403 Forbidden"));
    }
    let [head, base, title, body] =
        ["source_branch", "target_branch", "title", "description"].map(|key| asked.form_value(key));
    let (title, readiness) = read_title(&title);
    let new = NewChangeRequest { head: &head, base: &base, title, body: &body, readiness };
    match stage.world.with(|world| world.open_change_request(p, bot, &new, now))? {
        Ok(opened) => Ok(Reply::new(201, item(stage, &opened.thread))),
        Err(ForgeError::Invalid(why)) => Ok(Reply::new(409, json!({ "message": [why] }))),
        Err(error) => Err(error),
    }
}

fn read_title(title: &str) -> (&str, Readiness) {
    let marked =
        ["draft:", "[draft]", "(draft)"].iter().find(|mark| title.to_lowercase().starts_with(**mark));
    match marked {
        Some(mark) => (title[mark.len()..].trim_start(), Readiness::Draft),
        None => (title, Readiness::Ready),
    }
}

/// What only a merge request has among the fields that can be edited.
pub(super) fn edit(stage: &Stage, asked: &Asked, t: &ThreadRef) -> Result<(), ForgeError> {
    let (bot, now, form) = (stage.world.bot().id, stage.world.now(), asked.form());
    let given = |key: &str| form.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let before = stage.world.look(|world| world.change_request(t))?;
    if given("title").is_some() || given("description").is_some() {
        stage.world.look(|world| world.must(&t.project, bot, Permission::Write))?;
        let text = given("description").unwrap_or(&before.body);
        stage.world.with(|world| {
            let (title, readiness) = given("title").map_or((before.title.as_str(), None), |title| {
                let (title, readiness) = read_title(title);
                (title, Some(readiness))
            });
            world.edit_change_request(t, bot, (title, text), now)?;
            readiness.map_or(Ok(()), |readiness| world.mark(t, readiness, now))
        })??;
    }
    let reviewers: Vec<AccountId> = form
        .iter()
        .filter(|(key, _)| key == "reviewer_ids[]")
        .filter_map(|(_, id)| id.parse().ok())
        .map(AccountId)
        .collect();
    if reviewers.is_empty() { Ok(()) } else { set_reviewers(stage, t, &reviewers) }
}

/// The list is replaced; whoever cannot see the project is left out without a word.
fn set_reviewers(stage: &Stage, t: &ThreadRef, ids: &[AccountId]) -> Result<(), ForgeError> {
    let (bot, now) = (stage.world.bot().id, stage.world.now());
    stage.world.with(|world| {
        let before = world.thread(t)?.change.as_ref().map(|change| change.reviewers.clone());
        for gone in before.unwrap_or_default().iter().filter(|id| !ids.contains(id)) {
            world.release_reviewer(t, *gone, now)?;
        }
        for id in ids {
            if world.permission(&t.project, *id) > Permission::None {
                world.request_review(t, *id, bot, now)?;
            }
        }
        Ok(())
    })?
}

/// What reviewers wrote is among the notes; on a line, with where that is.
pub(super) fn review_notes(state: &ThreadState) -> Vec<(CommentState, Option<Value>)> {
    let reviews = state.change.iter().flat_map(|change| &change.reviews);
    let said = reviews.filter(|review| !review.comment.body.is_empty());
    said.map(|review| {
        let place = review.on.as_ref().map(|on| {
            json!({ "position_type": "text", "old_path": on.path, "new_path": on.path, "old_line": null,
                    "new_line": on.line })
        });
        (review.comment.clone(), place)
    })
    .collect()
}

pub(super) fn diffs(stage: &Stage, t: &ThreadRef) -> Vec<Value> {
    let change = stage.world.look(|world| world.thread(t).map(|state| state.change.clone()));
    let files = change.ok().flatten().map(|change| change.diff).unwrap_or_default();
    let told = |file: &FileDiff| {
        json!({ "old_path": file.path, "new_path": file.path, "diff": file.patch, "new_file": false,
                "renamed_file": false, "deleted_file": false })
    };
    files.iter().map(told).collect()
}

/// Adds to an item what merge requests have beside what issues have.
pub(super) fn add_change(stage: &Stage, item: &mut Value, t: &ThreadRef, state: &ThreadState) {
    let Some(change) = &state.change else { return };
    let id = stage.world.look(|world| world.project(&t.project).map_or(0, |project| project.id));
    if change.draft {
        item["title"] = json!(format!("Draft: {}", state.title));
    }
    if change.merged {
        item["state"] = json!("merged");
    }
    item["draft"] = json!(change.draft);
    item["source_branch"] = json!(change.branch.head);
    item["target_branch"] = json!(change.branch.base);
    // A fork has a number of its own.
    item["source_project_id"] = json!(if change.branch.same_repository { id } else { id + 10_000 });
    item["target_project_id"] = json!(id);
    item["reviewers"] = change.reviewers.iter().map(|id| user(stage, *id)).collect();
}
