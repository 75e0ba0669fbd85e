//! Purpose: lay a repository's own `.planwright.yaml` over what the server allows, where it narrows.
//!
//! Anyone who can push to the default branch writes that file, so it may ask for less and never for more: it can switch
//! planning and triggers off, ask for more approval, allow fewer tools and paths, and lower budgets and limits.
//! Language and notices are a matter of taste and free. Each key is judged alone: what would widen is refused with a
//! sentence, the rest holds.
//!
//! Every struct is built anew key by key, so a new key does not compile until its direction is decided here.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::load::{invalid, typed_and_given};
use super::{
    ActionSequence, Approval, Budget, ConfigError, Crew, EscalationLimits, Execution, Global,
    GoalUnderstanding, LlmDecision, McpServer, Paths, Planning, Reflection, Replanning, RepoSettings,
    RunCommand, TaskDecomposition, ToolName, Tools, Triggers,
};

/// The file's name in a repository.
pub const REPO_FILE: &str = ".planwright.yaml";

const MAX_REPO_FILE: usize = 64 * 1024;

impl RepoSettings {
    /// The settings with the repository's file applied, and a sentence for everything that was refused.
    ///
    /// # Errors
    /// When the text has unknown keys or wrong types; then nothing of it holds.
    pub fn narrowed_by(&self, yaml_text: &str) -> Result<(Self, Vec<String>), ConfigError> {
        let path = Path::new(REPO_FILE);
        if yaml_text.len() > MAX_REPO_FILE {
            return Err(ConfigError::TooBig { path: path.to_owned(), limit: MAX_REPO_FILE as u64 });
        }
        let (typed, given) = typed_and_given::<Self>(yaml_text, path)?;
        let wanted = typed.written(&given).and_then(|written| self.overlaid(written));
        let wanted = wanted.map_err(|error| invalid(&error, yaml_text, path))?;
        let mut narrower = Narrower { refused: Vec::new() };
        let mut settings = narrower.settings(self, &wanted);
        let asked = settings.planning.clone();
        settings.switches.apply(&mut settings.planning);
        if settings.planning != asked {
            let sentence = "a switch in the server's environment decides about `planning` over this file";
            narrower.refused.push(sentence.to_owned());
        }
        Ok((settings, narrower.refused))
    }
}

struct Narrower {
    refused: Vec<String>,
}

/// The directions. Each takes the server's value and the wanted one and gives what holds.
impl Narrower {
    fn off(&mut self, key: &str, server: bool, wanted: bool) -> bool {
        if server >= wanted { wanted } else { self.refuse(key, "switch it off", server) }
    }

    fn on(&mut self, key: &str, server: bool, wanted: bool) -> bool {
        if server <= wanted { wanted } else { self.refuse(key, "switch it on", server) }
    }

    fn lower<T: PartialOrd + Serialize>(&mut self, key: &str, server: T, wanted: T) -> T {
        if wanted <= server { wanted } else { self.refuse(key, "lower it", server) }
    }

    fn raise<T: PartialOrd + Serialize>(&mut self, key: &str, server: T, wanted: T) -> T {
        if wanted >= server { wanted } else { self.refuse(key, "raise it", server) }
    }

    /// `None` is no limit at all, so it is above every limit.
    fn lower_limit<T: PartialOrd + Serialize>(
        &mut self,
        key: &str,
        server: Option<T>,
        wanted: Option<T>,
    ) -> Option<T> {
        match (&server, &wanted) {
            (None, _) => wanted,
            (Some(limit), Some(asked)) if asked <= limit => wanted,
            (Some(_), _) => self.refuse(key, "lower it", server),
        }
    }

    fn fixed<T: PartialEq + Clone>(&mut self, key: &str, server: &T, wanted: &T) -> T {
        if server != wanted {
            self.refused.push(format!("`{key}` stays as it is: only the server's own file sets it"));
        }
        server.clone()
    }

    fn refuse<T: Serialize>(&mut self, key: &str, may_only: &str, server: T) -> T {
        let value = serde_yaml::to_string(&server).unwrap_or_default();
        self.refused
            .push(format!("`{key}` stays `{}`: a repository's file may only {may_only}", value.trim_end()));
        server
    }
}

/// The keys, in the order of the file.
impl Narrower {
    fn settings(&mut self, server: &RepoSettings, wanted: &RepoSettings) -> RepoSettings {
        RepoSettings {
            triggers: self.triggers(&server.triggers, &wanted.triggers),
            planning: self.planning(&server.planning, &wanted.planning),
            approval: self.approval(&server.approval, &wanted.approval),
            crew: self.crew(&server.crew, &wanted.crew),
            tools: self.tools(&server.tools, &wanted.tools),
            deliver: self.lower("deliver", server.deliver, wanted.deliver),
            budget: self.budget(&server.budget, &wanted.budget),
            language: wanted.language.clone(),
            notices: wanted.notices,
            switches: server.switches,
        }
    }

    fn approval(&mut self, server: &Approval, wanted: &Approval) -> Approval {
        Approval {
            auto: self.lower("approval.auto", server.auto, wanted.auto),
            count: self.raise("approval.count", server.count, wanted.count),
            not_requester: self.on("approval.not_requester", server.not_requester, wanted.not_requester),
            expires_hours: self.lower("approval.expires_hours", server.expires_hours, wanted.expires_hours),
        }
    }

    fn triggers(&mut self, server: &Triggers, wanted: &Triggers) -> Triggers {
        let label = match &wanted.label {
            None => None,
            Some(_) => self.fixed("triggers.label", &server.label, &wanted.label),
        };
        Triggers {
            assign: self.off("triggers.assign", server.assign, wanted.assign),
            label,
            mention: self.off("triggers.mention", server.mention, wanted.mention),
        }
    }

    fn planning(&mut self, server: &Planning, wanted: &Planning) -> Planning {
        Planning {
            enabled: self.off("planning.enabled", server.enabled, wanted.enabled),
            interactive: self.raise("planning.interactive", server.interactive, wanted.interactive),
            max_reflection_count: self.lower(
                "planning.max_reflection_count",
                server.max_reflection_count,
                wanted.max_reflection_count,
            ),
            max_plan_revision_count: self.lower(
                "planning.max_plan_revision_count",
                server.max_plan_revision_count,
                wanted.max_plan_revision_count,
            ),
            // Looking back sooner or later widens nothing: how often is limited above.
            reflection_interval: wanted.reflection_interval,
            replanning: self.replanning(&server.replanning, &wanted.replanning),
        }
    }

    fn replanning(&mut self, server: &Replanning, wanted: &Replanning) -> Replanning {
        Replanning {
            enabled: self.off("planning.replanning.enabled", server.enabled, wanted.enabled),
            on_limit: self.lower("planning.replanning.on_limit", server.on_limit, wanted.on_limit),
            llm_decision: self.llm_decision(&server.llm_decision, &wanted.llm_decision),
            goal_understanding: self
                .goal_understanding(&server.goal_understanding, &wanted.goal_understanding),
            task_decomposition: TaskDecomposition {
                max_redecomposition_attempts: self.lower(
                    "planning.replanning.task_decomposition.max_redecomposition_attempts",
                    server.task_decomposition.max_redecomposition_attempts,
                    wanted.task_decomposition.max_redecomposition_attempts,
                ),
            },
            action_sequence: ActionSequence {
                max_regeneration_attempts: self.lower(
                    "planning.replanning.action_sequence.max_regeneration_attempts",
                    server.action_sequence.max_regeneration_attempts,
                    wanted.action_sequence.max_regeneration_attempts,
                ),
            },
            execution: self.execution(&server.execution, &wanted.execution),
            reflection: Reflection {
                max_plan_revisions: self.lower(
                    "planning.replanning.reflection.max_plan_revisions",
                    server.reflection.max_plan_revisions,
                    wanted.reflection.max_plan_revisions,
                ),
            },
            global: self.global(&server.global, &wanted.global),
        }
    }

    fn llm_decision(&mut self, server: &LlmDecision, wanted: &LlmDecision) -> LlmDecision {
        let key = |name: &str| format!("planning.replanning.llm_decision.{name}");
        let min_confidence_threshold = self.raise(
            &key("min_confidence_threshold"),
            server.min_confidence_threshold,
            wanted.min_confidence_threshold,
        );
        LlmDecision {
            min_confidence_threshold,
            require_user_confirmation_on_low_confidence: self.on(
                &key("require_user_confirmation_on_low_confidence"),
                server.require_user_confirmation_on_low_confidence,
                wanted.require_user_confirmation_on_low_confidence,
            ),
            user_confirmation_threshold: self.raise(
                &key("user_confirmation_threshold"),
                server.user_confirmation_threshold,
                wanted.user_confirmation_threshold,
            ),
            separate_call: self.on(&key("separate_call"), server.separate_call, wanted.separate_call),
        }
    }

    fn goal_understanding(
        &mut self,
        server: &GoalUnderstanding,
        wanted: &GoalUnderstanding,
    ) -> GoalUnderstanding {
        let key = |name: &str| format!("planning.replanning.goal_understanding.{name}");
        GoalUnderstanding {
            max_clarification_requests: self.lower(
                &key("max_clarification_requests"),
                server.max_clarification_requests,
                wanted.max_clarification_requests,
            ),
            auto_assume_on_no_response: self.off(
                &key("auto_assume_on_no_response"),
                server.auto_assume_on_no_response,
                wanted.auto_assume_on_no_response,
            ),
            auto_assume_timeout_minutes: self.raise(
                &key("auto_assume_timeout_minutes"),
                server.auto_assume_timeout_minutes,
                wanted.auto_assume_timeout_minutes,
            ),
        }
    }

    fn execution(&mut self, server: &Execution, wanted: &Execution) -> Execution {
        let key = |name: &str| format!("planning.replanning.execution.{name}");
        Execution {
            max_action_retries: self.lower(
                &key("max_action_retries"),
                server.max_action_retries,
                wanted.max_action_retries,
            ),
            max_partial_replans: self.lower(
                &key("max_partial_replans"),
                server.max_partial_replans,
                wanted.max_partial_replans,
            ),
        }
    }

    fn global(&mut self, server: &Global, wanted: &Global) -> Global {
        let key = |name: &str| format!("planning.replanning.global.{name}");
        Global {
            max_total_replans: self.lower(
                &key("max_total_replans"),
                server.max_total_replans,
                wanted.max_total_replans,
            ),
            infinite_loop_detection: self.on(
                &key("infinite_loop_detection"),
                server.infinite_loop_detection,
                wanted.infinite_loop_detection,
            ),
            same_trigger_max_count: self.lower(
                &key("same_trigger_max_count"),
                server.same_trigger_max_count,
                wanted.same_trigger_max_count,
            ),
        }
    }

    fn crew(&mut self, server: &Crew, wanted: &Crew) -> Crew {
        let (limits, asked) = (&server.limits, &wanted.limits);
        Crew {
            workers: self.lower("crew.workers", server.workers, wanted.workers),
            autonomy: self.lower("crew.autonomy", server.autonomy, wanted.autonomy),
            operators: self.fixed("crew.operators", &server.operators, &wanted.operators),
            answer_within_hours: self.raise(
                "crew.answer_within_hours",
                server.answer_within_hours,
                wanted.answer_within_hours,
            ),
            // Only sooner: the reminder must stay before the end of the time.
            remind_after_hours: self.lower(
                "crew.remind_after_hours",
                server.remind_after_hours,
                wanted.remind_after_hours,
            ),
            on_no_answer: self.lower("crew.on_no_answer", server.on_no_answer, wanted.on_no_answer),
            limits: EscalationLimits {
                planner: self.lower("crew.limits.planner", limits.planner, asked.planner),
                logic_validator: self.lower(
                    "crew.limits.logic_validator",
                    limits.logic_validator,
                    asked.logic_validator,
                ),
                external_advisor: self.lower(
                    "crew.limits.external_advisor",
                    limits.external_advisor,
                    asked.external_advisor,
                ),
                people: self.lower("crew.limits.people", limits.people, asked.people),
            },
        }
    }

    fn budget(&mut self, server: &Budget, wanted: &Budget) -> Budget {
        Budget {
            usd: self.lower_limit("budget.usd", server.usd, wanted.usd),
            tokens: self.lower_limit("budget.tokens", server.tokens, wanted.tokens),
            model_calls: self.lower_limit("budget.model_calls", server.model_calls, wanted.model_calls),
            minutes: self.lower_limit("budget.minutes", server.minutes, wanted.minutes),
            files: self.lower_limit("budget.files", server.files, wanted.files),
            bytes: self.lower_limit("budget.bytes", server.bytes, wanted.bytes),
        }
    }
}

/// What may be used: names are the server's, a repository can only leave some out.
impl Narrower {
    fn tools(&mut self, server: &Tools, wanted: &Tools) -> Tools {
        self.no_new_names("tools.mcp_servers", &server.mcp_servers, &wanted.mcp_servers);
        self.no_new_names("tools.commands", &server.commands, &wanted.commands);
        let mcp_servers = server.mcp_servers.iter().map(|(name, known)| {
            let asked = wanted.mcp_servers.get(name).unwrap_or(known);
            (name.clone(), self.mcp_server(&format!("tools.mcp_servers.{name}"), known, asked))
        });
        let mcp_servers = mcp_servers.collect();
        let commands = server.commands.iter().map(|(name, known)| {
            let asked = wanted.commands.get(name).unwrap_or(known);
            (name.clone(), self.command(&format!("tools.commands.{name}"), known, asked))
        });
        let commands = commands.collect();
        let without_sandbox =
            self.lower("tools.without_sandbox", server.without_sandbox, wanted.without_sandbox);
        Tools { mcp_servers, commands, without_sandbox, paths: self.paths(&server.paths, &wanted.paths) }
    }

    fn no_new_names<T>(&mut self, key: &str, server: &BTreeMap<ToolName, T>, wanted: &BTreeMap<ToolName, T>) {
        for name in wanted.keys().filter(|name| !server.contains_key(*name)) {
            self.refused.push(format!("`{key}.{name}` is not used: only the server's own file can add it"));
        }
    }

    fn fewer_names(&mut self, key: &str, server: &[ToolName], wanted: &[ToolName]) -> Vec<ToolName> {
        let (taken, left): (Vec<_>, Vec<_>) = wanted.iter().cloned().partition(|name| server.contains(name));
        for name in left {
            self.refused
                .push(format!("`{key}`: `{name}` is not used: only the server's own file can add it"));
        }
        taken
    }

    fn mcp_server(&mut self, key: &str, server: &McpServer, wanted: &McpServer) -> McpServer {
        McpServer {
            enabled: self.off(&format!("{key}.enabled"), server.enabled, wanted.enabled),
            command: self.fixed(&format!("{key}.command"), &server.command, &wanted.command),
            url: self.fixed(&format!("{key}.url"), &server.url, &wanted.url),
            token_env: self.fixed(&format!("{key}.token_env"), &server.token_env, &wanted.token_env),
            pass_env: self.fixed(&format!("{key}.pass_env"), &server.pass_env, &wanted.pass_env),
            allow: self.fewer(&format!("{key}.allow"), &server.allow, &wanted.allow, "*"),
            pins: self.fixed(&format!("{key}.pins"), &server.pins, &wanted.pins),
            read_only: self.fewer_names(&format!("{key}.read_only"), &server.read_only, &wanted.read_only),
            timeout_seconds: self.lower(
                &format!("{key}.timeout_seconds"),
                server.timeout_seconds,
                wanted.timeout_seconds,
            ),
        }
    }

    fn command(&mut self, key: &str, server: &RunCommand, wanted: &RunCommand) -> RunCommand {
        RunCommand {
            enabled: self.off(&format!("{key}.enabled"), server.enabled, wanted.enabled),
            argv: self.fixed(&format!("{key}.argv"), &server.argv, &wanted.argv),
            network: self.off(&format!("{key}.network"), server.network, wanted.network),
            timeout_seconds: self.lower(
                &format!("{key}.timeout_seconds"),
                server.timeout_seconds,
                wanted.timeout_seconds,
            ),
        }
    }

    /// What is denied adds up; it cannot be taken back, so leaving out what the server denies is no request.
    fn paths(&mut self, server: &Paths, wanted: &Paths) -> Paths {
        let more = wanted.deny.iter().filter(|pattern| !server.deny.contains(pattern));
        Paths {
            allow: self.fewer("tools.paths.allow", &server.allow, &wanted.allow, "**"),
            deny: server.deny.iter().chain(more).cloned().collect(),
        }
    }

    /// Patterns of which each is plainly inside one of the server's: equal to it, or behind its fixed beginning.
    fn fewer<T>(&mut self, key: &str, server: &[T], wanted: &[T], wildcard: &str) -> Vec<T>
    where
        T: AsRef<str> + Clone,
    {
        let inside = |asked: &T| server.iter().any(|known| covers(known.as_ref(), asked.as_ref(), wildcard));
        let (taken, left): (Vec<T>, Vec<T>) = wanted.iter().cloned().partition(inside);
        for pattern in left {
            let pattern = pattern.as_ref();
            self.refused
                .push(format!("`{key}`: `{pattern}` is not used: the server does not allow all of it"));
        }
        taken
    }
}

fn covers(known: &str, asked: &str, wildcard: &str) -> bool {
    let beginning = known.strip_suffix(wildcard).filter(|start| !start.contains(['*', '?', '[', '{', '\\']));
    known == asked || beginning.is_some_and(|start| asked.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Env};

    /// A server that allows something of everything, so that both directions can be tried.
    const SERVER: &str = "
planning: { enabled: true, interactive: auto, replanning: { llm_decision: { separate_call: true } } }
approval: { auto: low }
crew: { workers: 4, operators: [ann] }
tools:
  mcp_servers:
    files: { command: [mcp-files], allow: ['read_*', list], pass_env: [HOME], pins: { list: abc }, read_only: [list] }
  commands:
    test: { argv: [cargo, test], network: true }
  without_sandbox: run_unprotected
  paths: { allow: ['src/**', 'docs/*.md'], deny: ['src/secret/**'] }
deliver: draft
";

    fn server(env: &[(&str, &str)]) -> RepoSettings {
        let config = Config::parse(SERVER, Path::new("config.yaml"), &Env::of(env)).unwrap();
        config.for_repo(&"github:acme/web".parse().unwrap())
    }

    fn narrowed(text: &str) -> (RepoSettings, Vec<String>) {
        server(&[]).narrowed_by(text).unwrap()
    }

    #[test]
    fn asking_for_less_is_granted() {
        for text in [
            "triggers: { assign: false }",
            "triggers: { label: null, mention: false }",
            "planning: { enabled: false }",
            "planning: { interactive: always, max_reflection_count: 0, max_plan_revision_count: 1 }",
            "planning: { reflection_interval: 1 }",
            "planning: { reflection_interval: 99 }",
            "planning: { replanning: { enabled: false, on_limit: stop } }",
            "planning: { replanning: { llm_decision: { min_confidence_threshold: 0.9 } } }",
            "planning: { replanning: { goal_understanding: { auto_assume_on_no_response: false, \
             auto_assume_timeout_minutes: 60, max_clarification_requests: 1 } } }",
            "planning: { replanning: { global: { max_total_replans: 0, same_trigger_max_count: 1 } } }",
            "approval: { auto: nothing }",
            "approval: { count: 2, not_requester: true, expires_hours: 24 }",
            "crew: { workers: 1, limits: { people: 0 } }",
            "crew: { autonomy: 1 }",
            "crew: { answer_within_hours: 48, remind_after_hours: 1, on_no_answer: stop }",
            "tools: { mcp_servers: { files: { enabled: false } } }",
            "tools: { mcp_servers: { files: { allow: [read_file, 'read_d*'] } } }",
            "tools: { mcp_servers: { files: { read_only: [] } } }",
            "tools: { commands: { test: { enabled: false } } }",
            "tools: { paths: { allow: ['src/web/*.rs', 'docs/*.md'] } }",
            "deliver: branch-only",
            "budget: { usd: 0.5, tokens: 1000, model_calls: 10, minutes: 5, files: 3, bytes: 1000 }",
            "tools: { commands: { test: { network: false } }, without_sandbox: refuse }",
            "language: ja",
            "notices: quiet",
        ] {
            let (settings, refused) = narrowed(text);
            assert_eq!(refused, Vec::<String>::new(), "{text}");
            assert_ne!(settings, server(&[]), "{text} changed nothing");
            let wanted: RepoSettings = {
                let (typed, given) = typed_and_given::<RepoSettings>(text, Path::new("x")).unwrap();
                server(&[]).overlaid(typed.written(&given).unwrap()).unwrap()
            };
            assert_eq!(settings, wanted, "{text} did not get what it asked for");
        }
    }

    /// What a repository asks for, and the one sentence that refuses it.
    const WIDER: &[(&str, &str)] = &[
        ("triggers: { label: other }", "`triggers.label` stays as it is: only the server's own file sets it"),
        (
            "planning: { interactive: never }",
            "`planning.interactive` stays `auto`: a repository's file may only raise it",
        ),
        (
            "planning: { max_reflection_count: 4 }",
            "`planning.max_reflection_count` stays `3`: a repository's file may only lower it",
        ),
        (
            "planning: { max_plan_revision_count: 9 }",
            "`planning.max_plan_revision_count` stays `2`: a repository's file may only lower it",
        ),
        (
            "planning: { replanning: { on_limit: continue } }",
            "`planning.replanning.on_limit` stays `ask`: a repository's file may only lower it",
        ),
        (
            "planning: { replanning: { llm_decision: { min_confidence_threshold: 0.1 } } }",
            "`planning.replanning.llm_decision.min_confidence_threshold` stays `0.5`: a repository's file may only raise it",
        ),
        (
            "planning: { replanning: { llm_decision: { require_user_confirmation_on_low_confidence: false } } }",
            "`planning.replanning.llm_decision.require_user_confirmation_on_low_confidence` stays `true`: a repository's file may only switch it on",
        ),
        (
            "planning: { replanning: { llm_decision: { user_confirmation_threshold: 0.1 } } }",
            "`planning.replanning.llm_decision.user_confirmation_threshold` stays `0.3`: a repository's file may only raise it",
        ),
        (
            "planning: { replanning: { llm_decision: { separate_call: false } } }",
            "`planning.replanning.llm_decision.separate_call` stays `true`: a repository's file may only switch it on",
        ),
        (
            "planning: { replanning: { goal_understanding: { max_clarification_requests: 3 } } }",
            "`planning.replanning.goal_understanding.max_clarification_requests` stays `2`: a repository's file may only lower it",
        ),
        (
            "planning: { replanning: { goal_understanding: { auto_assume_timeout_minutes: 1 } } }",
            "`planning.replanning.goal_understanding.auto_assume_timeout_minutes` stays `30`: a repository's file may only raise it",
        ),
        (
            "planning: { replanning: { task_decomposition: { max_redecomposition_attempts: 4 } } }",
            "`planning.replanning.task_decomposition.max_redecomposition_attempts` stays `3`: a repository's file may only lower it",
        ),
        (
            "planning: { replanning: { action_sequence: { max_regeneration_attempts: 4 } } }",
            "`planning.replanning.action_sequence.max_regeneration_attempts` stays `3`: a repository's file may only lower it",
        ),
        (
            "planning: { replanning: { execution: { max_action_retries: 4 } } }",
            "`planning.replanning.execution.max_action_retries` stays `3`: a repository's file may only lower it",
        ),
        (
            "planning: { replanning: { execution: { max_partial_replans: 4 } } }",
            "`planning.replanning.execution.max_partial_replans` stays `2`: a repository's file may only lower it",
        ),
        (
            "planning: { replanning: { reflection: { max_plan_revisions: 3 } } }",
            "`planning.replanning.reflection.max_plan_revisions` stays `2`: a repository's file may only lower it",
        ),
        (
            "planning: { replanning: { global: { max_total_replans: 11 } } }",
            "`planning.replanning.global.max_total_replans` stays `10`: a repository's file may only lower it",
        ),
        (
            "planning: { replanning: { global: { infinite_loop_detection: false } } }",
            "`planning.replanning.global.infinite_loop_detection` stays `true`: a repository's file may only switch it on",
        ),
        (
            "planning: { replanning: { global: { same_trigger_max_count: 3 } } }",
            "`planning.replanning.global.same_trigger_max_count` stays `2`: a repository's file may only lower it",
        ),
        ("approval: { auto: medium }", "`approval.auto` stays `low`: a repository's file may only lower it"),
        ("crew: { workers: 5 }", "`crew.workers` stays `4`: a repository's file may only lower it"),
        (
            "crew: { operators: [mallory] }",
            "`crew.operators` stays as it is: only the server's own file sets it",
        ),
        (
            "crew: { answer_within_hours: 23 }",
            "`crew.answer_within_hours` stays `24`: a repository's file may only raise it",
        ),
        (
            "crew: { remind_after_hours: 5 }",
            "`crew.remind_after_hours` stays `4`: a repository's file may only lower it",
        ),
        (
            "crew: { on_no_answer: skip }",
            "`crew.on_no_answer` stays `hold`: a repository's file may only lower it",
        ),
        (
            "crew: { limits: { planner: 3 } }",
            "`crew.limits.planner` stays `2`: a repository's file may only lower it",
        ),
        (
            "crew: { limits: { logic_validator: 3 } }",
            "`crew.limits.logic_validator` stays `2`: a repository's file may only lower it",
        ),
        (
            "crew: { limits: { external_advisor: 2 } }",
            "`crew.limits.external_advisor` stays `1`: a repository's file may only lower it",
        ),
        (
            "crew: { limits: { people: 4 } }",
            "`crew.limits.people` stays `3`: a repository's file may only lower it",
        ),
        (
            "tools: { mcp_servers: { evil: { command: [sh] } } }",
            "`tools.mcp_servers.evil` is not used: only the server's own file can add it",
        ),
        (
            "tools: { mcp_servers: { files: { command: [sh] } } }",
            "`tools.mcp_servers.files.command` stays as it is: only the server's own file sets it",
        ),
        (
            "tools: { mcp_servers: { files: { url: 'https://evil.example' } } }",
            "`tools.mcp_servers.files.url` stays as it is: only the server's own file sets it",
        ),
        (
            "tools: { mcp_servers: { files: { token_env: GITHUB_TOKEN } } }",
            "`tools.mcp_servers.files.token_env` stays as it is: only the server's own file sets it",
        ),
        (
            "tools: { mcp_servers: { files: { pass_env: [HOME, GITHUB_TOKEN] } } }",
            "`tools.mcp_servers.files.pass_env` stays as it is: only the server's own file sets it",
        ),
        (
            "tools: { mcp_servers: { files: { timeout_seconds: 61 } } }",
            "`tools.mcp_servers.files.timeout_seconds` stays `60`: a repository's file may only lower it",
        ),
        (
            "tools: { commands: { sh: { argv: [sh] } } }",
            "`tools.commands.sh` is not used: only the server's own file can add it",
        ),
        (
            "tools: { commands: { test: { argv: [sh] } } }",
            "`tools.commands.test.argv` stays as it is: only the server's own file sets it",
        ),
        (
            "tools: { commands: { test: { timeout_seconds: 601 } } }",
            "`tools.commands.test.timeout_seconds` stays `600`: a repository's file may only lower it",
        ),
        ("deliver: ready", "`deliver` stays `draft`: a repository's file may only lower it"),
        ("budget: { usd: 2.01 }", "`budget.usd` stays `2.0`: a repository's file may only lower it"),
        ("budget: { usd: null }", "`budget.usd` stays `2.0`: a repository's file may only lower it"),
        (
            "budget: { model_calls: 201 }",
            "`budget.model_calls` stays `200`: a repository's file may only lower it",
        ),
        (
            "approval: { expires_hours: 169 }",
            "`approval.expires_hours` stays `168`: a repository's file may only lower it",
        ),
        ("budget: { files: 201 }", "`budget.files` stays `200`: a repository's file may only lower it"),
        ("budget: { bytes: null }", "`budget.bytes` stays `5000000`: a repository's file may only lower it"),
        (
            "tools: { mcp_servers: { files: { pins: { read: abc } } } }",
            "`tools.mcp_servers.files.pins` stays as it is: only the server's own file sets it",
        ),
        (
            "tools: { mcp_servers: { files: { read_only: [list, read_file] } } }",
            "`tools.mcp_servers.files.read_only`: `read_file` is not used: only the server's own file can add it",
        ),
        ("budget: { minutes: 121 }", "`budget.minutes` stays `120`: a repository's file may only lower it"),
    ];

    #[test]
    fn asking_for_more_is_refused_key_by_key() {
        for (text, says) in WIDER {
            let (settings, refused) = narrowed(text);
            assert_eq!(refused, [*says], "{text}");
            assert_eq!(settings, server(&[]), "{text} changed something");
        }
    }

    #[test]
    fn what_is_off_on_the_server_stays_off() {
        let closed = Config::parse(
            "{ triggers: { assign: false, label: null, mention: false }, planning: { replanning: { enabled: false, \
             goal_understanding: { auto_assume_on_no_response: false } } }, tools: { commands: { t: { enabled: false, \
             argv: [t] } } } }",
            Path::new("c"),
            &Env::default(),
        );
        let closed = closed.unwrap().for_repo(&"local:x".parse().unwrap());
        let (settings, refused) = closed
            .narrowed_by(
                "{ triggers: { assign: true, label: planwright, mention: true }, planning: { enabled: true, \
                 replanning: { enabled: true, goal_understanding: { auto_assume_on_no_response: true } } }, tools: \
                 { commands: { t: { enabled: true } } } }",
            )
            .unwrap();
        assert_eq!(settings, closed);
        assert_eq!(refused.len(), 7, "{refused:#?}");
    }

    #[test]
    fn workers_that_are_heard_after_each_step_stay_so() {
        let settings = |level| format!("crew: {{ autonomy: {level} }}");
        let quiet = Config::parse(&settings(1), Path::new("c"), &Env::default()).unwrap();
        let quiet = quiet.for_repo(&"local:x".parse().unwrap());
        let (narrowed, refused) = quiet.narrowed_by(&settings(2)).unwrap();
        assert_eq!(narrowed, quiet);
        assert_eq!(refused, ["`crew.autonomy` stays `1`: a repository's file may only lower it"]);
    }

    #[test]
    fn tools_and_paths_are_left_out_one_by_one() {
        let (settings, refused) = narrowed(
            "tools: { mcp_servers: { files: { allow: [read_file, '*', write_file] } }, paths: { allow: ['src/a/**', \
             '**', 'srcs/x', 'docs/*.txt', '{src,etc}/x'], deny: ['**/*.key'] } }",
        );
        let text = |list: &[crate::config::PathPattern]| {
            list.iter().map(|p| p.as_ref().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(text(&settings.tools.paths.allow), ["src/a/**"]);
        assert_eq!(text(&settings.tools.paths.deny), ["src/secret/**", "**/*.key"]);
        assert_eq!(settings.tools.mcp_servers.values().next().unwrap().allow.len(), 1);
        assert_eq!(refused.len(), 6, "{refused:#?}");
        assert_eq!(
            refused[0],
            "`tools.mcp_servers.files.allow`: `*` is not used: the server does not allow all of it"
        );
    }

    #[test]
    fn the_rest_of_a_file_holds_when_a_key_is_refused() {
        let (settings, refused) =
            narrowed("{ budget: { usd: 9, minutes: 3 }, approval: { auto: medium }, language: de }");
        let mut expected = server(&[]);
        expected.budget.minutes = Some(3);
        expected.language = crate::config::Language::Named("de".to_owned());
        assert_eq!((settings, refused.len()), (expected, 2));
    }

    #[test]
    fn the_environment_wins_over_the_repository() {
        let forced = server(&[("PLANNING_ENABLED", "true")]);
        let (settings, refused) = forced.narrowed_by("planning: { enabled: false }").unwrap();
        assert!(settings.planning.enabled);
        assert_eq!(refused, ["a switch in the server's environment decides about `planning` over this file"]);
        let (_, refused) = forced.narrowed_by("planning: { max_reflection_count: 1 }").unwrap();
        assert_eq!(refused, Vec::<String>::new());
    }

    #[test]
    fn mistakes_are_reported_and_nothing_holds() {
        for (text, says) in [
            ("planing: {}", ".planwright.yaml:1:1: unknown key `planing`; did you mean `planning`?"),
            ("budget:\n  usd: lots", ".planwright.yaml:2:8: `budget.usd` must be a number, but is `lots`"),
            (
                "forges: {}",
                ".planwright.yaml:1:1: unknown key `forges`; known are `triggers`, `planning`, `approval`, \
                            `crew`, `tools`, `deliver`, `budget`, `language` and `notices`",
            ),
        ] {
            assert_eq!(server(&[]).narrowed_by(text).unwrap_err().to_string(), says);
        }
        let big = "#".repeat(MAX_REPO_FILE + 1);
        assert_eq!(
            server(&[]).narrowed_by(&big).unwrap_err().to_string(),
            "`.planwright.yaml` is larger than 64 KiB"
        );
        for empty in ["", "# nothing", "planning:\ntools:\n"] {
            assert_eq!(narrowed(empty), (server(&[]), vec![]));
        }
    }
}
