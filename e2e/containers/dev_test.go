//go:build containers

package containers

import (
	"net"
	"regexp"
	"strings"
	"testing"
)

const devImage = "linkledger:dev"

// TestDev tries everything in one container, as the Dockerfile says: it greets with a key, makes a
// link, and has it again after a restart on the same volume.
func TestDev(t *testing.T) {
	buildImage(t, devImage, "dev")
	name, volume := "linkledger-test-dev", "linkledger-test-dev"
	remove := func() {
		docker(t, "rm", "--force", "--volumes", name)
		docker(t, "volume", "rm", "--force", volume)
	}
	remove()
	t.Cleanup(remove)
	docker(t, "run", "--detach", "--tty", "--name", name, "--publish", "127.0.0.1::8080", "--volume", volume+":/data", devImage)
	key := greeted(t, name)
	site := newSite("http://"+published(t, name), key)
	hash, status, err := site.create(t.Context(), "https://example.com/", "first")
	if hash == "" {
		t.Fatalf("a link: %d, %v", status, err)
	}
	if user := docker(t, "exec", name, "id", "-u"); strings.TrimSpace(user) == "0" {
		t.Error("it runs as root")
	}
	if healthy := docker(t, "exec", name, "/linkledger", "health"); !strings.Contains(healthy, "ok") {
		t.Errorf("health: %s", healthy)
	}
	docker(t, "stop", "--time", "60", name)
	if code := strings.TrimSpace(docker(t, "inspect", "--format", "{{.State.ExitCode}}", name)); code != "0" {
		t.Errorf("it ended with %s", code)
	}
	docker(t, "start", name)
	eventually(t, "the link redirects after a restart", func() bool {
		site.base = "http://" + published(t, name)
		location, _, err := site.visit(t.Context(), hash, "visitor")
		return err == nil && location == "https://example.com/"
	})
}

var keyLine = regexp.MustCompile(`(?m)^  API key  +(lk_\S+)\s*$`)

// greeted waits for the greeting of a container, and returns the key in it.
func greeted(t *testing.T, name string) (key string) {
	t.Helper()
	eventually(t, "the greeting", func() bool {
		found := keyLine.FindStringSubmatch(docker(t, "logs", name))
		if found == nil {
			return false
		}
		key = found[1]
		return true
	})
	return key
}

// published returns the address of this machine at which the public port of a container is.
func published(t *testing.T, name string) string {
	t.Helper()
	address, _, _ := strings.Cut(strings.TrimSpace(docker(t, "port", name, "8080/tcp")), "\n")
	if _, _, err := net.SplitHostPort(address); err != nil {
		t.Fatalf("the container is published at %q: %v", address, err)
	}
	return address
}
