//! Purpose: every reason that the journal can keep, and what it is in Japanese. `{}` stands for anything; `{0}` is the
//! first of those. A test reads the places that write reasons (`tests/it/japanese.rs`), so that none is missing here.

/// The more special come first.
pub(super) const SENTENCES: &[(&str, &str)] = &[
    // The language model.
    (
        "The language model refused our key. An operator should check the API key and that it may use this model.",
        "言語モデルに API キーを拒否されました。運用者は API キーと、このモデルの利用権限を確認してください。",
    ),
    (
        "The language model's server does not accept our requests. An operator should check the model's name and address in the settings.",
        "言語モデルのサーバーがリクエストを受け付けません。運用者は設定のモデル名とアドレスを確認してください。",
    ),
    (
        "The language model cannot be reached at the moment; if that lasts, an operator should look at it.",
        "現在、言語モデルに接続できません。続く場合は運用者が確認してください。",
    ),
    (
        "The language model did not answer in time; if that happens again, an operator should raise the time-out.",
        "言語モデルが時間内に応答しませんでした。繰り返す場合は運用者がタイムアウトを延ばしてください。",
    ),
    (
        "The thread is too long for the language model. Shorten the description, or ask an operator for a model that reads more.",
        "スレッドが言語モデルには長すぎます。説明を短くするか、より長く読めるモデルを運用者に依頼してください。",
    ),
    (
        "The language model's answer was cut off. Ask for less at once, or ask an operator to raise the limit of output tokens.",
        "言語モデルの回答が途中で切れました。一度に頼む量を減らすか、出力トークンの上限を上げるよう運用者に依頼してください。",
    ),
    (
        "The language model's server sent far too much and was cut off. An operator should check the model's address.",
        "言語モデルのサーバーの応答が大きすぎるため打ち切りました。運用者はモデルのアドレスを確認してください。",
    ),
    (
        "The language model gave no usable answer, even when asked a second time. Describing the task in other words may help.",
        "言語モデルから、聞き直しても使える回答が得られませんでした。別の言葉で説明するとうまくいくかもしれません。",
    ),
    (
        "I made a mistake while thinking; the log of my server says more.",
        "考えている途中で内部エラーが起きました。詳しくはサーバーのログにあります。",
    ),
    // The forge and the repository. The first two are in the journals of older versions.
    ("I could not read this thread.", "このスレッドを読めませんでした。"),
    ("I could not reach this forge as I need to.", "フォージに必要なアクセスができませんでした。"),
    (
        "The forge has had too many requests from me and wants a pause; nobody has to do anything.",
        "フォージへのリクエストが多すぎたため、間を置くよう求められています。対応は不要です。",
    ),
    (
        "The forge does not accept my credentials. An operator should check the token or the key of the App.",
        "フォージに認証情報を拒否されました。運用者はトークンまたは App の鍵を確認してください。",
    ),
    (
        "The forge does not let me do what I need to do here. An operator should check what my account may do in this repository.",
        "フォージが必要な操作を許可していません。運用者はこのリポジトリでのボットの権限を確認してください。",
    ),
    (
        "The forge does not find what I need here: it was moved or deleted, or my account may not see it. Whoever manages this repository should check that I have access.",
        "フォージで必要なものが見つかりません。移動または削除されたか、ボットに閲覧権限がありません。リポジトリの管理者はボットのアクセス権を確認してください。",
    ),
    (
        "The forge refused what I sent. An operator finds its reason in the log of my server.",
        "フォージに送った内容を拒否されました。理由は運用者がサーバーのログで確認できます。",
    ),
    (
        "The forge cannot be reached at the moment; if that lasts, an operator should look at it.",
        "現在、フォージに接続できません。続く場合は運用者が確認してください。",
    ),
    (
        "The forge sent an answer that I do not understand. An operator should check its address in the settings.",
        "フォージの応答を解釈できません。運用者は設定のアドレスを確認してください。",
    ),
    (
        "The forge did not let me open a change request for the branch; the branch itself is pushed.",
        "ブランチはプッシュしましたが、変更リクエストを開けませんでした。",
    ),
    (
        "This repository is archived: nobody can push to it.",
        "このリポジトリはアーカイブされているため、プッシュできません。",
    ),
    (
        "This repository is empty: push a first commit to its default branch.",
        "このリポジトリは空です。デフォルトブランチに最初のコミットをプッシュしてください。",
    ),
    (
        "This repository's `.planwright.yaml` cannot be understood ({}), so I do nothing.",
        "このリポジトリの `.planwright.yaml` を読み取れないため ({0})、何もしません。",
    ),
    ("The branch `{}` is gone.", "ブランチ `{0}` がなくなっています。"),
    (
        "There are too many branches named `{}`; please delete some.",
        "`{0}` という名前のブランチが多すぎます。いくつか削除してください。",
    ),
    ("The server of the tool `{}` does not answer.", "ツール `{0}` のサーバーが応答しません。"),
    // Git.
    (
        "The repository was not found, or I may not see it. Check that it exists and that my account has access.",
        "リポジトリが見つからないか、閲覧権限がありません。存在することと、私のアカウントの権限を確認してください。",
    ),
    (
        "The git server does not accept my token. Whoever runs me must renew it.",
        "Git サーバーがトークンを受け付けません。運用者が更新してください。",
    ),
    (
        "My token does not allow this on the repository. It needs the right to read and write its contents.",
        "トークンの権限が足りません。リポジトリの内容の読み書き権限が必要です。",
    ),
    (
        "The repository is archived, so I cannot push to it. Unarchive it to go on.",
        "リポジトリがアーカイブされているためプッシュできません。続けるにはアーカイブを解除してください。",
    ),
    (
        "The repository has moved to another address. Whoever runs me must check its name and `git_url`.",
        "リポジトリが移動しています。運用者は名前と `git_url` を確認してください。",
    ),
    (
        "I cannot reach the git server. If that lasts, whoever runs me must check the network and `git_url`.",
        "Git サーバーに接続できません。続く場合、運用者はネットワークと `git_url` を確認してください。",
    ),
    (
        "I cannot reach the git server. I can be asked again later.",
        "Git サーバーに接続できません。後でもう一度お試しください。",
    ),
    (
        "The commit `{}` is no longer in the repository. Ask me to plan again from the present state.",
        "コミット `{0}` はもうリポジトリにありません。現在の状態から計画し直すよう依頼してください。",
    ),
    (
        "A branch or a file has a name that git does not allow. Rename it to go on.",
        "Git で使えない名前のブランチまたはファイルがあります。続けるには名前を変えてください。",
    ),
    (
        "`{}` is the default branch, and I never push to it. Give my branch another name.",
        "`{0}` はデフォルトブランチなのでプッシュしません。作業ブランチを別の名前にしてください。",
    ),
    (
        "`{}` is not one of my branches, and I push only to those.",
        "`{0}` は私のブランチではないため、プッシュしません。",
    ),
    (
        "Somebody else has pushed to my branch, and I never overwrite that. Delete the branch or tell me to start again from it.",
        "私のブランチに他の人のプッシュがあり、上書きはしません。ブランチを削除するか、そこから始めるよう指示してください。",
    ),
    (
        "My branch is protected on the server. Exempt branches below `planwright/` from the rule, or allow my account to push there.",
        "私のブランチがサーバーで保護されています。`planwright/` 以下を保護から外すか、私のアカウントのプッシュを許可してください。",
    ),
    (
        "The server did not take my push. It says: {}",
        "サーバーがプッシュを受け付けませんでした。サーバーの応答: {0}",
    ),
    (
        "The repository is larger than I am allowed to keep. Whoever runs me can raise the limit.",
        "リポジトリが保存できる上限を超えています。運用者は上限を上げられます。",
    ),
    (
        "The files of the repository are more than I am allowed to check out. Whoever runs me can raise the limit.",
        "リポジトリのファイルがチェックアウトできる上限を超えています。運用者は上限を上げられます。",
    ),
    (
        "The change is larger than one commit of mine may be. Split the action, or let `.gitignore` name what was built.",
        "変更が 1 コミットの上限を超えています。アクションを分けるか、生成物を `.gitignore` に書いてください。",
    ),
    ("Git took too long, so I stopped it.", "Git の処理に時間がかかりすぎたため中止しました。"),
    (
        "Git took too long, so I stopped it. I can be asked again later.",
        "Git の処理に時間がかかりすぎたため中止しました。後でもう一度お試しください。",
    ),
    (
        "My disk is full. Whoever runs me must make room.",
        "ディスクがいっぱいです。運用者は空きを作ってください。",
    ),
    (
        "Git is missing or too old where I run. Whoever runs me must install it.",
        "サーバーに Git がないか、古すぎます。運用者はインストールしてください。",
    ),
    (
        "Git failed in a way I do not understand; my log has the details.",
        "Git で想定外のエラーが起きました。詳しくはサーバーのログにあります。",
    ),
    // How a run or an action ends.
    ("Action {} failed: {}", "アクション {0} が失敗しました: {1}"),
    ("No plan came out that can be carried out: {}", "実行できる計画ができませんでした: {0}"),
    ("I would have to change the plan, but {}", "計画の変更が必要ですが、{0}"),
    ("The design could not be summed up for review.", "レビュー用に設計をまとめられませんでした。"),
    ("action {}: {}", "アクション {0}: {1}"),
    ("@{} turned the actions down: {}", "@{0} がアクションを却下しました: {1}"),
    ("the worker came to an end without changing anything", "担当モデルが何も変更せずに終わりました"),
    ("the worker did not come to an end in {} turns", "担当モデルが {0} 回のやり取りで終わりませんでした"),
    (
        "the worker asked again and again for what was not approved",
        "担当モデルが承認されていない操作を繰り返し求めました",
    ),
    (
        "There is no sandbox on my server, so I run no commands.",
        "サーバーにサンドボックスがないため、コマンドは実行しません。",
    ),
    ("The settings do not allow this command.", "このコマンドは設定で許可されていません。"),
    ("it ended with exit code {}", "終了コード {0} で終わりました"),
    ("it was killed by signal {}", "シグナル {0} で強制終了しました"),
    ("it took too long and was ended", "時間がかかりすぎたため終了させました"),
    ("it printed too much and was ended", "出力が多すぎたため終了させました"),
    ("it used up its share of {} and was ended", "割り当て ({0}) を使い切ったため終了させました"),
    ("the tool reported an error: {}", "ツールがエラーを返しました: {0}"),
    (
        "it changed `{}`, which only an action may do that names it; nothing that it changed was kept",
        "`{0}` が変更されましたが、これを変更できるのはそれを明示したアクションだけです。変更はすべて破棄しました",
    ),
    ("I made a mistake with a file: {}", "ファイルの処理で内部エラーが起きました: {0}"),
    ("the action names no path", "アクションにパスがありません"),
    ("an analysis needs a worker", "分析には担当モデルが必要です"),
    // What is wrong with an action.
    ("the settings do not let me touch `{}`", "設定により `{0}` は変更できません"),
    (
        "this command is not among those that the settings allow; use one of them exactly",
        "このコマンドは設定で許可されたものではありません。許可されたものをそのまま使ってください",
    ),
    ("there is no tool `{}` here", "ここではツール `{0}` を使えません"),
    (
        "there is no tool `{}`; use one of those on offer",
        "ツール `{0}` はありません。提供されているものを使ってください",
    ),
    ("there is no tool `{}`", "ツール `{0}` はありません"),
    ("`run` needs a command", "`run` にはコマンドが必要です"),
    ("`{}` needs a path", "`{0}` にはパスが必要です"),
    (
        "`{}` exists already; use `write` to change it",
        "`{0}` はすでに存在します。変更には `write` を使ってください",
    ),
    ("`{}` is a directory; name the files in it", "`{0}` はディレクトリです。中のファイルを指定してください"),
    ("`{}` is a directory, not a file", "`{0}` はディレクトリで、ファイルではありません"),
    ("`{}` is a symbolic link, not a file", "`{0}` はシンボリックリンクで、ファイルではありません"),
    ("`{}` is a device, pipe or socket, not a file", "`{0}` は特殊ファイルで、通常のファイルではありません"),
    ("`{}` is {}, not a file", "`{0}` は {1} で、ファイルではありません"),
    ("`{}` is a directory", "`{0}` はディレクトリです"),
    ("`{}` is a file", "`{0}` はファイルです"),
    ("`{}` is a link or something else that is not touched", "`{0}` はリンクなどのため変更しません"),
    (
        "`{}` is the name of a built file, which nobody could review",
        "`{0}` は生成物の名前で、レビューできません",
    ),
    ("the content of `{}` is longer than {} KiB", "`{0}` の内容が {1} KiB を超えています"),
    ("the content of `{}` is not text", "`{0}` の内容がテキストではありません"),
    ("the path is empty{}", "パスが空です{0}"),
    (
        "the path is longer than {} bytes, or a part of it longer than {}",
        "パスが {0} バイトを超えているか、その一部が長すぎます ({1})",
    ),
    (
        "the path must be relative to the repository's root{}",
        "パスはリポジトリのルートからの相対パスにしてください{0}",
    ),
    ("the path must not leave the repository with `..`{}", "パスは `..` でリポジトリの外に出られません{0}"),
    (
        "the path has characters that are invisible, or not allowed in every file system{}",
        "パスに見えない文字か、使えない文字があります{0}",
    ),
    ("git's own files are out of reach{}", "Git 自身のファイルには触れません{0}"),
    // Files.
    ("`{}` does not exist", "`{0}` は存在しません"),
    ("`{}` exists already", "`{0}` はすでに存在します"),
    (
        "`{}` is not a directory, or a part of the path before it is not",
        "`{0}` またはその上位がディレクトリではありません",
    ),
    ("the directory `{}` is not empty", "ディレクトリ `{0}` は空ではありません"),
    (
        "`{}` is a symbolic link or lies behind one; name the real path instead",
        "`{0}` はシンボリックリンクか、その先にあります。実際のパスを指定してください",
    ),
    ("`{}` leads out of the work tree", "`{0}` は作業ツリーの外を指しています"),
    ("`{}` leads to git's own files, which are out of reach", "`{0}` は Git 自身のファイルで、触れません"),
    ("`{}` would have {} bytes; {} is the limit", "`{0}` は {1} バイトになり、上限の {2} を超えます"),
    ("there is no space left for `{}`", "`{0}` を書く空き容量がありません"),
    ("`{}` may not be touched by the bot: permission denied", "`{0}` に触れる権限がありません"),
    (
        "this system cannot open files safely (it lacks openat2, which Linux has since 5.6)",
        "このシステムではファイルを安全に開けません (Linux 5.6 以降の openat2 がありません)",
    ),
    ("cannot {} `{}`: {}", "`{1}` の処理 ({0}) ができません: {2}"),
    // Tools and commands.
    (
        "the tool `{}` may not be used here; use another one",
        "ツール `{0}` はここでは使えません。別のものを使ってください",
    ),
    (
        "the tool `{}` is no longer the one that was approved; a person must approve it anew",
        "ツール `{0}` は承認されたものから変わっています。改めて承認が必要です",
    ),
    ("the tool `{}` is switched off: {}", "ツール `{0}` は無効です: {1}"),
    (
        "{}; nothing was called, go on without it or try again later",
        "{0}。何も呼び出していません。使わずに続けるか、後でもう一度お試しください",
    ),
    (
        "{} before it answered; whether the call was carried out is not known",
        "応答の前に接続が切れました ({0})。呼び出しが実行されたかはわかりません",
    ),
    (
        "the tool gave no answer within {} s; whether the call was carried out is not known",
        "ツールが {0} 秒以内に応答しませんでした。呼び出しが実行されたかはわかりません",
    ),
    ("the call was stopped", "呼び出しを中止しました"),
    ("the tool does not take these arguments: {}", "ツールがこの引数を受け付けません: {0}"),
    ("the server refused the call: {}", "サーバーが呼び出しを拒否しました: {0}"),
    (
        "there is no cage for commands on this system ({}); commands are refused",
        "コマンド用のサンドボックスがないため ({0})、コマンドは実行しません",
    ),
    ("the command is empty", "コマンドが空です"),
    (
        "the program `{}` does not exist in the cage, or cannot be run",
        "プログラム `{0}` がサンドボックス内にないか、実行できません",
    ),
    ("the cage could not be put up: {}", "サンドボックスを用意できませんでした: {0}"),
    // Approval.
    ("there is no plan to look at", "確認する計画がありません"),
    ("there is no plan yet", "計画がまだありません"),
    ("there is no plan", "計画がありません"),
    ("there is no such action", "そのアクションはありません"),
    ("the action was never looked at", "そのアクションはまだ確認されていません"),
    ("nothing is waiting for approval", "承認待ちのものはありません"),
    (
        "the preview is younger than these words, so they cannot have been about it",
        "コメントよりプレビューの方が新しいため、それについての言葉とはみなせません",
    ),
    (
        "the design summary is younger than these words, so they cannot have been about it",
        "コメントより設計の要約の方が新しいため、それについての言葉とはみなせません",
    ),
    (
        "the plan that waits for approval is `{}`, not the one that you named",
        "承認待ちの計画は `{0}` で、指定されたものではありません",
    ),
    (
        "whoever asked for the run cannot approve its high risks; somebody else has to",
        "依頼者は高リスクのアクションを承認できません。ほかの人の承認が必要です",
    ),
    (
        "“{}” is no number of an action, no range like 1-3 and no step like task_2",
        "「{0}」はアクションの番号でも、1-3 のような範囲でも、task_2 のようなステップでもありません",
    ),
    ("after “except” there must be numbers", "「except」の後には番号が必要です"),
    (
        "there is no action {} in what was put up for approval",
        "承認をお願いした中にアクション {0} はありません",
    ),
    ("nothing is left of what you approved", "承認の対象が残りません"),
    ("@{} did not approve it", "@{0} が承認しませんでした"),
    ("it needs `{}`, of which action {} is left out", "必要な `{0}` のアクション {1} が省かれています"),
    ("it builds on action {}, which is left out", "前提となるアクション {0} が省かれています"),
    ("it needs {}, which is left out", "必要な {0} が省かれました"),
    ("it needs {}, which failed", "必要な {0} が失敗しました"),
    ("the title or the description of this thread", "このスレッドのタイトルまたは説明"),
    ("the settings of this repository", "このリポジトリの設定"),
    ("the time: the approval has run out", "承認の期限切れ"),
    ("the tool behind it", "使用するツール"),
    ("what the settings say about its tool", "ツールについての設定"),
    ("its target", "対象"),
    (
        "Somebody who approved the work may no longer approve, so I do not push it.",
        "作業を承認した人に承認の権限がなくなったため、プッシュしません。",
    ),
    ("the preview: somebody edited or deleted it", "プレビュー (誰かが編集または削除しました)"),
    ("@{} may no longer approve", "@{0} に承認の権限がなくなりました"),
    (
        "Action {} is done, but not approved any more, so I do not push the branch.",
        "アクション {0} は実行済みですが、承認が無効になったため、ブランチをプッシュしません。",
    ),
    ("the preview: @{} edited or deleted it", "プレビュー (@{0} が編集または削除しました)"),
    // Risk.
    ("steers CI, hooks, agents or ownership", "CI、フック、エージェント、所有者に関わる"),
    ("only looks", "見るだけ"),
    ("adds a file", "ファイルを追加"),
    ("adds a directory", "ディレクトリを追加"),
    ("deletes a file", "ファイルを削除"),
    ("runs a program", "プログラムを実行"),
    ("a tool that may destroy", "破壊的な操作もできるツール"),
    ("the settings say that it only looks", "設定では見るだけのツール"),
    ("the settings say that it only looks, but its arguments are open", "設定では見るだけ (引数は未定)"),
    ("a tool that may change things", "変更もできるツール"),
    ("an unknown tool", "未知のツール"),
    ("replaces what an earlier action leaves there", "前のアクションの結果を置き換える"),
    ("replaces much of a file", "ファイルの大部分を置き換える"),
    ("changes a file", "ファイルを変更"),
    // Steps that cannot be skipped.
    ("there is no such step", "そのステップはありません"),
    ("I am at work on it", "作業中です"),
    ("it is done", "完了しています"),
    ("what was approved of it is done", "承認された部分は完了しています"),
    ("it has failed", "失敗しています"),
    ("it is skipped already", "すでに省略されています"),
    // Questions.
    ("whatever fits the repository best", "リポジトリに最も合うもの"),
    ("@{} answered {}: “{}”. {}", "@{0} の {1} への回答:「{2}」。{3}"),
    ("I had assumed ({}): {}", "それまでの仮定 ({0}): {1}"),
    ("The plan was made with another answer: “{}”.", "計画は別の回答「{0}」に基づいていました。"),
    (
        "{} is done and stays: add a new step, with an id of its own, that puts right what is wrong in it",
        "{0} は完了済みでそのまま残します。誤りを直す新しいステップを追加します",
    ),
    (
        "{} is done as far as it was approved and stays so: add a new step, with an id of its own, that puts right what is wrong in it",
        "{0} は承認された範囲で完了済みで、そのまま残します。誤りを直す新しいステップを追加します",
    ),
    ("{} was left out and stays out", "{0} は省略されたままです"),
    ("plan {} anew, and only that", "{0} だけを計画し直します"),
    // Replanning.
    ("the decision could not be read: {}", "判断を読み取れませんでした: {0}"),
    ("no replan was asked for", "再計画は求められていません"),
    ("the plan is good as it is", "計画はこのままで問題ありません"),
    ("the settings switch replanning off", "設定で再計画が無効になっています"),
    ("the decision does not say where to go back to", "判断にはどこまで戻るかが示されていません"),
    ("the model is not sure enough", "モデルの確信が足りません"),
    ("all of that has been asked before", "すべてすでに質問済みです"),
    (
        "the new plan is nearly the same as that of revision {}",
        "新しい計画は改訂 {0} の計画とほとんど同じです",
    ),
    ("another plan came first", "別の計画が先に始まりました"),
    (
        "the goal has been asked about as often as the settings allow",
        "目標についての確認は設定上の回数に達しました",
    ),
    (
        "the goal has been worked out anew as often as the settings allow",
        "目標の再定義は設定上の回数に達しました",
    ),
    (
        "the work has been cut into steps anew as often as the settings allow",
        "タスクの再分解は設定上の回数に達しました",
    ),
    (
        "the actions have been chosen anew as often as the settings allow",
        "アクションの再生成は設定上の回数に達しました",
    ),
    (
        "the action has been tried again as often as the settings allow",
        "アクションの再試行は設定上の回数に達しました",
    ),
    (
        "the rest of the plan has been changed as often as the settings allow",
        "残りの計画の変更は設定上の回数に達しました",
    ),
    ("the plan has been revised as often as the settings allow", "計画の修正は設定上の回数に達しました"),
    ("the run has replanned as often as the settings allow", "再計画の合計は設定上の回数に達しました"),
    (
        "the same trouble has led to a replan as often as the settings allow",
        "同じ問題による再計画は設定上の回数に達しました",
    ),
    ("the new plan is one that was tried before", "新しい計画は以前に試した計画と同じです"),
    (
        "something failed, and how to go on could not be decided",
        "失敗があり、どう進めるかを決められませんでした",
    ),
    ("the new plan could not be made", "新しい計画を作れませんでした"),
    // The crew.
    (
        "what was made of it is lost, so it has to be done again",
        "作業内容が失われたため、もう一度行う必要があります",
    ),
    ("other steps have changed the same: {}", "別のステップが同じ箇所を変更しました: {0}"),
    ("the judge wants another plan: {}", "判定者が別の計画を求めています: {0}"),
    ("the judge gave no reason", "判定者は理由を示していません"),
    ("nothing was done for it", "何も行われていません"),
    ("`{}` was not carried out", "`{0}` は実行されていません"),
    ("`{}` ended with exit code {}", "`{0}` は終了コード {1} で終わりました"),
    (
        "`{}` should have changed files, and no commit shows it",
        "`{0}` はファイルを変更するはずですが、コミットがありません",
    ),
    ("`{}` failed: {}", "`{0}` が失敗しました: {1}"),
    ("`{}` failed", "`{0}` が失敗しました"),
    ("the logic validator: {}", "論理検証役: {0}"),
    ("the external advisor: {}", "外部アドバイザー: {0}"),
    ("two wishes exclude each other: {}", "要望が互いに矛盾しています: {0}"),
    ("the adviser says that a person has to decide", "相談役は、人の判断が必要だとしています"),
    (
        "Question {} could not be put on the thread, so that nobody could answer it. Is the thread locked?",
        "質問 {0} をスレッドに投稿できず、誰も回答できませんでした。スレッドがロックされていませんか。",
    ),
    ("Nobody answered question {} in time.", "質問 {0} に時間内に回答がありませんでした。"),
    (
        "The document is no plan that can be carried out: {}. Write each step as a heading, a number or a checkbox that waits only for steps that are there.",
        "この文書は実行できる計画ではありません: {0}。各ステップを見出し、番号、またはチェックボックスで書き、存在するステップだけを待つようにしてください。",
    ),
    // What should never happen.
    ("An answer came that nobody asked for.", "尋ねていない回答が届きました。"),
    ("the run has ended", "作業は終了しています"),
    ("the run has no {} yet", "作業にはまだ {0} がありません"),
    ("there is no action to work on", "取り組むアクションがありません"),
    ("this question is asked elsewhere", "この質問は別の場所で行われます"),
    ("the plan has no place to work in", "計画に作業場所がありません"),
    ("the base of the plan is no commit", "計画の基点がコミットではありません"),
    ("the plan has no branch", "計画にブランチがありません"),
    ("the forge {} is not configured", "フォージ {0} は設定されていません"),
    ("cannot {}", "できません: {0}"),
];
