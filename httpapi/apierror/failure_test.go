package apierror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/httpapi/request"
	"linkledger/queries"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		want   Code
		status int
	}{
		"refused here":    {WrongInput("x"), CodeWrongInput, 400},
		"refused, joined": {errors.Join(WrongInput("x"), WrongInput("y")), CodeWrongInput, 400},
		"another status":  {&Error{Code: CodeURLNotFound, Details: "x", Status: http.StatusGone}, CodeURLNotFound, 410},
		"command":         {fmt.Errorf("w: %w", &domain.Error{Kind: domain.TagNotFound}), CodeTagNotFound, 404},
		"unknown kind":    {&domain.Error{Kind: 99}, CodeUnknown, 500},
		"not found":       {Unavailable(fmt.Errorf("link: %w", queries.ErrNotFound)), CodeURLNotFound, 404},
		"database":        {Unavailable(errors.New("connection refused")), CodeUnknown, 503},
		"event store":     {fmt.Errorf("append: %w", commands.ErrUnavailable), CodeUnknown, 503},
		"busy":            {commands.ErrBusy, CodeUnknown, 503},
		"clicks closed":   {commands.ErrClicksClosed, CodeUnknown, 503},
		"deadline":        {fmt.Errorf("record: %w", context.DeadlineExceeded), CodeUnknown, 503},
		"anything else":   {errors.New("corrupt"), CodeUnknown, 500},
	} {
		c := &request.Context{Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)}
		got := Report(c, slog.New(slog.DiscardHandler), tc.err)
		if got.Code != tc.want || got.Status != tc.status {
			t.Errorf("%s: answered %+v", name, got)
		}
	}
}
