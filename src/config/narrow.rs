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

use super::load::typed_and_given;
use super::values::ToolName;
use super::{
    ActionSequence, Approval, Budget, ConfigError, Crew, EscalationLimits, Execution, Global,
    GoalUnderstanding, LlmDecision, McpServer, Paths, Planning, Reflection, Replanning, RepoSettings,
    RunCommand, TaskDecomposition, Tools, Triggers,
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
        let (_, given) = typed_and_given::<Self>(yaml_text, path)?;
        let wanted = self.overlaid(given).map_err(|error| ConfigError::Invalid {
            path: path.to_owned(),
            line: 0,
            column: 0,
            message: error.to_string(),
        })?;
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
            approval: Approval {
                auto: self.lower("approval.auto", server.approval.auto, wanted.approval.auto),
            },
            crew: self.crew(&server.crew, &wanted.crew),
            tools: self.tools(&server.tools, &wanted.tools),
            deliver: self.lower("deliver", server.deliver, wanted.deliver),
            budget: self.budget(&server.budget, &wanted.budget),
            language: wanted.language.clone(),
            notices: wanted.notices,
            switches: server.switches,
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
            operators: self.fixed("crew.operators", &server.operators, &wanted.operators),
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
        Tools { mcp_servers, commands, paths: self.paths(&server.paths, &wanted.paths) }
    }

    fn no_new_names<T>(&mut self, key: &str, server: &BTreeMap<ToolName, T>, wanted: &BTreeMap<ToolName, T>) {
        for name in wanted.keys().filter(|name| !server.contains_key(*name)) {
            self.refused.push(format!("`{key}.{name}` is not used: only the server's own file can add it"));
        }
    }

    fn mcp_server(&mut self, key: &str, server: &McpServer, wanted: &McpServer) -> McpServer {
        McpServer {
            enabled: self.off(&format!("{key}.enabled"), server.enabled, wanted.enabled),
            command: self.fixed(&format!("{key}.command"), &server.command, &wanted.command),
            url: self.fixed(&format!("{key}.url"), &server.url, &wanted.url),
            token_env: self.fixed(&format!("{key}.token_env"), &server.token_env, &wanted.token_env),
            pass_env: self.fixed(&format!("{key}.pass_env"), &server.pass_env, &wanted.pass_env),
            allow: self.fewer(&format!("{key}.allow"), &server.allow, &wanted.allow, "*"),
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
