//! Purpose: the language of a thread: comments are written in it, headings and commands stay as they are.

use planwright::domain::ForgeKind;
use planwright::forge::local::NewThread;
use serde_json::json;

use super::acting::three_files;
use super::bot::{MARIA, Scene};
use super::talk::{asked, clear, unclear};

/// Nobody set a language: the thread has one. Headings and commands stay as they are.
#[tokio::test]
async fn a_japanese_thread_is_answered_in_japanese() {
    let mut thread = NewThread::titled("ログイン時にトークンを確認する", MARIA);
    thread.body = "`src/login.rs` で確認してください。".to_owned();
    let scene = Scene::on(ForgeKind::Github).await.about(thread);
    let questions = json!([{"type": "scope", "question": "どのログインですか？", "options": ["ウェブ"], "assumption": "両方"}]);
    scene.model.say("goal_understanding", unclear(questions));
    scene.model.say("goal_understanding", clear());
    three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (_, body) = asked(&scene);
    assert!(body.starts_with("## ❓ Clarification Needed (AI Decision)"), "{body}");
    for words in [
        "タスクを分析しました",
        "**Questions**:",
        "どのログインですか？",
        "次の仮定で進めます",
        "`/skip q-1` で",
    ] {
        assert!(body.contains(words), "{words}: {body}");
    }
    assert!(scene.card().contains("**Status**: ❓ 回答待ち"), "{}", scene.card());
    bot.told(MARIA, "1. ウェブだけ").await;
    assert_eq!(scene.entries("answered")[0]["answers"][0]["answer"], "ウェブだけ");
    assert!(asked(&scene).1.contains("回答ありがとうございます"), "{}", asked(&scene).1);
    let first = &scene.model.requests()[0];
    assert!(first.user.contains("Write texts for people in Japanese"), "{}", first.user);
    let preview = scene.previews().remove(0).1;
    assert!(preview.starts_with("## 🔎 Approval 1 of `") && preview.contains("アクション 3 件"), "{preview}");
    bot.told(MARIA, "/resume").await;
    assert!(scene.comments().last().unwrap().contains("一時停止していない"), "{:?}", scene.comments().last());
    bot.told(MARIA, "/approve").await;
    let card = scene.card();
    assert!(card.contains("🚀 完了") && card.contains("*Progress: 3/3 (100%) complete*"), "{card}");
    assert_eq!(scene.entries("triggered")[0]["lang"], "japanese", "it is in the journal");
    bot.ends().await;
}

/// Before there is a run, the thread alone says which language its people write.
#[tokio::test]
async fn a_japanese_thread_without_a_run_is_answered_in_japanese() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let thread = NewThread::titled("ログイン時にトークンを確認する", MARIA);
        let scene = Scene::on(kind).await.about(thread).settings("");
        let bot = scene.start().await;
        bot.told(MARIA, "@planwright status").await;
        bot.assigned(MARIA).await;
        let said = scene.comments();
        assert_eq!(said.len(), 2, "{kind}: {said:?}");
        assert!(said[0].starts_with("このスレッドではまだ作業していません"), "{kind}: {}", said[0]);
        assert!(said[1].contains("計画機能が無効です"), "{kind}: {}", said[1]);
        assert_eq!(scene.facts(), ["language_seen", "noticed", "replied", "noticed", "replied"], "{kind}");
        bot.ends().await;
    }
}

/// What goes wrong is told in Japanese too, although the journal keeps it in English.
#[tokio::test]
async fn a_japanese_thread_is_told_what_went_wrong_in_japanese() {
    let thread = NewThread::titled("ログイン時にトークンを確認する", MARIA);
    let scene = Scene::on(ForgeKind::Github).await.about(thread);
    three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let preview = scene.previews().remove(0).1;
    assert!(preview.contains("· medium: ファイルを追加"), "{preview}");
    bot.told(MARIA, "/approve 9").await;
    assert!(
        scene.comments().last().unwrap().contains("アクション `9` はありません"),
        "{:?}",
        scene.comments()
    );
    bot.told(MARIA, "/skip task_9").await;
    assert!(scene.comments().last().unwrap().contains("そのステップはありません"), "{:?}", scene.comments());
    bot.told(MARIA, "/cancel").await;
    scene.model.say("goal_understanding", json!({"nonsense": true}));
    scene.model.say("goal_understanding", json!({"nonsense": true}));
    bot.told(MARIA, "/plan").await;
    let card = scene.cards().pop().unwrap();
    assert!(
        card.contains("😕 失敗しました。言語モデルから、聞き直しても使える回答が得られませんでした。"),
        "{card}"
    );
    let failed = scene.entries("failed");
    assert!(
        failed[0]["reason"].as_str().unwrap().starts_with("The language model gave no usable"),
        "{failed:?}"
    );
    bot.ends().await;
}

#[tokio::test]
async fn the_settings_can_name_a_language() {
    for (language, japanese) in [("Japanese", true), ("ja", true), ("de", false)] {
        let settings = format!("planning: {{ enabled: true }}\nlanguage: {language}\n");
        let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let said = format!("Write texts for people in {language}");
        assert!(scene.model.requests()[0].user.contains(&said), "{language}");
        assert_eq!(scene.card().contains("承認待ち"), japanese, "{language}: {}", scene.card());
        bot.ends().await;
    }
}
