//go:build containers

package containers

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestClusterCompose runs compose.cluster.yaml with the program's own event store in place of EventStoreDB. Each node has
// 64 MB. Under load through HAProxy, nodes are killed, paused, cut off from their stores and replaced, volumes are full,
// the standby is promoted, and the former primary comes back. No visitor gets anything but the redirect, and nothing that
// was answered is missing.
func TestClusterCompose(t *testing.T) {
	secrets(t)
	buildImage(t, image, "")
	files := []string{
		filepath.Join(root, "docker", "compose.cluster.yaml"), filepath.Join(root, "e2e", "containers", "cluster.yaml"),
	}
	p := up(t, files, "proxy", "linkledger1", "linkledger2", "eventstore", "postgres", "standby")
	s := newSite("https://127.0.0.1:8443", p.openAccount("linkledger1"))
	eventually(t, "the proxy knows a node", func() bool {
		_, status, err := s.visit(t.Context(), "none", "test")
		return err == nil && status == 404
	})
	l := startLoad(t, s, 2, 4)
	during := func(what string, fault func()) {
		t.Helper()
		before := l.made()
		fault()
		p.docker("up", "--detach", "--no-build", "--no-deps", "linkledger1", "linkledger2")
		for _, node := range []string{"linkledger1", "linkledger2"} {
			eventually(t, node+" is healthy", func() bool {
				state := docker(t, "inspect", "--format", "{{.State.Health.Status}}", p.container(node))
				return strings.TrimSpace(state) == "healthy"
			})
		}
		eventually(t, "links are made after: "+what, func() bool { return l.made() > before+20 })
		refused, denied, slowest := l.since()
		t.Logf("%s: creates refused %v, visitors turned away %v, the slowest %s", what, refused, denied, slowest)
		if len(denied) > 0 {
			t.Errorf("%s: visitors were turned away: %v", what, denied)
		}
	}
	visits := func(more int64) {
		t.Helper()
		want := l.clicks.Load() + more
		eventually(t, "visitors are redirected", func() bool { return l.clicks.Load() >= want })
	}
	during("a node killed", func() { docker(t, "kill", p.container("linkledger1")) })
	during("a node paused", func() {
		docker(t, "pause", p.container("linkledger2"))
		visits(200)
		docker(t, "unpause", p.container("linkledger2"))
	})
	for _, store := range []string{"database", "events"} {
		during("a node without "+store, func() {
			network := "linkledger-cluster_" + store
			docker(t, "network", "disconnect", network, p.container("linkledger1"))
			visits(200)
			docker(t, "network", "connect", network, p.container("linkledger1"))
		})
	}
	for volume, service := range map[string]string{"log": "eventstore", "spool1": "linkledger1"} {
		during("the volume "+volume+" full", func() {
			filler := p.beside(service, "dd", "if=/dev/zero", "of=/var/lib/linkledger/filler", "bs=64k")
			t.Logf("the volume %s: %s", volume, filler)
			visits(400)
			p.beside(service, "rm", "/var/lib/linkledger/filler")
		})
	}
	for _, store := range []string{"postgres", "eventstore"} {
		during("a node killed while "+store+" is paused", func() {
			visits(400) // a node that lacks a store has what it has seen
			docker(t, "pause", p.container(store))
			docker(t, "kill", p.container("linkledger2"))
			visits(200)
			docker(t, "unpause", p.container(store))
		})
	}
	replace := func(node string) {
		p.docker(
			"up", "--detach", "--no-build", "--no-deps", "--force-recreate", "--wait", "--wait-timeout", "120", node,
		)
	}
	during("both nodes replaced", func() {
		replace("linkledger1")
		replace("linkledger2")
	})
	during("the standby promoted", func() {
		docker(t, "kill", p.container("postgres"))
		p.exec("standby", "pg_ctl", "promote")
	})
	during("the former primary back, and a node new", func() {
		p.docker("start", "postgres")
		replace("linkledger1")
	})
	l.end()
	l.wantAll(t)
	want := l.clicks.Load()
	eventually(t, "all answered clicks are counted", func() bool { return p.clicks("standby") >= want })
	t.Logf("%d links and %d clicks answered, %d counted", l.made(), want, p.clicks("standby"))
	if health := p.exec("linkledger1", "/linkledger", "health"); !strings.Contains(health, `"database":"ok"`) {
		t.Errorf("health: %s", health)
	}
}
