//! Purpose: commands in comments: `/verb …` or `@botname verb …` as the first words; quotes and code never count.
//!
//! Only the very beginning of a comment can be a command, and it is read from the raw text: a line that begins with
//! `/` or `@` after at most three spaces is a paragraph in Markdown, never a quote, a list, code or HTML, so nothing
//! hidden or quoted can become a command. Invisible characters are not skipped either; what does not look like a
//! command to a person is none.

/// A command as the words say it; whether its author may give it is decided elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Command {
    Help,
    Status,
    Plan,
    SkipQuestion {
        question: String,
    },
    SkipStep {
        step: String,
    },
    Choose {
        decision: String,
        option: String,
        because: String,
    },
    /// What is approved, in the words of the comment; empty for everything that was asked for.
    Approve {
        what: String,
    },
    Reject {
        why: String,
    },
    Pause,
    Resume,
    Cancel,
    Replan {
        why: String,
    },
    Retry,
    /// A positive decimal number, without its plus sign.
    Budget {
        by: String,
    },
    Resolve {
        number: u64,
        text: String,
    },
    /// Addressed to the bot, but no verb it knows (or one that lacks what it needs).
    Unknown {
        word: String,
    },
}

impl Command {
    /// The word that people write for it.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Status => "status",
            Self::Plan => "plan",
            Self::SkipQuestion { .. } | Self::SkipStep { .. } => "skip",
            Self::Choose { .. } => "choose",
            Self::Approve { .. } => "approve",
            Self::Reject { .. } => "reject",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Replan { .. } => "replan",
            Self::Retry => "retry",
            Self::Budget { .. } => "budget",
            Self::Resolve { .. } => "resolve",
            Self::Unknown { .. } => "help",
        }
    }
}

/// What a comment is to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spoken {
    Command(Command),
    /// Nobody addressed the bot; the text may still be context for the run.
    Prose,
}

/// One line of the help text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verb {
    pub name: &'static str,
    /// How it is written, without the leading `/` or `@botname`.
    pub usage: &'static str,
    /// The right it takes; a test keeps this equal to [`super::Right::of`].
    pub needs: &'static str,
    pub does: &'static str,
}

/// Every verb in the order in which the help lists them.
pub const VERBS: &[Verb] = &[
    verb("help", "help", "read", "shows this list"),
    verb("status", "status", "read", "says where the run stands"),
    verb("plan", "plan", "triage", "starts a run"),
    verb("skip", "skip q-2", "triage, or requester", "leaves a question unanswered"),
    verb("skip", "skip task_4", "write", "leaves a step out"),
    verb("choose", "choose d-1 opt-b because …", "triage, or requester", "decides between the options"),
    verb(
        "approve",
        "approve",
        "write",
        "accepts what was last put up for approval; `approve 1-3,5` a part of it",
    ),
    verb("reject", "reject why", "write", "turns it down with the reason"),
    verb("pause", "pause", "write, or requester", "holds before the next action"),
    verb("resume", "resume", "write, or requester", "goes on exactly there"),
    verb("cancel", "cancel", "write, or requester", "ends the run and keeps its branch"),
    verb("replan", "replan why", "write", "asks for a new plan with that reason"),
    verb("retry", "retry", "write", "starts a run with the unfinished steps of the last one"),
    verb("budget", "budget +N", "write", "raises the budget of the run"),
    verb("resolve", "resolve N text", "write, or the person asked", "answers an escalation"),
];

const fn verb(name: &'static str, usage: &'static str, needs: &'static str, does: &'static str) -> Verb {
    Verb { name, usage, needs, does }
}

impl Command {
    /// The line of the help that explains this command; none for what is no command. A new variant does not compile
    /// until it has its line.
    #[must_use]
    pub fn usage(&self) -> Option<&'static str> {
        match self {
            Self::Help => Some("help"),
            Self::Status => Some("status"),
            Self::Plan => Some("plan"),
            Self::SkipQuestion { .. } => Some("skip q-2"),
            Self::SkipStep { .. } => Some("skip task_4"),
            Self::Choose { .. } => Some("choose d-1 opt-b because …"),
            Self::Approve { .. } => Some("approve"),
            Self::Reject { .. } => Some("reject why"),
            Self::Pause => Some("pause"),
            Self::Resume => Some("resume"),
            Self::Cancel => Some("cancel"),
            Self::Replan { .. } => Some("replan why"),
            Self::Retry => Some("retry"),
            Self::Budget { .. } => Some("budget +N"),
            Self::Resolve { .. } => Some("resolve N text"),
            Self::Unknown { .. } => None,
        }
    }
}

/// `bot_login` is the account's login; an app's `name[bot]` is addressed as `@name`.
#[must_use]
pub fn parse_command(body: &str, bot_login: &str) -> Spoken {
    let Some(text) = first_paragraph_on(body) else { return Spoken::Prose };
    if let Some(rest) = text.strip_prefix('/') {
        return by_slash(rest);
    }
    match after_mention(text, bot_login) {
        Some(rest) => by_mention(rest),
        None => Spoken::Prose,
    }
}

/// The text from its first visible character on, unless that one stands in indented code.
fn first_paragraph_on(body: &str) -> Option<&str> {
    let start = body.find(|c| !matches!(c, ' ' | '\t' | '\r' | '\n'))?;
    let indent = body[..start].rsplit(['\r', '\n']).next().unwrap_or_default();
    let is_code = indent.len() > 3 || indent.contains('\t');
    (!is_code).then(|| body[start..].trim_end())
}

/// What follows `@botname`. The name must end there: `@botname-two` and `@botname/team` are somebody else.
fn after_mention<'a>(text: &'a str, bot_login: &str) -> Option<&'a str> {
    let name = bot_login.strip_suffix("[bot]").unwrap_or(bot_login);
    let (mentioned, rest) = text.strip_prefix('@')?.split_at_checked(name.len())?;
    if name.is_empty() || !mentioned.eq_ignore_ascii_case(name) {
        return None;
    }
    let rest = if name == bot_login { rest } else { rest.strip_prefix("[bot]").unwrap_or(rest) };
    let rest = rest.strip_prefix([',', ':', '，', '、', '：']).unwrap_or(rest);
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest)
}

/// Other bots have slash commands too (`/lgtm`, `/retest`): a word that is not nearly one of ours is not for us.
fn by_slash(rest: &str) -> Spoken {
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Spoken::Prose;
    }
    let (word, arguments) = split_word(rest);
    match command(word, arguments) {
        Some(command) => Spoken::Command(command),
        None if is_nearly_a_verb(word) => Spoken::Command(unknown(word)),
        None => Spoken::Prose,
    }
}

/// Whoever writes our name first wants something from us, so an unknown word is answered with the help.
fn by_mention(rest: &str) -> Spoken {
    let (word, arguments) = split_word(rest);
    let verb = word.strip_prefix('/').unwrap_or(word);
    Spoken::Command(command(verb, arguments).unwrap_or_else(|| unknown(word)))
}

/// The verb with what it needs; `Unknown` with its name when that is missing; `None` when it is no verb of ours.
fn command(word: &str, arguments: &str) -> Option<Command> {
    // A question mark is not dropped: `cancel?` asks and must not cancel.
    let verb = word.trim_end_matches(['.', ',', ':', ';', '!']).to_ascii_lowercase();
    let complete = match verb.as_str() {
        "help" => Some(Command::Help),
        "status" => Some(Command::Status),
        "plan" => Some(Command::Plan),
        "skip" => skip(arguments),
        "choose" => choose(arguments),
        "approve" => approve(arguments),
        // A no without a reason is still a no, and a bare `replan` is the yes to a proposed replan.
        "reject" => Some(Command::Reject { why: arguments.trim().to_owned() }),
        "replan" => Some(Command::Replan { why: arguments.trim().to_owned() }),
        "pause" => Some(Command::Pause),
        "resume" => Some(Command::Resume),
        "cancel" => Some(Command::Cancel),
        "retry" => Some(Command::Retry),
        "budget" => budget(arguments),
        "resolve" => resolve(arguments),
        _ => return None,
    };
    Some(complete.unwrap_or(Command::Unknown { word: verb }))
}

fn skip(arguments: &str) -> Option<Command> {
    let id = id(split_word(arguments).0)?;
    let number = id.strip_prefix("q-").or_else(|| id.strip_prefix("Q-")).unwrap_or(id);
    if number.bytes().all(|b| b.is_ascii_digit()) {
        // A bare number is the one that stands before the question; which that is depends on what is asked.
        let named = number.len() != id.len();
        let question = if named { format!("q-{number}") } else { number.to_owned() };
        return Some(Command::SkipQuestion { question });
    }
    Some(Command::SkipStep { step: id.to_owned() })
}

fn choose(arguments: &str) -> Option<Command> {
    let (decision, rest) = split_word(arguments);
    let (option, rest) = split_word(rest);
    let decision = id(decision)?.to_ascii_lowercase();
    let option = id(option)?.to_ascii_lowercase();
    if !decision.starts_with("d-") || !option.starts_with("opt-") {
        return None;
    }
    let (first, after) = split_word(rest);
    let because = if first.eq_ignore_ascii_case("because") { after } else { rest };
    Some(Command::Choose { decision, option, because: because.trim().to_owned() })
}

/// An approval must never cover more than its author sees in it. So all words up to the first blank line belong to
/// it (`except 4` on the next line is not lost), and what is too long to be a list of actions is refused, not cut.
fn approve(arguments: &str) -> Option<Command> {
    const LONGEST: usize = 2_000;
    let mut lines = arguments.split('\n');
    let same_line = lines.next().unwrap_or_default();
    let next_lines =
        lines.take_while(|line| !line.trim().is_empty()).filter(|line| !line.trim().starts_with('>'));
    let mut words = String::new();
    for word in std::iter::once(same_line).chain(next_lines).flat_map(str::split_whitespace) {
        if words.len() + word.len() > LONGEST {
            return None;
        }
        words.push_str(word);
        words.push(' ');
    }
    let shown = without_html_comments(&words);
    Some(Command::Approve { what: shown.split_whitespace().collect::<Vec<_>>().join(" ") })
}

fn budget(arguments: &str) -> Option<Command> {
    let amount = split_word(arguments).0;
    let amount = amount.strip_prefix('+').unwrap_or(amount);
    let (whole, part) = amount.split_once('.').unwrap_or((amount, "0"));
    let is_number =
        |digits: &str| (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let is_positive = amount.bytes().any(|b| matches!(b, b'1'..=b'9'));
    (is_number(whole) && is_number(part) && is_positive).then(|| Command::Budget { by: amount.to_owned() })
}

fn resolve(arguments: &str) -> Option<Command> {
    let (number, text) = split_word(arguments);
    let number = number.strip_prefix('#').unwrap_or(number).trim_end_matches([':', '.', ',']);
    let number = number.bytes().all(|b| b.is_ascii_digit()).then(|| number.parse().ok())??;
    let text = text.trim();
    (!text.is_empty()).then(|| Command::Resolve { number, text: text.to_owned() })
}

/// The next word of the same paragraph (empty when there is none) and all that follows it.
fn split_word(text: &str) -> (&str, &str) {
    let word_and_rest = text.trim_start();
    let space = &text[..text.len() - word_and_rest.len()];
    if space.matches('\n').count() > 1 {
        return ("", text);
    }
    word_and_rest.split_at(word_and_rest.find(char::is_whitespace).unwrap_or(word_and_rest.len()))
}

/// Ids of questions, decisions, options and steps; our texts show them in backticks, so people write them so.
fn id(word: &str) -> Option<&str> {
    let id = word.trim_matches('`');
    let fits = (1..=40).contains(&id.len());
    let is_plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    (fits && is_plain).then_some(id)
}

/// A comment that does not end is shown as it is written, so it is kept.
fn without_html_comments(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, hidden)) = rest.split_once("<!--") {
        let Some((_, after)) = hidden.split_once("-->") else { break };
        shown.push_str(before);
        rest = after;
    }
    shown + rest
}

/// One slip of the finger, or two in a long word.
fn is_nearly_a_verb(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',', ':', ';', '!', '?']);
    if word.len() > 12 || !word.bytes().all(|b| b.is_ascii_alphabetic()) {
        return false;
    }
    let word = word.to_ascii_lowercase();
    VERBS
        .iter()
        .any(|verb| strsim::osa_distance(&word, verb.name) <= if verb.name.len() >= 7 { 2 } else { 1 })
}

/// The word is shown in the help, so it is kept short and free of what cannot be seen.
fn unknown(word: &str) -> Command {
    let word = word.chars().filter(|c| c.is_alphanumeric() || c.is_ascii_punctuation()).take(40).collect();
    Command::Unknown { word }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{Permission, Right};

    fn said(body: &str) -> Spoken {
        parse_command(body, "planwright")
    }

    fn given(command: Command) -> Spoken {
        Spoken::Command(command)
    }

    fn unknown_word(word: &str) -> Spoken {
        given(Command::Unknown { word: word.to_owned() })
    }

    #[test]
    fn verbs_without_arguments() {
        for (body, command) in [
            ("/help", Command::Help),
            ("@planwright help", Command::Help),
            ("/status", Command::Status),
            ("/plan", Command::Plan),
            ("/plan please", Command::Plan),
            ("/pause", Command::Pause),
            ("/resume", Command::Resume),
            ("/cancel", Command::Cancel),
            ("/retry", Command::Retry),
            ("/PAUSE", Command::Pause),
            ("/cancel.", Command::Cancel),
            ("@planwright plan", Command::Plan),
            ("@PlanWright Plan", Command::Plan),
            ("@planwright, plan", Command::Plan),
            ("@planwright: plan", Command::Plan),
            ("@planwright /plan", Command::Plan),
            ("@planwright\nplan", Command::Plan),
            ("@planwright\tplan", Command::Plan),
            ("@planwright、 plan", Command::Plan),
            ("@planwright\u{3000}plan お願いします", Command::Plan),
            ("\n\n/pause", Command::Pause),
            ("\r\n \r\n/pause\r\n", Command::Pause),
            ("   /pause", Command::Pause),
            ("/pause\n\nBack on Monday.", Command::Pause),
        ] {
            assert_eq!(said(body), given(command), "{body:?}");
        }
    }

    #[test]
    fn verbs_with_arguments() {
        let approve = |what: &str| Command::Approve { what: what.to_owned() };
        let reject = |why: &str| Command::Reject { why: why.to_owned() };
        let replan = |why: &str| Command::Replan { why: why.to_owned() };
        let question = |question: &str| Command::SkipQuestion { question: question.to_owned() };
        let step = |step: &str| Command::SkipStep { step: step.to_owned() };
        let budget = |by: &str| Command::Budget { by: by.to_owned() };
        let resolve = |number, text: &str| Command::Resolve { number, text: text.to_owned() };
        let choose = |decision: &str, option: &str, because: &str| Command::Choose {
            decision: decision.to_owned(),
            option: option.to_owned(),
            because: because.to_owned(),
        };
        for (body, command) in [
            ("/approve", approve("")),
            ("/approve 1-3,5", approve("1-3,5")),
            ("/approve   except  4", approve("except 4")),
            ("/approve\r\nexcept 4\r\n\r\nThanks!", approve("except 4")),
            ("/approve\n\nThanks!", approve("")),
            ("/approve\n> Please approve 1 to 9", approve("")),
            ("/approve\n - 1\n - 2", approve("- 1 - 2")),
            ("/approve <!-- except 4 -->", approve("")),
            ("/approve 1 <!-- 2 --> 3", approve("1 3")),
            ("/approve 1 <!-- 2", approve("1 <!-- 2")),
            ("/approve task_2", approve("task_2")),
            ("/approve `3f9a12`", approve("`3f9a12`")),
            ("/approve!", approve("")),
            ("@planwright approve ticked", approve("ticked")),
            ("/reject too wide", reject("too wide")),
            ("/reject", reject("")),
            ("/reject\ntoo wide\n\n```\nsee here\n```", reject("too wide\n\n```\nsee here\n```")),
            ("/reject 範囲が広すぎます", reject("範囲が広すぎます")),
            ("/replan", replan("")),
            ("/replan the API changed\r\nsince then", replan("the API changed\r\nsince then")),
            ("/skip q-2", question("q-2")),
            ("/skip Q-2 nobody knows", question("q-2")),
            ("/skip 2", question("2")),
            ("/skip `q-2`", question("q-2")),
            ("/skip task_4", step("task_4")),
            ("/skip\u{a0}task_4", step("task_4")),
            ("/choose d-1 opt-b because it is simple", choose("d-1", "opt-b", "it is simple")),
            (
                "/choose D-1 `Opt-B` it is simple\nand small",
                choose("d-1", "opt-b", "it is simple\nand small"),
            ),
            ("/choose d-1 opt-b", choose("d-1", "opt-b", "")),
            ("/budget +5", budget("5")),
            ("/budget 2.50 please", budget("2.50")),
            ("/resolve 3 use the old key", resolve(3, "use the old key")),
            ("/resolve #3: use\n\nthe old key", resolve(3, "use\n\nthe old key")),
        ] {
            assert_eq!(said(body), given(command), "{body:?}");
        }
    }

    #[test]
    fn what_is_asked_but_not_understood() {
        for (body, word) in [
            ("@planwright", ""),
            ("@planwright\n\napprove", ""),
            ("@planwright dance", "dance"),
            ("@planwright 承認", "承認"),
            ("@planwright approve?", "approve?"),
            ("@planwright > approve", ">"),
            ("@planwright `approve`", "`approve`"),
            ("@planwright \u{200b}approve", "approve"),
            ("@planwright / approve", "/"),
            ("/aprove", "aprove"),
            ("/aprov", "aprov"),
            ("/cancle", "cancle"),
            ("/hlep!", "hlep!"),
            ("/cancel?", "cancel?"),
            ("/budget", "budget"),
            ("/Budget lots", "budget"),
            ("/budget -5", "budget"),
            ("/budget +0.00", "budget"),
            ("/budget +1e9", "budget"),
            ("/budget +9999999999", "budget"),
            ("/budget\n\n+5", "budget"),
            ("/skip", "skip"),
            ("/skip <!-- q-1 --> q-2", "skip"),
            ("/skip\n> q-2", "skip"),
            ("/choose", "choose"),
            ("/choose d-1", "choose"),
            ("/choose d-1 because", "choose"),
            ("/resolve", "resolve"),
            ("/resolve 3", "resolve"),
            ("/resolve +3 text", "resolve"),
            ("/resolve 99999999999999999999999 text", "resolve"),
        ] {
            assert_eq!(said(body), unknown_word(word), "{body:?}");
        }
    }

    #[test]
    fn prose_stays_prose() {
        for body in [
            "",
            " \n\t\r\n",
            "Looks good, /approve",
            "go ahead",
            "1. yes\n2. no",
            "> /approve",
            "> > /approve",
            "> quoted\n\n/approve",
            "`/approve`",
            "```\n/approve\n```",
            "~~~\n/approve\n~~~",
            "    /approve",
            "\t/approve",
            "\n\n     /approve",
            "- /approve",
            "1. /approve",
            "# /approve",
            "**/approve**",
            "\\/approve",
            "<!-- /approve -->",
            "<!--\n\n/approve\n-->",
            "<!-- hello -->\n/approve",
            "<details>\n\n/approve</details>",
            "\u{feff}/approve",
            "\u{200b}/approve",
            "\u{202e}/approve",
            "\u{a0}/approve",
            "／approve",
            "/",
            "/ approve",
            "/\napprove",
            "//approve",
            "/lgtm",
            "/retest",
            "/close",
            "/hold",
            "/usr/bin/plan is missing",
            "/plan/b is here",
            "/app\u{200b}rove",
            "/承認",
            "@planwright?",
            "@planwrightX plan",
            "@planwright-two plan",
            "@planwright/team plan",
            "@planwright.example plan",
            "@planwright\u{200b} plan",
            "@planwright[bot] plan",
            "@alice @planwright plan",
            "me@planwright plan",
            "@ planwright plan",
            "@",
            "@plan",
            "@プランライト plan",
        ] {
            assert_eq!(said(body), Spoken::Prose, "{body:?}");
        }
    }

    #[test]
    fn an_app_is_addressed_without_its_suffix() {
        for body in ["@planwright plan", "@Planwright[bot] plan", "@planwright[bot], plan"] {
            assert_eq!(parse_command(body, "planwright[bot]"), given(Command::Plan), "{body:?}");
        }
        assert_eq!(parse_command("@planwrightbot plan", "planwright[bot]"), Spoken::Prose);
        assert_eq!(parse_command("@ plan", ""), Spoken::Prose);
    }

    #[test]
    fn long_comments_are_read_in_linear_time() {
        let started = std::time::Instant::now();
        for seed in ["/approve ", "\n", " ", "<!--", "<!-- -->", "> ", "@planwright ", "`", "あ"] {
            let body = seed.repeat(1_000_000 / seed.len());
            let _ = said(&body);
            let _ = said(&format!("/approve {body}"));
            let _ = said(&format!("/reject {body}"));
            let _ = said(&format!("@planwright {body}"));
        }
        // Quadratic work on a megabyte takes minutes; linear work takes well under a second each.
        assert!(started.elapsed().as_secs() < 30);
        assert_eq!(said(&format!("/approve {}", "1,".repeat(5_000))), unknown_word("approve"));
    }

    #[test]
    fn the_help_lists_every_verb_with_the_right_it_takes() {
        let some = || "x".to_owned();
        let all = [
            Command::Help,
            Command::Status,
            Command::Plan,
            Command::SkipQuestion { question: some() },
            Command::SkipStep { step: some() },
            Command::Choose { decision: some(), option: some(), because: some() },
            Command::Approve { what: some() },
            Command::Reject { why: some() },
            Command::Pause,
            Command::Resume,
            Command::Cancel,
            Command::Replan { why: some() },
            Command::Retry,
            Command::Budget { by: some() },
            Command::Resolve { number: 1, text: some() },
        ];
        let listed: Vec<_> = VERBS.iter().map(|verb| Some(verb.usage)).collect();
        assert_eq!(all.iter().map(Command::usage).collect::<Vec<_>>(), listed);
        for (command, verb) in all.iter().zip(VERBS) {
            assert_eq!(command.verb(), verb.name, "{verb:?}");
            assert!(verb.usage.starts_with(verb.name), "{verb:?}");
            assert_eq!(needs(command), verb.needs, "{verb:?}");
        }
    }

    fn needs(command: &Command) -> String {
        let right = Right::of(command);
        assert!(right.level <= Permission::Write, "{command:?}");
        let besides = if matches!(command, Command::Resolve { .. }) {
            ", or the person asked"
        } else if right.requester_suffices {
            ", or requester"
        } else {
            ""
        };
        format!("{}{besides}", right.level.as_str())
    }

    #[test]
    fn usages_are_commands_themselves() {
        for verb in VERBS {
            let body = format!("/{}", verb.usage.replace("+N", "+1").replace(" N ", " 1 "));
            match said(&body) {
                Spoken::Command(command) => assert_eq!(command.usage(), Some(verb.usage)),
                Spoken::Prose => panic!("{body} is no command"),
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(body in "\\PC*|[/@a-z \n>`<!\\-]{0,40}", login in "[a-z]{0,9}(\\[bot\\])?") {
            let _ = parse_command(&body, &login);
            let _ = parse_command(&format!("@{login}{body}"), &login);
            let _ = parse_command(&format!("/approve{body}"), &login);
            let _ = parse_command(&format!("/choose {body}"), &login);
        }

        #[test]
        fn only_a_leading_slash_or_mention_commands(before in "[^/@ \t\r\n].{0,20}", verb in "[a-z]{3,7}") {
            prop_assert_eq!(said(&format!("{before} /{verb}\n/{verb}")), Spoken::Prose);
        }
    }
}
