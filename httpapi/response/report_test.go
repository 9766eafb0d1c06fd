package response

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"linkledger/commands"
	"linkledger/commands/clicks"
	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/queries"
	"linkledger/waiting"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		want   apierror.Code
		status int
	}{
		"refused here": {apierror.WrongInput("x"), apierror.CodeWrongInput, 400},
		"refused, joined": {
			errors.Join(apierror.WrongInput("x"), apierror.WrongInput("y")), apierror.CodeWrongInput, 400,
		},
		"another status": {
			&apierror.Error{Code: apierror.CodeURLNotFound, Details: "x", Status: http.StatusGone},
			apierror.CodeURLNotFound, 410,
		},
		"command":      {fmt.Errorf("w: %w", &domain.Error{Kind: domain.TagNotFound}), apierror.CodeTagNotFound, 404},
		"unknown kind": {&domain.Error{Kind: 99}, apierror.CodeUnknown, 500},
		"not found": {
			apierror.Unavailable(fmt.Errorf("link: %w", queries.ErrNotFound)), apierror.CodeURLNotFound, 404,
		},
		"database":      {apierror.Unavailable(errors.New("connection refused")), apierror.CodeUnknown, 503},
		"event store":   {fmt.Errorf("append: %w", commands.ErrUnavailable), apierror.CodeUnknown, 503},
		"no answer":     {apierror.Unavailable(&waiting.LostError{What: "database"}), apierror.CodeUnknown, 503},
		"busy":          {commands.ErrBusy, apierror.CodeCallLimit, 429},
		"client left":   {apierror.ErrClientLeft, apierror.CodeUnknown, 499},
		"late":          {apierror.Late("x"), apierror.CodeUnknown, 503},
		"too many":      {apierror.TooMany("x", time.Second), apierror.CodeCallLimit, 429},
		"clicks closed": {clicks.ErrClosed, apierror.CodeUnknown, 503},
		"deadline":      {fmt.Errorf("record: %w", context.DeadlineExceeded), apierror.CodeUnknown, 503},
		"anything else": {errors.New("corrupt"), apierror.CodeUnknown, 500},
	} {
		c := &request.Context{Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)}
		got := Report(c, slog.New(slog.DiscardHandler), tc.err)
		if got.Code != tc.want || got.Status != tc.status {
			t.Errorf("%s: answered %+v", name, got)
		}
	}
}
