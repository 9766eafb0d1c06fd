//go:build containers

package containers

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const image = "linkledger:local"

// secrets draws the secrets of the Compose files where they are missing.
func secrets(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("sh", filepath.Join(root, "docker", "secrets.sh")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// openAccount opens an account by the command of a service, and returns its key.
func (p *project) openAccount(service string) string {
	p.t.Helper()
	var opened struct {
		Key string `json:"api_key"`
	}
	out := p.exec(service, "/linkledger", "account", "create", "--username", username, "--json")
	if err := json.Unmarshal([]byte(out), &opened); err != nil || opened.Key == "" {
		p.t.Fatalf("%v: %s", err, out)
	}
	return opened.Key
}

// clicks returns how many clicks the read models have counted, by the PostgreSQL of a service.
func (p *project) clicks(postgres string) int64 {
	p.t.Helper()
	out := p.exec(postgres, "psql", "--username=postgres", "--dbname=linkledger", "--tuples-only", "--no-align",
		"--command=SELECT coalesce(sum(total_clicks), 0) FROM linkledger.link_stats")
	n, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		p.t.Fatalf("clicks: %q", out)
	}
	return n
}

// TestCompose runs compose.yaml without Grafana. Under load, the event store and the service are
// killed and come back.
func TestCompose(t *testing.T) {
	secrets(t)
	buildImage(t, image, "")
	p := up(t, []string{filepath.Join(root, "docker", "compose.yaml")}, "linkledger", "eventstore", "postgres", "prometheus")
	s := newSite("http://127.0.0.1:8080", p.openAccount("linkledger"))
	l := startLoad(t, s, 2, 4)
	for _, service := range []string{"eventstore", "linkledger"} {
		before := l.made()
		docker(t, "kill", p.container(service))
		p.docker("up", "--detach", "--no-build", "--wait", "--wait-timeout", "120", service, "linkledger")
		eventually(t, "links are made again after the end of "+service, func() bool { return l.made() > before+5 })
		refused, denied, slowest := l.since()
		t.Logf("%s killed: creates refused %v, visitors turned away %v, the slowest %s", service, refused, denied, slowest)
		if service != "linkledger" && len(denied) > 0 { // one node cannot serve while it is away
			t.Errorf("visitors were turned away: %v", denied)
		}
	}
	l.end()
	l.wantAll(t)
	want := l.clicks.Load()
	eventually(t, "all answered clicks are counted", func() bool { return p.clicks("postgres") >= want })
	t.Logf("%d links and %d clicks answered, %d counted", l.made(), want, p.clicks("postgres"))
	if up := p.exec("prometheus", "wget", "-qO-", "http://127.0.0.1:9090/api/v1/query?query=up"); !strings.Contains(up, `"1"`) {
		t.Errorf("Prometheus has no metrics of the service: %s", up)
	}
}
