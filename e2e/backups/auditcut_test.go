package backups_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
)

// TestCutStreams hides events of links and hashes in every way that the store's protocol offers. No
// call presents the remaining events as complete, and other links are not affected.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	keyFile := filepath.Join(t.TempDir(), "key")
	e2etest.Must(t, "audit", "key", keyFile)
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	i := installtest.Install(t, "--signing-key="+strings.TrimSpace(string(key)))
	store := "esdb://" + i.StoreAddress + "?tls=false"
	for n, way := range eventstoretest.Cuts() {
		for _, family := range []string{events.StreamURL, events.StreamHash} {
			hash := fmt.Sprintf("%s%d", family, n)
			stream := cutLink(i, hash, family)
			way.Apply(t, store, stream)
			refusesCut(i, way.Name, hash)
		}
	}
	cutLink(i, "whole", "")
	answer, err := e2etest.Call(t.Context(), i.Base, i.Key, "GET", "/urls/whole/proof", "")
	if err != nil {
		t.Fatal(err)
	}
	served := answer["proof"].(map[string]any)
	proofs := filepath.Join(i.Folder, "proofs")
	write(t, proofs, served["file"].(string))
	proven := e2etest.Must(t, "audit", "verify-proof", proofs, "--public-key", served["head"].(map[string]any)["public_key"].(string))
	if !strings.Contains(proven, "url.created.v1") || !strings.Contains(proven, "url.renamed.v1") {
		t.Errorf("the proof of the API:\n%s", proven)
	}
	if answer, err := e2etest.Call(
		t.Context(), i.Base, i.Key, "POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"other"}]}`,
	); err != nil {
		t.Fatalf("another link: %v, %v", answer, err)
	}
}

// cutLink creates a link whose hash is changed and changed back. It returns the name of the link's
// stream, or of its hash's stream.
func cutLink(i *installtest.Installation, hash, family string) string {
	i.T.Helper()
	body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/","custom_hash":%q}]}`, hash)
	if _, err := e2etest.Call(i.T.Context(), i.Base, i.Key, "POST", "/urls", body); err != nil {
		i.T.Fatal(err)
	}
	for _, rename := range [][2]string{{hash, hash + "x"}, {hash + "x", hash}} {
		edit := fmt.Sprintf(`{"urls":[{"custom_hash":%q}]}`, rename[1])
		if _, err := e2etest.Call(i.T.Context(), i.Base, i.Key, "PATCH", "/urls/"+rename[0], edit); err != nil {
			i.T.Fatal(err)
		}
	}
	if family == events.StreamHash {
		return family + hash
	}
	out, log, _ := i.Operate("audit", "history", hash, "--format", "json")
	var history struct{ Links []struct{ ID string } }
	if err := json.Unmarshal([]byte(out), &history); err != nil || len(history.Links) != 1 {
		i.T.Fatalf("history of %s: %v, %s%s", hash, err, out, log)
	}
	return events.LinkStream(history.Links[0].ID)
}

// refusesCut checks that all calls on a link with a cut stream fail.
func refusesCut(i *installtest.Installation, way, hash string) {
	i.T.Helper()
	for _, c := range [][3]string{
		{"PATCH", "/urls/" + hash, `{"urls":[{"note":"n"}]}`},
		{"DELETE", "/urls/" + hash, ""},
		{"POST", "/urls", fmt.Sprintf(`{"urls":[{"long_url":"https://example.org/","custom_hash":%q}]}`, hash)},
		{"GET", "/urls/" + hash + "/history", ""},
	} {
		request, err := e2etest.APIRequest(i.T.Context(), i.Base, e2etest.DemoUser, i.Key, c[0], c[1], c[2])
		if err != nil {
			i.T.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			i.T.Fatal(err)
		}
		var answer struct {
			Error struct{ Code int }
		}
		err = json.NewDecoder(response.Body).Decode(&answer)
		if closed := response.Body.Close(); err != nil || closed != nil {
			i.T.Fatal(err, closed)
		}
		// The service still knows that the hash is taken.
		if taken := c[0] == "POST" && strings.HasPrefix(hash, events.StreamURL); taken {
			if answer.Error.Code == 0 && response.StatusCode == http.StatusOK {
				i.T.Errorf("%s: %s %s took the hash", way, c[0], c[1])
			}
		} else if response.StatusCode != http.StatusInternalServerError || answer.Error.Code != 101 {
			i.T.Errorf("%s of %s: %s %s: %d, %d", way, hash, c[0], c[1], response.StatusCode, answer.Error.Code)
		}
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
