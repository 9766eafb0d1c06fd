package people_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
)

// TestKeysOfAccounts adds, uses, lists and revokes a key by the command line, and checks the changes of the key in the
// history.
func TestKeysOfAccounts(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	var added, listed struct {
		ID, Name, Expires string
		Key               string     `json:"api_key"`
		Scopes            []string   `json:"scopes"`
		LastUsed          *time.Time `json:"last_used"`
	}
	decode := func(out string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(out), into); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	decode(e2etest.Operator(t, folder, "account", "key", "add", "--username", e2etest.DemoUser, "--name", "form", "--json",
		"--scopes", "links:create,stats:read", "--expires", "2999-12-31", "--networks", "127.0.0.0/8,::1"), &added)
	if fmt.Sprint(added.Name, added.Expires, added.Scopes, added.Key[:3]) !=
		"form2999-12-31[links:create stats:read]lk_" {
		t.Errorf("added %+v", added)
	}
	form := *d
	form.Key = added.Key
	form.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"made"}]}`)
	d.Call("PATCH", "/urls/made", `{"urls":[{"note":"by another key"}]}`)
	if _, err := e2etest.Call(t.Context(), d.Base, form.Key, "GET", "/urls/made", ""); err == nil ||
		!strings.Contains(err.Error(), "links:read") {
		t.Errorf("a call beyond the scopes: %v", err)
	}
	e2etest.Operator(t, folder, "account", "key", "revoke", "--username", e2etest.DemoUser, added.ID)
	if _, err := e2etest.Call(t.Context(), d.Base, form.Key, "GET", "/account", ""); err == nil {
		t.Error("the revoked key works")
	}
	for _, by := range []string{"form", added.ID} {
		history := e2etest.Operator(t, folder, "audit", "history", "made", "--by", by)
		if !strings.Contains(history, "form, key "+added.ID) || strings.Contains(history, "by another key") {
			t.Errorf("what %s did:\n%s", by, history)
		}
	}
	d.Interrupt() // stores the last uses

	again := e2etest.StartDev(t, folder)
	again.Key = d.Key
	decode(strings.Trim(strings.TrimSpace(
		e2etest.Operator(t, folder, "account", "key", "list", "--username", e2etest.DemoUser, "--json"),
	), "[]"), &listed)
	if listed.LastUsed == nil || time.Since(*listed.LastUsed) > 10*time.Minute {
		t.Errorf("the first key was used %v", listed.LastUsed)
	}
	again.Interrupt()
}

// TestRevokedKey revokes a key while clients use it on two service processes. No call that began
// after the answer is carried out.
func TestRevokedKey(t *testing.T) {
	t.Parallel()
	c := installtest.StartCluster(t)
	for range 3 {
		key := c.Must(0, "POST", "/keys", `{"name":"soon revoked"}`)["keys"].([]any)[0].(map[string]any)
		installtest.EndInUse(t, func(client int) (map[string]any, error) {
			return e2etest.Call(t.Context(), c.Nodes[client%2], key["key"].(string), "POST", "/urls",
				`{"urls":[{"long_url":"https://example.com/"}]}`)
		}, func() { c.Must(1, "DELETE", "/keys/"+key["id"].(string), "") })
	}
}
