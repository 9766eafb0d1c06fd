package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

func TestWritesOutliveTheirClient(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	ctx, leave := context.WithCancelCause(t.Context())
	leave(errors.New("the client hung up"))
	left := func(r *http.Request) { *r = *r.WithContext(ctx) }
	c.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`, left)
	c.Read("one")
	// What only reads stops, also if a client says so in a header.
	for _, read := range [][4]string{
		{"GET", "/v3/urls/one", ""}, {"POST", "/v3/urls/one", "", "GET"}, {"POST", "/v3/urls/one", "", " head "},
	} {
		a := c.Call(read[0], read[1], read[2], left, httpapitest.Header("X-HTTP-Method-Override", read[3]))
		httpapitest.Equal(t, strings.Join(read[:], " "), a.Status, apierror.StatusClientLeft)
	}
	// A call that changes something continues.
	c.Must("POST", "/v3/urls/one", `{"urls":[{"note":"x"}]}`, left, httpapitest.Header("X-HTTP-Method-Override", "PATCH"))
	if found := s.Log.Matching("level=ERROR"); len(found) > 0 {
		t.Errorf("the log has an error because of a client that left: %s", found)
	}
}
