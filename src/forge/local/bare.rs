//! Purpose: the branches of a bare git repository, seen without running git.

use std::path::Path;

/// The branch that a clone checks out, if it is there.
pub(super) fn head(git: &Path) -> Option<String> {
    let text = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let name = text.trim().strip_prefix("ref: refs/heads/")?;
    has_branch(git, name).then(|| name.to_owned())
}

/// A branch is a file of its own, or a line among the packed ones.
pub(super) fn has_branch(git: &Path, name: &str) -> bool {
    if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return false;
    }
    let packed = || {
        let lines = std::fs::read_to_string(git.join("packed-refs")).unwrap_or_default();
        let full = format!("refs/heads/{name}");
        lines.lines().any(|line| line.split_once(' ').is_some_and(|(_, at)| at == full))
    };
    git.join("refs/heads").join(name).is_file() || packed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_files_or_packed() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path();
        assert_eq!(head(git), None);
        std::fs::write(git.join("HEAD"), "ref: refs/heads/trunk\n").unwrap();
        assert_eq!(head(git), None, "nothing was pushed yet");
        std::fs::create_dir_all(git.join("refs/heads/bot")).unwrap();
        std::fs::write(git.join("refs/heads/trunk"), "0123\n").unwrap();
        std::fs::write(git.join("refs/heads/bot/1-fix"), "0123\n").unwrap();
        std::fs::write(git.join("packed-refs"), "# pack-refs with: peeled\n0123 refs/heads/old/one\n")
            .unwrap();
        assert_eq!(head(git).as_deref(), Some("trunk"));
        for (name, there) in [
            ("trunk", true),
            ("bot/1-fix", true),
            ("old/one", true),
            ("bot", false),
            ("one", false),
            ("../../HEAD", false),
            ("", false),
        ] {
            assert_eq!(has_branch(git, name), there, "{name}");
        }
    }
}
