package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"linkledger/commands"
	"linkledger/commands/clicks"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/queries"
)

func TestEveryCodeHasItsAnswer(t *testing.T) {
	t.Parallel()
	for code, answer := range answers {
		if (answer.message == "") != (code == codeOK) {
			t.Errorf("the message of %d is %q", code, answer.message)
		}
		if code != codeOK && (answer.status < 400 || answer.status > 599) {
			t.Errorf("the status of %d is %d", code, answer.status)
		}
	}
	for kind := domain.InvalidURL; kind <= domain.KeyReused; kind++ {
		if _, ok := kinds[kind]; !ok {
			t.Errorf("kind %d of refusals has no code", kind)
		}
	}
	equal(t, "kinds", len(kinds), int(domain.KeyReused))
}

func TestFailures(t *testing.T) {
	t.Parallel()
	s := &server{cfg: Config{Logger: slog.New(slog.DiscardHandler)}}
	for name, tc := range map[string]struct {
		err    error
		want   code
		status int
	}{
		"refused here":    {wrongInput("x"), codeWrongInput, 400},
		"refused, joined": {errors.Join(wrongInput("x"), wrongInput("y")), codeWrongInput, 400},
		"another status":  {gone("x"), codeURLNotFound, 410},
		"command":         {fmt.Errorf("w: %w", &domain.Error{Kind: domain.TagNotFound}), codeTagNotFound, 404},
		"unknown kind":    {&domain.Error{Kind: 99}, codeUnknown, 500},
		"not found":       {answered(fmt.Errorf("link: %w", queries.ErrNotFound)), codeURLNotFound, 404},
		"database":        {answered(errors.New("connection refused")), codeUnknown, 503},
		"event store":     {fmt.Errorf("append: %w", commands.ErrUnavailable), codeUnknown, 503},
		"busy":            {eventstore.ErrBusy, codeUnknown, 503},
		"clicks closed":   {clicks.ErrClosed, codeUnknown, 503},
		"deadline":        {fmt.Errorf("record: %w", context.DeadlineExceeded), codeUnknown, 503},
		"anything else":   {errors.New("corrupt"), codeUnknown, 500},
	} {
		e := &exchange{request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)}
		got := s.failureOf(e, tc.err)
		if got.code != tc.want || got.status != tc.status {
			t.Errorf("%s: answered %+v", name, got)
		}
	}
}

func TestBatchIsAnOutageOnlyAsAWhole(t *testing.T) {
	t.Parallel()
	done, refused, away := commands.URLOutcome{}, commands.URLOutcome{Err: wrongInput("x")}, commands.URLOutcome{Err: commands.ErrUnavailable}
	for name, tc := range map[string]struct {
		items []commands.URLOutcome
		want  bool
	}{
		"all away":         {[]commands.URLOutcome{away, away}, true},
		"refused and away": {[]commands.URLOutcome{refused, away}, true},
		"one done":         {[]commands.URLOutcome{away, done}, false},
		"all refused":      {[]commands.URLOutcome{refused, refused}, false},
		"all done":         {[]commands.URLOutcome{done}, false},
	} {
		equal(t, name, outage(tc.items) != nil, tc.want)
	}
}

func TestDetailsAreClipped(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("é", 10_000), strings.Repeat("\xff", 10_000)} {
		if got := clip(text); len(got) > 2*maxDetails+len("…") {
			t.Errorf("%d bytes are left", len(got))
		}
	}
	equal(t, "short", clip("short é"), "short é")
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:DB8::1]:80": "2001:db8::1", "[fe80::1%eth0]:80": "fe80::1",
		"192.0.2.1": "192.0.2.1", "@": "@", "": "",
	} {
		equal(t, remote, address(remote), want)
	}
}
