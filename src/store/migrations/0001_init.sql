-- Only BIGINT, TEXT and BLOB: the run-time driver that serves both databases knows little more.
-- Times are milliseconds since 1970.

-- The inbox. A row stays after it is done, without its body, so that a redelivery is known.
CREATE TABLE deliveries (
    key         TEXT   NOT NULL PRIMARY KEY,
    thread      TEXT,
    forge       TEXT   NOT NULL,
    event       TEXT   NOT NULL,
    state       TEXT   NOT NULL,  -- pending, done, unreadable
    reason      TEXT,             -- why it is unreadable
    body        BLOB,             -- lz4 with its size in front
    received_at BIGINT NOT NULL,
    arrival     BIGINT NOT NULL,  -- keeps the order within one millisecond
    done_at     BIGINT
);
CREATE INDEX deliveries_pending ON deliveries (thread, arrival) WHERE state = 'pending';
CREATE INDEX deliveries_done ON deliveries (done_at) WHERE state = 'done';

-- A thread is due when its lease ran out, or when it has no lease and its time has come.
CREATE TABLE threads (
    thread      TEXT   NOT NULL PRIMARY KEY,
    wake_at     BIGINT,
    lease_owner TEXT,
    lease_until BIGINT,
    fence       BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX threads_wake ON threads (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX threads_lease ON threads (lease_until) WHERE lease_until IS NOT NULL;

-- A delivery makes its thread due. It does so here, so that the inbox is written with one statement and needs no
-- transaction around it: each statement is a trip to another thread and back. (On PostgreSQL it will be a function with
-- the same body.) A leased thread is left alone: its holder looks for pending deliveries before it lets go. A thread that
-- is due already is not written again.
CREATE TRIGGER deliveries_wake AFTER INSERT ON deliveries WHEN new.state = 'pending' AND new.thread IS NOT NULL
BEGIN
    INSERT INTO threads (thread, wake_at) VALUES (new.thread, new.received_at)
    ON CONFLICT (thread) DO UPDATE SET wake_at = excluded.wake_at
    WHERE threads.lease_until IS NULL AND (threads.wake_at IS NULL OR threads.wake_at > excluded.wake_at);
END;

-- `line` is the whole line of the history file, with its place in the hash chain.
CREATE TABLE journal (
    thread TEXT   NOT NULL,
    seq    BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    run    TEXT,
    kind   TEXT   NOT NULL,
    line   TEXT   NOT NULL,
    PRIMARY KEY (thread, seq)
);

CREATE TABLE timers (
    thread TEXT   NOT NULL,
    key    TEXT   NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (thread, key)
);

-- Which comment on the forge belongs to which effect. A row without an id: the POST may or may not have happened.
CREATE TABLE comments (
    thread     TEXT   NOT NULL,
    key        TEXT   NOT NULL,
    begun_at   BIGINT NOT NULL,
    comment_id BIGINT,
    body_hash  TEXT,
    PRIMARY KEY (thread, key)
);
