//! Purpose: servers that talk nonsense, too much or nothing, lie about their tools, or ask for what is not theirs.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use planwright::tools::mcp::{Mcp, McpError, Reach};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::subscriber::DefaultGuard;

use super::rig::{self, LIMIT, Odd, no_arguments, odd};

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let odd = Odd::with("silent", |settings| settings.timeout = Duration::from_secs(1));
    let why = odd.why_missing().await;
    assert!(why.contains("the MCP server `odd` said nothing for 1 s after its start"), "{why}");
    assert!(matches!(odd.call("echo", "").await, Err(McpError::Unavailable(_))));
}

#[tokio::test]
async fn a_server_that_ends_at_once_says_how() {
    let (log, _guard) = Log::listen();
    let why = Odd::new("gone").why_missing().await;
    assert!(why.contains("the MCP server `odd` ended with exit status: 3"), "{why}");
    assert!(log.text().contains("the MCP server `odd` writes: no luck today"), "{}", log.text());
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named_without_its_arguments() {
    let settings = rig::process("odd", &["/nonexistent/program", "--token=hush"]);
    let offer = Mcp::new(vec![settings]).offer().await;
    let [(_, why)] = offer.missing.as_slice() else { panic!("{offer:?}") };
    assert!(why.contains("cannot be started: `/nonexistent/program`") && !why.contains("hush"), "{why}");
}

#[tokio::test]
async fn a_line_of_100_mb_ends_the_connection() {
    let why = Odd::new("endless").why_missing().await;
    assert!(why.contains("sent a message of more than 4 MiB"), "{why}");
    let odd = Odd::new("good");
    let lost = odd.call("big", "104857600").await.unwrap_err();
    assert!(lost.to_string().contains("sent a message of more than 4 MiB before it answered"), "{lost}");
    assert!(lost.may_have_run());
}

#[tokio::test]
async fn few_bytes_that_become_many_values_end_the_connection() {
    let lost = Odd::new("good").call("dense", "3000000").await.unwrap_err();
    assert!(lost.to_string().contains("sent a message of more than 100000 values"), "{lost}");
    let read = Odd::new("good").call("dense", "150000").await.unwrap();
    assert!(read.truncated && read.text.starts_with("[0,0,"));
}

#[tokio::test]
async fn garbage_without_end_ends_the_connection() {
    let why = Odd::new("babbling").why_missing().await;
    assert!(why.contains("sent more than 32 MiB unasked"), "{why}");
}

#[tokio::test]
async fn some_garbage_is_overlooked() {
    assert_eq!(Odd::new("noisy").call("echo", "hello").await.unwrap().text, "hello");
}

#[tokio::test]
async fn a_burst_of_changes_does_no_harm_and_a_flood_ends_the_connection() {
    assert_eq!(Odd::new("changing").call("echo", "hello").await.unwrap().text, "hello");
    let why = Odd::new("flooding").why_missing().await;
    assert!(why.contains("talked without end"), "{why}");
}

#[tokio::test]
async fn a_server_that_asks_and_does_not_listen_is_cut_off() {
    let why = Odd::new("asking").why_missing().await;
    assert!(why.contains("asked for more and more"), "{why}");
}

#[tokio::test]
async fn lists_of_tools_without_end_or_form_are_refused() {
    for (how, reason) in [
        ("paging", "lists more than 256 tools"),
        ("many", "lists more than 256 tools"),
        ("formless", "in a form that is not MCP"),
        ("toolless", "does not list its tools: no tools here"),
    ] {
        let why = Odd::new(how).why_missing().await;
        assert!(why.contains(reason), "{how}: {why}");
    }
}

#[tokio::test]
async fn names_given_twice_are_off_and_odd_names_too() {
    let twins = Odd::new("twins");
    let names = |offer: &[planwright::tools::mcp::ToolInfo]| -> Vec<String> {
        offer.iter().map(|tool| tool.name.clone()).collect()
    };
    let offered = names(&twins.mcp.offer().await.tools);
    assert!(
        !offered.contains(&"odd/echo".to_owned()) && !offered.contains(&"odd/env".to_owned()),
        "{offered:?}"
    );
    assert!(offered.contains(&"odd/pid".to_owned()));
    let off = twins.call("echo", "").await.unwrap_err();
    assert!(matches!(&off, McpError::SwitchedOff { why, .. } if why.contains("two tools")), "{off}");
    assert_eq!(twins.noted("tools/call"), 0);

    let odd = Odd::new("odd");
    let offer = odd.mcp.offer().await;
    assert_eq!(names(&offer.tools).len(), 16, "{:?}", names(&offer.tools));
    let unseen = offer.tools.iter().find(|tool| tool.name == "odd/unseen").unwrap();
    assert_eq!(unseen.description, "hidden words");
    assert!(odd.call("a b", "").await.is_err());
}

#[tokio::test]
async fn answers_are_plain_text_and_failures_are_told() {
    let odd = Odd::new("good");
    assert_eq!(odd.call("paint", "").await.unwrap().text, "red password done");
    let failed = odd.call("fail", "").await.unwrap();
    assert!(failed.is_error && failed.text == "it did not work");
    assert_eq!(odd.call("refuse", "").await, Err(McpError::Refused("not today".to_owned())));
    assert_eq!(odd.call("deny", "").await, Err(McpError::BadArguments("`text` is missing".to_owned())));
    let later = odd.call("later", "").await.unwrap_err();
    assert!(matches!(later, McpError::Refused(_)), "{later}");
    assert_eq!(odd.noted("start"), 1);
}

#[tokio::test]
async fn a_tool_that_changes_is_not_called() {
    let odd = Odd::new("good");
    let approved = odd.mcp.tool("odd/echo").await.unwrap();
    odd.call("twist", "").await.unwrap();
    let calls = odd.noted("tools/call");
    let stop = CancellationToken::new();
    let refused = odd.mcp.call("odd/echo", &approved.hash, no_arguments(), &stop).await;
    let Err(McpError::Changed { now, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(odd.noted("tools/call"), calls, "it was called all the same");
    assert_ne!(now, approved.hash);
    assert_eq!(odd.mcp.tool("odd/echo").await.unwrap().hash, now);
    assert_eq!(odd.mcp.call("odd/echo", &now, no_arguments(), &stop).await.unwrap().text, "");
}

#[tokio::test]
async fn a_pinned_tool_that_changed_is_not_offered() {
    let (log, _guard) = Log::listen();
    let known = Odd::new("good").mcp.tool("odd/echo").await.unwrap().hash;
    let odd = Odd::with("good", |settings| {
        settings.pins.insert("echo".to_owned(), known.clone());
    });
    assert!(odd.mcp.tool("odd/echo").await.is_ok());
    odd.call("twist", "").await.unwrap();
    assert!(matches!(odd.mcp.tool("odd/echo").await, Err(McpError::Changed { .. })));
    assert!(odd.mcp.offer().await.tools.iter().all(|tool| tool.name != "odd/echo"));
    // Not even whoever knows its new hash.
    let stop = CancellationToken::new();
    let refused = odd.mcp.call("odd/echo", &known, no_arguments(), &stop).await.unwrap_err();
    let McpError::Changed { now, .. } = &refused else { panic!("{refused}") };
    let again = odd.mcp.call("odd/echo", now, no_arguments(), &stop).await;
    assert_eq!(again, Err(refused));
    let told =
        log.text().matches("the tool `odd/echo` is switched off: it is not the one that was pinned").count();
    assert_eq!(told, 1, "{}", log.text());
}

#[tokio::test]
async fn tools_that_are_not_allowed_or_not_there_are_not_called() {
    let odd = Odd::with("good", |settings| settings.allow = vec!["ec*".to_owned()]);
    let offered: Vec<_> = odd.mcp.offer().await.tools.into_iter().map(|tool| tool.name).collect();
    assert_eq!(offered, ["odd/echo"]);
    assert_eq!(odd.call("env", "").await, Err(McpError::NotAllowed("odd/env".to_owned())));
    assert_eq!(odd.call("echoes", "").await, Err(McpError::NoSuchTool("odd/echoes".to_owned())));
    for name in ["other/echo", "echo", "odd", ""] {
        assert_eq!(rig::call(&odd.mcp, name, json!({})).await, Err(McpError::NoSuchTool(name.to_owned())));
    }
    assert_eq!(odd.noted("tools/call"), 0);
}

#[tokio::test]
async fn arguments_of_a_megabyte_are_refused() {
    let odd = Odd::new("good");
    let refused = odd.call("echo", &"x".repeat(1 << 20)).await;
    assert!(matches!(refused, Err(McpError::BadArguments(_))), "{refused:?}");
    let long = odd.call("echo", &"x".repeat(200_000)).await.unwrap();
    assert!(long.truncated && long.text.len() < 70_000);
}

#[tokio::test]
async fn what_a_server_asks_of_us_is_refused() {
    let answers = Odd::new("good").call("ask", "").await.unwrap().text;
    let expected = "sampling/createMessage: refused\nroots/list: refused\nelicitation/create: refused\n\
                    secrets/list: refused\nping: answered";
    assert_eq!(answers, expected);
}

#[tokio::test]
async fn a_server_sees_its_own_secret_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let servers = ["one", "two"].map(|name| {
        let mut settings = odd("good", &dir.path().join(name));
        settings.name = name.to_owned();
        if let Reach::Process { env, .. } = &mut settings.reach {
            env.push(("SECRET".to_owned(), format!("canary-of-{name}").into()));
        }
        settings
    });
    let mcp = Mcp::new(servers.into());
    for name in ["one", "two"] {
        let env = rig::call(&mcp, &format!("{name}/env"), json!({})).await.unwrap().text;
        let env: Vec<_> = env.lines().collect();
        let [path, secret] = env.as_slice() else { panic!("{env:?}") };
        assert!(path.starts_with("PATH="));
        assert_eq!(*secret, format!("SECRET=canary-of-{name}"));
    }
    mcp.close().await;
}

#[tokio::test]
async fn a_flood_on_standard_error_neither_blocks_nor_fills_the_log() {
    let (log, _guard) = Log::listen();
    let odd = Odd::with("loud", |settings| {
        if let Reach::Process { env, .. } = &mut settings.reach {
            env.push(("SECRET".to_owned(), "canary".to_owned().into()));
        }
    });
    assert_eq!(odd.call("echo", "hello").await.unwrap().text, "hello");
    odd.mcp.close().await;
    let log = log.text();
    assert!(log.contains("the MCP server `odd` writes: loud [secret]"), "nothing was logged");
    assert!(log.contains("the rest is not logged"));
    assert!(!log.contains("canary") && !log.contains('\u{1b}'));
    assert!(log.len() < 2 << 20, "{} bytes were logged", log.len());
}

#[tokio::test]
async fn a_call_takes_no_longer_than_its_limit() {
    let odd = Odd::with("good", |settings| settings.timeout = Duration::from_secs(4));
    odd.call("echo", "warm").await.unwrap();
    let begun = Instant::now();
    assert_eq!(odd.call("wait", "").await, Err(McpError::TimedOut(Duration::from_secs(4))));
    assert!((4..15).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    rig::until("cancelled", || odd.noted("notifications/cancelled") == 1).await;
    // It answers pings, so it was left alone.
    assert_eq!(odd.call("echo", "still here").await.unwrap().text, "still here");
    assert_eq!(odd.noted("start"), 1);
    assert!(LIMIT > Duration::from_secs(4));
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Hears what is logged on this thread while the guard lives.
    fn listen() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter("off,planwright=debug")
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
