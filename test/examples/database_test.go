package examples

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retryd/retryd/test/harness"
)

// database is one that the examples' schema has been laid out in.
type database struct {
	addr, name string
	*pgxpool.Pool
}

// url returns its address with a scheme, as drivers take it.
func (d *database) url(scheme string) string {
	return fmt.Sprintf("%s://%s/%s?user=postgres", scheme, d.addr, d.name)
}

func newDatabase(t *testing.T, server *harness.Postgres, name string) *database {
	t.Helper()
	d := &database{addr: server.Addr(), name: "postgres"}
	d.connect(t)
	d.exec(t, "CREATE DATABASE "+name)
	d.Close()

	d.name = name
	d.connect(t)
	t.Cleanup(d.Close)
	schema, err := os.ReadFile(filepath.Join(folder, "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	d.exec(t, string(schema))
	return d
}

func (d *database) connect(t *testing.T) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), d.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	d.Pool = pool
}

func (d *database) exec(t *testing.T, sql string) {
	t.Helper()
	if _, err := d.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// begin starts a transaction that does not outlive the test.
func (d *database) begin(t *testing.T, options pgx.TxOptions) pgx.Tx {
	t.Helper()
	tx, err := d.BeginTx(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// addLoans makes loans of which nothing is owed: loan-0 and so on.
func (d *database) addLoans(t *testing.T, n int) {
	t.Helper()
	d.exec(t, fmt.Sprintf("INSERT INTO loans SELECT 'loan-' || i FROM generate_series(0, %d) i", n-1))
}

// number returns the one number that a query finds.
func (d *database) number(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	if err := d.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (d *database) fee(t *testing.T, loan string) int {
	t.Helper()
	return d.number(t, "SELECT fee_cents FROM loans WHERE loan = $1", loan)
}

// awaitWaiting returns once n sessions wait for a lock.
func (d *database) awaitWaiting(t *testing.T, n int) {
	t.Helper()
	harness.WaitFor(t, bound, fmt.Sprintf("%d sessions that wait for a lock", n), func() bool {
		return n == d.number(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'", d.name)
	})
}
