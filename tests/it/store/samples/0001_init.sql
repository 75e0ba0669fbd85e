-- A thread whose holder died (its lease ran out) with one delivery done and one waiting.
INSERT INTO deliveries (key, thread, forge, event, state, reason, body, received_at, arrival, done_at) VALUES
    ('github:done', 'github:acme/web#12', 'github', 'issues', 'done', NULL, NULL, 1699999000000, 1740798976000000, 1699999000100),
    ('github:waits', 'github:acme/web#12', 'github', 'issues', 'pending', NULL, X'15000000f0067b22616374696f6e223a2261737369676e6564227d', 1699999001000, 1740798977024000, NULL),
    ('gitlab:odd', NULL, 'gitlab', 'Note Hook', 'unreadable', 'it has no project', X'15000000f0067b22616374696f6e223a2261737369676e6564227d', 1699999001000, 1740798977024001, NULL);
INSERT INTO threads (thread, wake_at, lease_owner, lease_until, fence) VALUES
    ('github:acme/web#12', NULL, 'dead', 1699999005000, 3),
    ('gitlab:group/sub/proj!7', NULL, NULL, NULL, 1);
INSERT INTO journal (thread, seq, at, run, kind, line) VALUES
    ('github:acme/web#12', 1, 1700000000000, NULL, 'triggered', '{"v":1,"seq":1,"at":"2023-11-14T22:13:20.000Z","run":null,"thread":"github:acme/web#12","type":"triggered","by":"ann","prev":"0000000000000000000000000000000000000000000000000000000000000000","hash":"839c703b740bd479b5848f67fb2645eaa522f93a0b055cdcc25db80f8ee121d7"}');
INSERT INTO timers (thread, key, at) VALUES ('github:acme/web#12', 'answer', 1700000900000);
INSERT INTO comments (thread, key, begun_at, comment_id, body_hash) VALUES
    ('github:acme/web#12', 'card', 1699999000200, 99, 'abc'),
    ('github:acme/web#12', 'begun', 1699999000300, NULL, NULL);
