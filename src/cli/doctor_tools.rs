//! Purpose: `doctor` on what a run works with: git, the cage for commands, the servers of tools.

use std::collections::BTreeSet;

use super::app;
use super::doctor::Finding;
use crate::actions::DestructiveHint;
use crate::config::{Config, Env};
use crate::tools::git::Workspaces;
use crate::tools::mcp::{Mcp, Offer, ToolInfo};
use crate::tools::sandbox::{Cage, Sandbox};

pub(super) async fn git(config: &Config) -> Finding {
    match Workspaces::new(&config.data_dir.join("work")).check().await {
        Ok(()) => Finding::good("git can be used"),
        Err(error) => Finding::bad(
            error.to_string(),
            "install a current git (on Debian and Ubuntu: `apt install git`); without it no plan can be carried out",
        ),
    }
}

const BUBBLEWRAP: &str = "install bubblewrap (on Debian and Ubuntu: `apt install bubblewrap`) and allow unprivileged user namespaces";

/// Which cage holds here. Without commands in the settings nothing depends on it.
pub(super) fn sandbox(config: &Config) -> Finding {
    let settings = match app::sandbox_settings(config) {
        Ok(settings) => settings,
        Err(error) => return Finding::bad(format!("{error:#}"), "start the program by its full path"),
    };
    let found = Sandbox::find(settings).map(|sandbox| sandbox.cage());
    let idle = !app::has_commands(config);
    match found {
        Ok(cage) if idle => Finding::good(format!(
            "no commands are allowed (`tools.commands` is empty); {} would hold them",
            name(cage)
        )),
        Err(_) if idle => {
            Finding::good("no commands are allowed (`tools.commands` is empty), so no sandbox is needed")
        }
        Ok(Cage::None) => Finding::warning(
            "commands run WITHOUT a sandbox, because `tools.without_sandbox` says `run_unprotected`: they can read and change what this account can",
            BUBBLEWRAP,
        ),
        Ok(cage @ (Cage::Bubblewrap | Cage::Landlock)) => {
            Finding::good(format!("commands run in a sandbox: {}", name(cage)))
        }
        Err(error) => Finding::bad(error.to_string(), BUBBLEWRAP),
    }
}

fn name(cage: Cage) -> &'static str {
    match cage {
        Cage::Bubblewrap => "bubblewrap",
        Cage::Landlock => "Landlock",
        Cage::None => "nothing",
    }
}

/// Asks every server for its tools, and compares them with what the settings say about them.
pub(super) async fn servers(config: &Config, env: &Env) -> Vec<Finding> {
    let settings = app::mcp_servers(config, env);
    // Without pins every tool is offered, so that what it is now can be said.
    let bare = settings.iter().cloned().map(|mut server| {
        server.pins.clear();
        server
    });
    let mcp = Mcp::new(bare.collect());
    let offer = mcp.offer().await;
    mcp.close().await;
    let mut findings = vec![];
    for server in &settings {
        findings.push(reached(&server.name, &offer));
        findings.extend(claims(config, &server.name).iter().filter_map(|claim| claim.compare(&offer)));
    }
    findings
}

/// What the settings say about one tool of a server.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    Pinned { server: String, tool: String, pin: String },
    ReadOnly { server: String, tool: String },
    ReadOnlyWithoutPin { server: String, tool: String },
}

/// For all repositories, each claim once.
fn claims(config: &Config, server: &str) -> BTreeSet<Claim> {
    let own = |tool: &str| (server.to_owned(), tool.to_owned());
    let mut claims = BTreeSet::new();
    for settings in config.with_each_rule() {
        let known = settings.tools.mcp_servers.iter().filter(|(name, _)| name.as_ref() == server);
        for (_, known) in known {
            claims.extend(known.pins.iter().map(|(tool, pin)| {
                let (server, tool) = own(tool);
                Claim::Pinned { server, tool, pin: pin.to_ascii_lowercase() }
            }));
            claims.extend(known.read_only.iter().map(|tool| {
                let (server, tool) = own(tool.as_ref());
                Claim::ReadOnly { server, tool }
            }));
            claims.extend(known.read_only_without_pin().map(|tool| {
                let (server, tool) = own(tool.as_ref());
                Claim::ReadOnlyWithoutPin { server, tool }
            }));
        }
    }
    claims
}

impl Claim {
    /// What is wrong with it, as the servers are now. One that is away says nothing about its tools.
    fn compare(&self, offer: &Offer) -> Option<Finding> {
        let (Self::Pinned { server, tool, .. }
        | Self::ReadOnly { server, tool }
        | Self::ReadOnlyWithoutPin { server, tool }) = self;
        if offer.missing.iter().any(|(name, _)| name == server) {
            return None;
        }
        let full = format!("{server}/{tool}");
        let now = offer.tools.iter().find(|offered| offered.name == full);
        match self {
            Self::Pinned { pin, .. } => pinned((server, tool, &full), pin, now),
            Self::ReadOnly { .. } => now.and_then(|now| contradicted((server, &full), now)),
            Self::ReadOnlyWithoutPin { .. } => now.map(|now| unpinned((server, tool, &full), now)),
        }
    }
}

fn reached(server: &str, offer: &Offer) -> Finding {
    if let Some((_, why)) = offer.missing.iter().find(|(name, _)| name == server) {
        return Finding::bad(
            format!("MCP server `{server}`: {why}"),
            format!(
                "check `tools.mcp_servers.{server}`: `command` must be a program that this account can start, with the variables in `pass_env`; `url` an address that it can reach"
            ),
        );
    }
    let prefix = format!("{server}/");
    let tools: Vec<&str> = offer.tools.iter().filter_map(|tool| tool.name.strip_prefix(&prefix)).collect();
    if tools.is_empty() {
        return Finding::warning(
            format!("MCP server `{server}` answers, but none of its tools may be used"),
            format!("name some in `tools.mcp_servers.{server}.allow`, like `read_*`"),
        );
    }
    Finding::good(format!("MCP server `{server}` offers {}: {}", tools.len(), tools.join(", ")))
}

fn pinned((server, tool, full): (&str, &str, &str), pin: &str, now: Option<&ToolInfo>) -> Option<Finding> {
    match now {
        Some(now) if now.hash.eq_ignore_ascii_case(pin) => None,
        Some(now) => Some(Finding::bad(
            format!("`{full}` is not the tool that was pinned, so it is switched off"),
            format!(
                "look at what it is now; if you trust it, write `{tool}: {}` in `tools.mcp_servers.{server}.pins`",
                now.hash
            ),
        )),
        None => Some(Finding::warning(
            format!("`{full}` is pinned, but not on offer"),
            format!("check its name in `tools.mcp_servers.{server}.pins` and `allow`"),
        )),
    }
}

/// The operator's word lowers the risk of a tool only if its server does not say the opposite.
fn contradicted((server, full): (&str, &str), now: &ToolInfo) -> Option<Finding> {
    match now.destructive {
        DestructiveHint::Yes => Some(Finding::warning(
            format!(
                "`{full}` is in `read_only`, but its server says that it may destroy: its risk stays high"
            ),
            format!("take it out of `tools.mcp_servers.{server}.read_only`, or ask who wrote the server"),
        )),
        DestructiveHint::No | DestructiveHint::Missing => None,
    }
}

fn unpinned((server, tool, full): (&str, &str, &str), now: &ToolInfo) -> Finding {
    Finding::bad(
        format!("`{full}` is in `read_only`, but has no pin"),
        format!(
            "look at what it is; if it only looks, write `{tool}: {}` in `tools.mcp_servers.{server}.pins`",
            now.hash
        ),
    )
}
