//go:build containers

package containers

// How the tests call the engine.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	root    = "../.."          // the repository
	patient = 10 * time.Minute // bounds a call of the engine, which may build
	settled = 2 * time.Minute  // bounds what a container takes to do something
	pause   = 200 * time.Millisecond
)

// docker runs a command of the engine, and returns what it prints.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patient)
	defer cancel()
	command := exec.CommandContext(ctx, "docker", args...)
	command.Env = append(os.Environ(), "DOCKER_BUILDKIT=1", "BUILDKIT_PROGRESS=plain")
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return string(out)
}

// buildImage builds a target of the Dockerfile, or the image itself where target is empty.
func buildImage(t *testing.T, tag, target string) {
	t.Helper()
	args := []string{"build", "--quiet", "--network", "host", "--file", filepath.Join(root, "docker", "Dockerfile"), "--tag", tag}
	if target != "" {
		args = append(args, "--target", target)
	}
	docker(t, append(args, root)...)
}

// eventually waits until done reports true, and fails the test if that takes too long.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	late := time.After(settled)
	for !done() {
		select {
		case <-late:
			t.Fatalf("not within %s: %s", settled, what)
		case <-time.After(pause):
		}
	}
}

// project is a Compose project that runs until the test ends.
type project struct {
	t    *testing.T
	args []string // of each call
}

// up starts a project of Compose files, without some services, and waits until it is healthy.
func up(t *testing.T, files []string, services ...string) *project {
	t.Helper()
	p := &project{t: t, args: []string{"compose"}}
	for _, file := range files {
		p.args = append(p.args, "--file", file)
	}
	p.docker("down", "--volumes", "--timeout", "5")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.docker("logs", "--tail", "100"))
		}
		p.docker("down", "--volumes", "--timeout", "5")
	})
	p.docker(append([]string{"up", "--detach", "--wait", "--wait-timeout", "180"}, services...)...)
	return p
}

// docker runs a command of Compose on the project.
func (p *project) docker(args ...string) string {
	p.t.Helper()
	return docker(p.t, append(p.args[:len(p.args):len(p.args)], args...)...)
}

// exec runs a command in the container of a service.
func (p *project) exec(service string, args ...string) string {
	p.t.Helper()
	return p.docker(append([]string{"exec", "-T", service}, args...)...)
}

// container returns the id of the container of a service.
func (p *project) container(service string) string {
	p.t.Helper()
	return strings.TrimSpace(p.docker("ps", "--all", "--quiet", service))
}

// beside runs a command in a container that has the volumes of a service, and returns what it prints. The command may
// fail.
func (p *project) beside(service string, args ...string) string {
	p.t.Helper()
	return docker(p.t, append([]string{
		"run", "--rm", "--network", "none", "--volumes-from", p.container(service), "debian:13.2-slim", "sh", "-c",
		`"$@" 2>&1 || true`, "sh",
	}, args...)...)
}
