package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
)

// TestCutStreams hides events of links and hashes in every way that the store's protocol offers. No
// call presents the remaining events as complete, and other links are not affected.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	keyFile := filepath.Join(t.TempDir(), "key")
	must(t, "audit", "key", keyFile)
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	i := install(t, "--signing-key="+strings.TrimSpace(string(key)))
	store := "esdb://" + i.storeAddress + "?tls=false"
	for n, way := range eventstoretest.Cuts() {
		for _, family := range []string{events.StreamURL, events.StreamHash} {
			hash := fmt.Sprintf("%s%d", family, n)
			stream := cutLink(i, hash, family)
			way.Apply(t, store, stream)
			refusesCut(i, way.Name, hash)
		}
	}
	cutLink(i, "whole", "")
	answer, err := call(t.Context(), i.base, i.key, "GET", "/urls/whole/proof", "")
	if err != nil {
		t.Fatal(err)
	}
	served := answer["proof"].(map[string]any)
	proofs := filepath.Join(i.folder, "proofs")
	write(t, proofs, served["file"].(string))
	proven := must(t, "audit", "verify-proof", proofs, "--public-key", served["head"].(map[string]any)["public_key"].(string))
	if !strings.Contains(proven, "url.created.v1") || !strings.Contains(proven, "url.renamed.v1") {
		t.Errorf("the proof of the API:\n%s", proven)
	}
	if answer, err := call(
		t.Context(), i.base, i.key, "POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"other"}]}`,
	); err != nil {
		t.Fatalf("another link: %v, %v", answer, err)
	}
}

// operate runs a command on the installation.
func (i *installation) operate(args ...string) (stdout, stderr string, code int) {
	i.t.Helper()
	return command(i.t, append(args, i.backends()...)...)
}

// cutLink creates a link whose hash is changed and changed back. It returns the name of the link's
// stream, or of its hash's stream.
func cutLink(i *installation, hash, family string) string {
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

// refusesCut checks that all calls on a link with a cut stream fail.
func refusesCut(i *installation, way, hash string) {
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
}

// must runs a command that needs no installation, and fails the test if the command fails.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, log, code := command(t, args...)
	if code != 0 {
		t.Fatalf("%v: %d, %s%s", args, code, out, log)
	}
	return out
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
