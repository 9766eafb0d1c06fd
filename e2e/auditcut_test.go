package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/proof"
)

// TestCutStreams hides events of links and hashes in every way that the store's protocol offers. No
// command and no call presents the remaining events as complete, the audit names each stream, the
// log still proves all events, and other links are not affected.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	i := install(t)
	store := "esdb://" + i.storeAddress + "?tls=false"
	keyFile := filepath.Join(i.folder, "key")
	public := strings.TrimSpace(must(t, "audit", "key", keyFile))
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	signing := "--signing-key=" + strings.TrimSpace(string(key))
	var cut []string
	for n, way := range eventstoretest.Cuts() {
		for _, family := range []string{events.StreamURL, events.StreamHash} {
			hash := fmt.Sprintf("%s%d", family, n)
			stream := i.cutLink(hash, family)
			way.Apply(t, store, stream)
			cut = append(cut, stream)
			i.refusesCut(way.Name, hash)
		}
	}
	i.cutLink("whole", "")
	if answer, err := call(
		t.Context(), i.base, i.key, "POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"other"}]}`,
	); err != nil {
		t.Fatalf("another link: %v, %v", answer, err)
	}

	out, log, code := i.operate("audit", "verify", "--json")
	var found logFindings
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != exitFailed || found.Alteration != nil {
		t.Fatalf("verify: %d, %v, %s%s", code, err, out, log)
	}
	for _, stream := range cut {
		if !slices.ContainsFunc(found.Cuts, func(c cutStream) bool {
			return c.Stream == stream &&
				c.Readable != c.Log
		}) {
			t.Errorf("verify does not name %s: %s", stream, out)
		}
	}
	if len(found.Cuts) != len(cut) || !strings.Contains(log, "hides or damages history") {
		t.Errorf("verify: %s%s", out, log)
	}
	if out, log, code := i.operate("projections", "verify", "--all"); code != 0 {
		t.Errorf("projections verify: %d, %s%s", code, out, log)
	}
	for n, way := range eventstoretest.Cuts() {
		for _, family := range []string{events.StreamURL, events.StreamHash} {
			want := 6
			if way.Name == "soft delete" && family == events.StreamHash {
				want++ // the claim that was stored, but refused because of its revision
			}
			out, log, code := i.operate(
				"audit", "prove", fmt.Sprintf("%s%d", family, n), "--public-key", public, signing,
			)
			proven, err := proof.Check(strings.NewReader(out), public)
			if code != exitFailed || err != nil || len(proven.Events) != want || !strings.Contains(log, "was cut") {
				t.Errorf("prove %s%d: %d, %d events, %v, %s", family, n, code, len(proven.Events), err, log)
			}
		}
	}
	if out, log, code := i.operate("audit", "prove", "whole", "--public-key", public, signing); code != 0 {
		t.Errorf("prove with an intact stream: %d, %s%s", code, out, log)
	}
}

// operate runs a command on the installation.
func (i *installation) operate(args ...string) (stdout, stderr string, code int) {
	i.t.Helper()
	return command(i.t, append(args, i.backends()...)...)
}

// cutLink creates a link whose hash is changed and changed back. It returns the name of the link's
// stream, or of its hash's stream.
func (i *installation) cutLink(hash, family string) string {
	i.t.Helper()
	body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/","custom_hash":%q}]}`, hash)
	if _, err := call(i.t.Context(), i.base, i.key, "POST", "/urls", body); err != nil {
		i.t.Fatal(err)
	}
	for _, rename := range [][2]string{{hash, hash + "x"}, {hash + "x", hash}} {
		edit := fmt.Sprintf(`{"urls":[{"custom_hash":%q}]}`, rename[1])
		if _, err := call(i.t.Context(), i.base, i.key, "PATCH", "/urls/"+rename[0], edit); err != nil {
			i.t.Fatal(err)
		}
	}
	if family == events.StreamHash {
		return family + hash
	}
	out, log, _ := i.operate("audit", "history", hash, "--format", "json")
	var history struct{ Links []struct{ ID string } }
	if err := json.Unmarshal([]byte(out), &history); err != nil || len(history.Links) != 1 {
		i.t.Fatalf("history of %s: %v, %s%s", hash, err, out, log)
	}
	return events.LinkStream(history.Links[0].ID)
}

// refusesCut checks that all calls and commands on a link with a cut stream fail.
func (i *installation) refusesCut(way, hash string) {
	i.t.Helper()
	for _, c := range [][3]string{
		{"PATCH", "/urls/" + hash, `{"urls":[{"note":"n"}]}`},
		{"DELETE", "/urls/" + hash, ""},
		{"POST", "/urls", fmt.Sprintf(`{"urls":[{"long_url":"https://example.org/","custom_hash":%q}]}`, hash)},
		{"GET", "/urls/" + hash + "/history", ""},
	} {
		request, err := apiRequest(i.t.Context(), i.base, demoUser, i.key, c[0], c[1], c[2])
		if err != nil {
			i.t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			i.t.Fatal(err)
		}
		var answer struct {
			Error struct{ Code int }
		}
		err = json.NewDecoder(response.Body).Decode(&answer)
		if closed := response.Body.Close(); err != nil || closed != nil {
			i.t.Fatal(err, closed)
		}
		// The service still knows that the hash is taken.
		if taken := c[0] == "POST" && strings.HasPrefix(hash, events.StreamURL); taken {
			if answer.Error.Code == 0 && response.StatusCode == http.StatusOK {
				i.t.Errorf("%s: %s %s took the hash", way, c[0], c[1])
			}
		} else if response.StatusCode != http.StatusInternalServerError || answer.Error.Code != 101 {
			i.t.Errorf("%s of %s: %s %s: %d, %d", way, hash, c[0], c[1], response.StatusCode, answer.Error.Code)
		}
	}
	for _, args := range [][]string{
		{"history", hash}, {"at", hash, "--time", "9999-01-01"}, {"restore", hash, "--revision", "0"},
	} {
		out, log, code := i.operate(append([]string{"audit"}, args...)...)
		if code != exitFailed || out != "" || !strings.Contains(log, "was cut in the event store") {
			i.t.Errorf("%s: audit %v: %d, %s%s", way, args, code, out, log)
		}
	}
}
