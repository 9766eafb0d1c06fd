package httpapitest

// This file records what the service logs and its queries of the database, and makes queries fail.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Failure makes the queries of a request fail, after the first Left ones have succeeded.
type Failure struct {
	Left   atomic.Int64 // queries that still succeed
	Failed atomic.Bool
}

type failureKey struct{}

// In adds the failure to a request.
func (f *Failure) In(r *http.Request) {
	*r = *r.WithContext(context.WithValue(r.Context(), failureKey{}, f))
}

// failQuery returns the context for a query. If the query is to fail, this context has ended.
func failQuery(ctx context.Context) context.Context {
	f, ok := ctx.Value(failureKey{}).(*Failure)
	if !ok || f.Left.Add(-1) >= 0 {
		return ctx
	}
	f.Failed.Store(true)
	ended, end := context.WithCancel(ctx)
	end()
	return ended
}

// Lines is a log that tests can read.
type Lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Matching returns the lines that contain all of the texts.
func (l *Lines) Matching(texts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

// QueryLog records the queries that the database receives.
type QueryLog struct {
	mu      sync.Mutex
	queries []string
}

// TraceQueryStart implements pgx.QueryTracer.
func (q *QueryLog) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queries) < 10_000 { // more than any test makes
		q.queries = append(q.queries, fmt.Sprint(query.SQL, query.Args))
	}
	return failQuery(ctx)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (q *QueryLog) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Reset returns the queries since the last Reset that contain the text about. It removes the text
// from them, so that queries about different accounts can be compared.
func (q *QueryLog) Reset(about string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var found []string
	for _, query := range q.queries {
		if strings.Contains(query, about) {
			found = append(found, strings.ReplaceAll(query, about, ""))
		}
	}
	q.queries = nil
	return found
}

// Longer returns the lines with more than a number of bytes.
func (l *Lines) Longer(bytes int) []string {
	return slices.DeleteFunc(l.Matching(), func(line string) bool { return len(line) <= bytes })
}
