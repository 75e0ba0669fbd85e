//! Purpose: the settings of a run in the terminal: those of the file, narrowed to the one thread that the terminal is a face of.

use crate::config::{
    Approval, AutoApproval, Config, ConfigError, Env, Interactive, Model, Models, Planning, Provider,
    RepoSettings, Triggers,
};
use crate::domain::Project;

/// The settings file need not be there, unless it was named.
pub(in crate::cli) fn or_default(
    config: Result<Config, ConfigError>,
    named: bool,
    env: &Env,
) -> anyhow::Result<Config> {
    let mut config = match config {
        Err(ConfigError::Missing { .. }) if !named => Config::parse("{}", "config.yaml".as_ref(), env)?,
        loaded => loaded?,
    };
    let key = config.models.get(Models::DEFAULT).and_then(|model| model.api_key.as_ref());
    let has_key = matches!(key.map(|key| key.read(env)), Some(Ok(Some(_))));
    if config.models == Models::default() && !has_key {
        let offline = Model { provider: Provider::Offline, ..Model::default() };
        config.models.insert(Models::DEFAULT, offline);
    }
    Ok(config)
}

/// Only the local forge, and for all that may differ between repositories what holds for this one. Planning is on, for
/// somebody has just asked for it; nothing runs before they said so.
pub(in crate::cli) fn for_thread(mut config: Config, project: &Project) -> Config {
    let RepoSettings {
        triggers, planning, approval, crew, tools, deliver, budget, language, notices, ..
    } = config.for_repo(project);
    config.triggers = Triggers { assign: true, ..triggers };
    config.planning = Planning { enabled: true, ..planning };
    if config.planning.interactive != Interactive::Never {
        config.planning.interactive = Interactive::Always;
    }
    config.approval = Approval { auto: AutoApproval::Nothing, ..approval };
    (config.crew, config.tools, config.deliver) = (crew, tools, deliver);
    (config.budget, config.language, config.notices) = (budget, language, notices);
    config.repos = vec![];
    config.forges.github = None;
    config.forges.gitlab = None;
    config.forges.local.enabled = true;
    config
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config(yaml: &str) -> Config {
        Config::parse(yaml, Path::new("config.yaml"), &Env::default()).unwrap()
    }

    #[test]
    fn the_thread_is_planned_with_people_unless_the_settings_say_never() {
        let project: Project = "local:web".parse().unwrap();
        for (yaml, interactive) in [
            ("{}", Interactive::Always),
            ("planning: { interactive: never }", Interactive::Never),
            ("repos: [{ match: 'local:*', planning: { interactive: never } }]", Interactive::Never),
            ("repos: [{ match: 'github:*/*', planning: { interactive: never } }]", Interactive::Always),
            ("repos: [{ match: 'local:*', planning: { enabled: false } }]", Interactive::Always),
        ] {
            let settings = for_thread(config(yaml), &project).for_repo(&project);
            assert!(settings.planning.enabled, "{yaml}");
            assert_eq!(settings.planning.interactive, interactive, "{yaml}");
            assert_eq!(settings.approval.auto, AutoApproval::Nothing, "{yaml}");
        }
    }

    #[test]
    fn no_model_means_the_offline_one() {
        let provider = |config: Result<Config, ConfigError>, env: &Env| {
            let config = or_default(config, false, env).unwrap();
            config.models.get(Models::DEFAULT).unwrap().provider
        };
        let missing = || Err(ConfigError::Missing { path: "config.yaml".into() });
        let (none, key) = (Env::default(), Env::of(&[("OPENAI_API_KEY", "k")]));
        assert_eq!(provider(missing(), &none), Provider::Offline);
        assert_eq!(provider(Ok(config("{}")), &none), Provider::Offline);
        assert_eq!(provider(missing(), &key), Provider::Openai);
        let given = || config("models: { default: { model: m } }");
        assert_eq!(
            provider(Ok(given()), &none),
            Provider::Openai,
            "a key that is missing is said, not hidden"
        );
        assert!(or_default(missing(), true, &none).is_err(), "a file that was named must be there");
    }
}
