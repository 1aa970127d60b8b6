// Command go charges 50 cents for a loan that is overdue, once per event, however
// often the event comes.
//
//	DATABASE_URL=postgres://user:secret@127.0.0.1/library PORT=8080 go run .
package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

var errUnknownLoan = errors.New("no such loan")

func main() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /loans/overdue", func(w http.ResponseWriter, r *http.Request) {
		loan, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		event := r.Header.Get("Idempotency-Key")
		if err != nil || event == "" {
			http.Error(w, "no body or no Idempotency-Key", http.StatusBadRequest)
			return
		}
		switch err := charge(r.Context(), db, event, string(loan)); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent) // charged, now or before
		case errors.Is(err, errUnknownLoan):
			http.Error(w, err.Error(), http.StatusUnprocessableEntity) // to the dead letters
		default:
			log.Print(err)
			http.Error(w, "the database failed", http.StatusServiceUnavailable) // again, later
		}
	})
	server := http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// charge remembers the event and adds the fee in one transaction: both, or neither.
func charge(ctx context.Context, db *sql.DB, event, loan string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit

	inserted, err := tx.ExecContext(ctx, `INSERT INTO handled_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, event)
	if err != nil {
		return err
	}
	if rows, err := inserted.RowsAffected(); err != nil || rows == 0 {
		return err // nil: a repeat
	}
	charged, err := tx.ExecContext(ctx, `UPDATE loans SET fee_cents = fee_cents + 50 WHERE loan = $1`, loan)
	if err != nil {
		return err
	}
	if rows, err := charged.RowsAffected(); err != nil || rows == 0 {
		return errors.Join(err, errUnknownLoan) // the event is not remembered
	}
	return tx.Commit()
}
