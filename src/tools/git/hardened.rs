//! Purpose: the environment and the settings that every git of ours runs with, and nothing of anybody else's.

use std::ffi::OsString;
use std::path::Path;

/// The oldest git that knows all of the variables below, and merges without a checkout (`merge-tree --write-tree`).
pub(super) const OLDEST: (u32, u32) = (2, 38);

/// What a server may be reached through. No other variable is handed down.
pub const NETWORK_VARIABLES: [&str; 10] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
];

/// Beats the settings of the repository, which are ours as well; nothing here is left to one line of defence.
const SETTINGS: &[(&str, &str)] = &[
    // Nothing is executed.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("credential.interactive", "false"),
    ("commit.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    ("diff.ignoreSubmodules", "all"),
    ("transfer.bundleURI", "false"),
    ("safe.bareRepository", "explicit"),
    ("merge.default", "text"),
    ("merge.renormalize", "false"),
    ("rerere.enabled", "false"),
    // Nothing is taken from elsewhere.
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("init.templateDir", ""),
    // A branch is a file.
    ("init.defaultRefFormat", "files"),
    // Nothing is converted.
    ("core.autocrlf", "false"),
    ("core.eol", "lf"),
    ("core.symlinks", "true"),
    ("core.fileMode", "true"),
    ("core.ignoreCase", "false"),
    ("core.precomposeUnicode", "false"),
    ("core.quotePath", "false"),
    // A file that was renamed is merged; where a whole folder was, git does not guess where a new file belongs.
    ("merge.renames", "true"),
    ("merge.directoryRenames", "false"),
    // Names that are git's own elsewhere are refused here too.
    ("core.protectNTFS", "true"),
    ("core.protectHFS", "true"),
    // A commit that was reported is on the disk.
    ("core.fsync", "committed,loose-object,reference"),
    ("core.logAllRefUpdates", "false"),
    // Housekeeping is done while we wait, so that no process outlives the call.
    ("gc.autoDetach", "false"),
    ("maintenance.autoDetach", "false"),
    // A commit that a plan was made for stays in the mirror, also when nobody else names it any more.
    ("gc.pruneExpire", "never"),
    ("push.default", "nothing"),
    ("push.followTags", "false"),
    // A token must not follow to another server, and a server that falls silent is left.
    ("http.followRedirects", "false"),
    ("http.sslVerify", "true"),
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "180"),
];

/// What comes from a server is checked. Forgeries are refused; old slips that harm nobody are not, since whole
/// repositories would be lost over them.
pub(super) const CHECK_OBJECTS: &[(&str, &str)] = &[
    ("fetch.fsckObjects", "true"),
    ("fetch.fsck.hasDot", "error"),
    ("fetch.fsck.hasDotdot", "error"),
    ("fetch.fsck.hasDotgit", "error"),
    ("fetch.fsck.fullPathname", "error"),
    ("fetch.fsck.zeroPaddedFilemode", "ignore"),
    ("fetch.fsck.badFilemode", "ignore"),
    ("fetch.fsck.badTimezone", "ignore"),
    ("fetch.fsck.missingEmail", "ignore"),
    ("fetch.fsck.missingNameBeforeEmail", "ignore"),
    ("fetch.fsck.missingSpaceBeforeDate", "ignore"),
    ("fetch.fsck.missingSpaceBeforeEmail", "ignore"),
    ("fetch.fsck.zeroPaddedDate", "ignore"),
    ("fetch.fsck.nulInCommit", "ignore"),
];

/// Stands in `info/attributes`, which beats every `.gitattributes` of the repository: files are taken as they are.
pub(super) const ATTRIBUTES: &str =
    "* -text -ident -filter -working-tree-encoding !eol !diff !merge !export-subst !export-ignore\n";

/// `protocol` is the only one git may speak.
pub(super) fn environment(home: &Path, search_path: &OsString, protocol: &str) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = [
        ("LC_ALL", "C"),
        ("TZ", "UTC"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", ""),
        ("SSH_ASKPASS", ""),
        ("GIT_ALLOW_PROTOCOL", protocol),
        ("GIT_PROTOCOL_FROM_USER", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_LITERAL_PATHSPECS", "1"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into();
    all.push(("PATH".into(), search_path.clone()));
    all.push(("HOME".into(), home.into()));
    // Only for the calls without a repository: they must not find one above our folder.
    all.push(("GIT_CEILING_DIRECTORIES".into(), home.parent().unwrap_or(home).into()));
    all
}

/// Settings travel in the environment, where other users of the machine cannot read them, as they can arguments.
pub(super) fn settings(more: &[(String, String)]) -> Vec<(OsString, OsString)> {
    let own = SETTINGS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let all: Vec<(String, String)> = own.chain(more.iter().cloned()).collect();
    let mut variables = vec![("GIT_CONFIG_COUNT".into(), all.len().to_string().into())];
    for (at, (key, value)) in all.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    variables
}

/// Of `git version 2.47.3 (…)`.
pub(super) fn version(answer: &str) -> Option<(u32, u32)> {
    let mut numbers = answer.trim().strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("git version 2.47.3\n"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("git version 3.0"), Some((3, 0)));
        assert_eq!(version("hub version 2"), None);
        assert_eq!(version(""), None);
    }
}
