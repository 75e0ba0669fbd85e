//! Purpose: servers are started once, restarted after a pause, and leave nothing behind.

use futures_util::future::join_all;
use planwright::tools::mcp::{McpError, Sent};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::rig::{self, Odd, all_gone, call_until, until};

#[tokio::test]
async fn nothing_is_started_before_it_is_needed() {
    let odd = Odd::new("good");
    odd.mcp.close().await;
    assert_eq!(odd.noted("start"), 0);
}

#[tokio::test]
async fn callers_share_one_server() {
    let odd = Odd::new("good");
    let texts: Vec<_> = (0..20).map(|n| format!("call {n}")).collect();
    let answers = join_all(texts.iter().map(|text| odd.call("echo", text))).await;
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().text).collect();
    assert_eq!(answers, texts);
    assert_eq!(odd.noted("start"), 1);
}

#[tokio::test]
async fn a_server_that_failed_is_started_again_after_a_pause() {
    let odd = Odd::new("flaky");
    assert!(odd.why_missing().await.contains("ended with exit status: 3"));
    let why = odd.why_missing().await;
    assert!(why.contains("ended with exit status: 3; it is started again in 1 s at the earliest"), "{why}");
    assert_eq!(odd.noted("start"), 1, "it was started in the pause");
    assert_eq!(patient_echo(&odd).await, "hello");
    assert_eq!(odd.noted("start"), 2);
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_lost_for_all_and_comes_back() {
    let odd = Odd::new("good");
    let pids = odd.processes().await;
    let (waiting, dying) = tokio::join!(odd.call("wait", ""), async {
        until("waiting", || odd.noted("tools/call") == 2).await;
        odd.call("exit", "").await
    });
    for lost in [waiting.unwrap_err(), dying.unwrap_err()] {
        assert!(matches!(&lost, McpError::Lost(_)) && lost.may_have_run(), "{lost}");
        let sentence = "the MCP server `odd` ended with exit status: 7 before it answered";
        assert!(lost.to_string().starts_with(sentence), "{lost}");
    }
    all_gone(pids).await;
    assert_eq!(patient_echo(&odd).await, "hello");
    assert_eq!(odd.noted("start"), 2, "both callers saw one failure");
}

#[tokio::test]
async fn a_stopped_call_is_cancelled_and_the_server_stays() {
    let odd = Odd::new("good");
    let stop = CancellationToken::new();
    let (stopped, ()) = tokio::join!(call_until(&odd.mcp, "odd/wait", json!({}), &stop), async {
        until("called", || odd.noted("tools/call") == 1).await;
        stop.cancel();
    });
    assert_eq!(stopped, Err(McpError::Stopped { sent: Sent::Yes }));
    until("cancelled", || odd.noted("notifications/cancelled") == 1).await;
    assert_eq!(odd.call("echo", "hello").await.unwrap().text, "hello");
    assert_eq!(odd.noted("start"), 1);
    let early = call_until(&odd.mcp, "odd/echo", json!({}), &stop).await.unwrap_err();
    assert_eq!(early, McpError::Stopped { sent: Sent::No });
    assert!(!early.may_have_run());
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled() {
    let odd = Odd::new("good");
    tokio::select! {
        answer = odd.call("wait", "") => panic!("{answer:?}"),
        () = until("called", || odd.noted("tools/call") == 1) => {}
    }
    until("cancelled", || odd.noted("notifications/cancelled") == 1).await;
    assert_eq!(odd.call("echo", "hello").await.unwrap().text, "hello");
}

#[tokio::test]
async fn a_server_that_hangs_is_killed_with_its_children() {
    let odd = Odd::new("good");
    let pids = odd.processes().await;
    let stop = CancellationToken::new();
    let (stopped, ()) = tokio::join!(call_until(&odd.mcp, "odd/stuck", json!({}), &stop), async {
        until("called", || odd.noted("tools/call") == 2).await;
        stop.cancel();
    });
    assert_eq!(stopped, Err(McpError::Stopped { sent: Sent::Yes }));
    all_gone(pids).await;
    let why = odd.why_missing().await;
    assert!(why.contains("did not answer any more; it is started again"), "{why}");
    assert_eq!(patient_echo(&odd).await, "hello");
}

#[tokio::test]
async fn closing_ends_everything_and_for_good() {
    let odd = Odd::new("good");
    let pids = odd.processes().await;
    let (waiting, ()) = tokio::join!(odd.call("wait", ""), async {
        until("waiting", || odd.noted("tools/call") == 2).await;
        odd.mcp.close().await;
    });
    assert!(matches!(waiting, Err(McpError::Lost(_))), "{waiting:?}");
    all_gone(pids).await;
    let why = odd.why_missing().await;
    assert!(why.contains("was told to end"), "{why}");
    odd.mcp.close().await;
    assert_eq!(odd.noted("start"), 1);
}

#[tokio::test]
async fn closing_ends_a_server_that_does_not_listen() {
    let odd = Odd::new("good");
    let pids = odd.processes().await;
    let (stuck, ()) = tokio::join!(odd.call("stuck", ""), async {
        until("called", || odd.noted("tools/call") == 2).await;
        odd.mcp.close().await;
    });
    assert!(matches!(stuck, Err(McpError::Lost(_))), "{stuck:?}");
    all_gone(pids).await;
}

#[tokio::test]
async fn closing_ends_a_server_that_ignores_all_signs() {
    let odd = Odd::new("stubborn");
    let pids = odd.processes().await;
    let begun = std::time::Instant::now();
    odd.mcp.close().await;
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    all_gone(pids).await;
}

#[tokio::test]
async fn a_server_that_does_not_read_is_killed() {
    let limit = std::time::Duration::from_secs(4);
    let odd = Odd::with("deaf", |settings| settings.timeout = limit);
    // Every call here lists twice; the fourth listing is the last thing that it does.
    let pids = odd.processes().await;
    let more_than_a_pipe_holds = "x".repeat(900_000);
    assert_eq!(odd.call("echo", &more_than_a_pipe_holds).await, Err(McpError::TimedOut(limit)));
    all_gone(pids).await;
}

#[tokio::test]
async fn closing_does_not_wait_for_a_start() {
    let odd = Odd::new("silent");
    let (offer, ()) = tokio::join!(odd.mcp.offer(), async {
        until("started", || odd.noted("start") == 1).await;
        odd.mcp.close().await;
    });
    assert!(offer.missing[0].1.contains("was told to end"), "{:?}", offer.missing);
}

#[tokio::test]
async fn dropping_leaves_nothing_behind() {
    let odd = Odd::new("good");
    let pids = odd.processes().await;
    drop(odd);
    all_gone(pids).await;
}

#[tokio::test]
async fn one_bad_server_does_not_keep_others_from_being_offered() {
    let dir = tempfile::tempdir().unwrap();
    let mut servers = vec![rig::odd("good", &dir.path().join("good"))];
    servers.push(rig::process("absent", &["/nonexistent/program"]));
    let mcp = planwright::tools::mcp::Mcp::new(servers);
    let offer = mcp.offer().await;
    assert!(offer.tools.iter().any(|tool| tool.name == "odd/echo"));
    assert_eq!(offer.missing.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["absent"]);
    mcp.close().await;
}

/// Asks again until the pause is over.
async fn patient_echo(odd: &Odd) -> String {
    let asking = async {
        while odd.mcp.tool("odd/echo").await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(rig::LIMIT, asking).await.unwrap();
    odd.call("echo", "hello").await.unwrap().text
}
