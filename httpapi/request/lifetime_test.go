package request

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// slowBody is a body whose client takes a while to send it.
type slowBody struct {
	takes time.Duration
	err   error
}

// Read implements io.Reader.
func (s slowBody) Read([]byte) (int, error) {
	<-time.After(s.takes)
	return 0, s.err
}

// added is the key of a value that is added to a context during the request.
type added struct{}

// TestSlowBodyTakesNoTimeFromTheService checks that the time of a request begins anew once its body was read, and that
// the context keeps its values.
func TestSlowBodyTakesNoTimeFromTheService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{io.EOF, io.ErrUnexpectedEOF} {
			body := slowBody{25 * time.Second, err}
			c := New(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body))
			end := c.Begin(10 * time.Second)
			c.Request = c.Request.WithContext(context.WithValue(c.Context(), added{}, true))
			if _, got := io.ReadAll(c.Request.Body); !errors.Is(err, io.EOF) && !errors.Is(got, err) {
				t.Errorf("the body ends with %v; want %v", got, err)
			}
			deadline, _ := c.Context().Deadline()
			if left := time.Until(deadline); left != 10*time.Second || c.Context().Err() != nil {
				t.Errorf("after a slow body %s are left, %v", left, c.Context().Err())
			}
			ctx := c.Context()
			if ctx.Value(added{}) == nil {
				t.Error("a value of the context is lost")
			}
			end()
			if ctx.Err() == nil {
				t.Error("the context goes on after the request")
			}
		}
	})
}

// TestEndWithClient checks that only requests that only read end when their client leaves.
func TestEndWithClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testEndWithClient)
}

func testEndWithClient(t *testing.T) {
	t.Helper()
	for _, tc := range []struct {
		method, override string
		reads            bool // the handler says so
		ends             bool
	}{
		{"GET", "", false, true},
		{"HEAD", "", false, true},
		{"GET", "DELETE", false, true},
		{"POST", "", false, false},
		{"PUT", "", false, false},
		{"DELETE", "GET", false, false},
		{"POST", "GET", false, true},
		{"POST", "HEAD", false, true},
		{"POST", "PATCH", false, false},
		{"POST", "", true, true},
		{"POST", "GET", true, true},
	} {
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, tc.method, "/", http.NoBody)
		r.Header.Set(HeaderMethod, tc.override)
		c := New(httptest.NewRecorder(), r)
		c.OverrideMethod()
		end := c.Begin(time.Minute)
		if tc.reads {
			c.EndWithClient()
		}
		leave()
		<-c.Disconnected
		synctest.Wait()
		if ended := c.Context().Err() != nil; ended != tc.ends {
			t.Errorf("%s with the override %q: ended is %v; want %v", tc.method, tc.override, ended, tc.ends)
		}
		end()
	}
}

// TestExtendedTimeStays checks that the end of a body does not shorten an operation that takes long.
func TestExtendedTimeStays(t *testing.T) {
	t.Parallel()
	body := slowBody{0, io.EOF}
	c := New(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body))
	defer c.Begin(time.Second)()
	defer c.Extend(time.Hour)()
	_, _ = io.ReadAll(c.Request.Body)
	if deadline, _ := c.Context().Deadline(); time.Until(deadline) < time.Minute {
		t.Errorf("%s are left", time.Until(deadline))
	}
}
