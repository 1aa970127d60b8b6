"""Charges 50 cents for a loan that is overdue, once per event, however often the event
comes.

    pip install -r requirements.txt
    DATABASE_URL=postgres://user:secret@127.0.0.1/library PORT=8080 python3 loans.py
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg


def charge(event, loan):
    """Remembers the event and adds the fee in one transaction: both, or neither."""
    # A connection per request keeps this short; take a pool, psycopg_pool. The end of
    # the block commits, an exception rolls back.
    with psycopg.connect(os.environ["DATABASE_URL"]) as db:
        inserted = db.execute("INSERT INTO handled_events (event_id) VALUES (%s) ON CONFLICT DO NOTHING", [event])
        if inserted.rowcount == 0:
            return 204  # a repeat
        charged = db.execute("UPDATE loans SET fee_cents = fee_cents + 50 WHERE loan = %s", [loan])
        if charged.rowcount == 0:
            db.rollback()  # the event is not remembered
            return 422  # no such loan: to the dead letters
    return 204


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # so that connections are reused

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        event = self.headers["Idempotency-Key"]
        try:
            status = charge(event, body.decode(errors="replace")) if event else 400
        except psycopg.Error as error:
            self.log_error("%s", error)
            status = 503  # again, later
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
