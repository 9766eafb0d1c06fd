package e2e

import (
	"strings"
	"testing"

	"linkledger/events/eventstore/eventstoretest"
)

func TestEventStorePrepare(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	eventstoretest.Append(
		t, server.URL(), "$user-linkledger", "$UserCreated", []byte(`{"loginName":"linkledger","disabled":false}`),
	)
	args := []string{"eventstore", "prepare", "--eventstore", server.URL(), "--user", "linkledger"}
	for _, want := range []string{
		"linkledger may read the log of all streams ($all): $admins, linkledger, before $admins\n",
		"linkledger may read the log of all streams ($all) already: $admins, linkledger\n",
	} {
		if out, log, code := command(t, args...); code != 0 || out != want {
			t.Errorf("ended with %d: %s%s, want %s", code, out, log, want)
		}
	}
	want := `"changed":false`
	if out, log, code := command(t, append(args, "--json")...); code != 0 || !strings.Contains(out, want) {
		t.Errorf("ended with %d: %s%s, want %s", code, out, log, want)
	}
	if out, log, code := command(t, append(args[:5:5], "nobody")...); code != exitUsage || out != "" ||
		!strings.Contains(log, "no such user: nobody") {
		t.Errorf("for nobody it ended with %d: %s%s", code, out, log)
	}
	if _, log, code := command(t, args[:4]...); code != exitUsage || !strings.Contains(log, "--user") {
		t.Errorf("without a user it ended with %d: %s", code, log)
	}
}
