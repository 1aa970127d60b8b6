-- One row for each event that has had its effect.
CREATE TABLE handled_events (
    event_id   text PRIMARY KEY,
    handled_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX handled_events_by_age ON handled_events (handled_at); -- for forgetting old ones

-- The business: what is owed for each loan that is overdue.
CREATE TABLE loans (
    loan      text PRIMARY KEY,
    fee_cents integer NOT NULL DEFAULT 0
);
