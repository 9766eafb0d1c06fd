package httpapi

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
	"linkledger/queries"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		want   code
		status int
	}{
		"refused here":    {wrongInput("x"), codeWrongInput, 400},
		"refused, joined": {errors.Join(wrongInput("x"), wrongInput("y")), codeWrongInput, 400},
		"another status":  {&apiError{code: codeURLNotFound, details: "x", status: http.StatusGone}, codeURLNotFound, 410},
		"command":         {fmt.Errorf("w: %w", &domain.Error{Kind: domain.TagNotFound}), codeTagNotFound, 404},
		"unknown kind":    {&domain.Error{Kind: 99}, codeUnknown, 500},
		"not found":       {answered(fmt.Errorf("link: %w", queries.ErrNotFound)), codeURLNotFound, 404},
		"database":        {answered(errors.New("connection refused")), codeUnknown, 503},
		"event store":     {fmt.Errorf("append: %w", commands.ErrUnavailable), codeUnknown, 503},
		"busy":            {commands.ErrBusy, codeUnknown, 503},
		"clicks closed":   {commands.ErrClicksClosed, codeUnknown, 503},
		"deadline":        {fmt.Errorf("record: %w", context.DeadlineExceeded), codeUnknown, 503},
		"anything else":   {errors.New("corrupt"), codeUnknown, 500},
	} {
		c := &exchange{request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)}
		got := failureOf(c, slog.New(slog.DiscardHandler), tc.err)
		if got.code != tc.want || got.status != tc.status {
			t.Errorf("%s: answered %+v", name, got)
		}
	}
}
