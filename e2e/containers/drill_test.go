//go:build containers

package containers

import (
	"bufio"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDrillOfCompose runs the commands of "Drill with Compose" as they stand in the documentation: back up under load,
// lose, restore, prove. Every link and click that was answered before the backup is there, and the key works.
func TestDrillOfCompose(t *testing.T) {
	secrets(t)
	buildImage(t, image, "")
	services := []string{"linkledger", "eventstore", "postgres", "prometheus"}
	p := up(t, []string{filepath.Join(root, "docker", "compose.yaml")}, services...)
	s := newSite("http://127.0.0.1:8080", p.openAccount("linkledger"))
	l := startLoad(t, s, 2, 2)
	eventually(t, "links are made", func() bool { return l.made() > 100 })
	// Grafana is left out: its image cannot be made from Debian's packages. Tests are root without sudo.
	folder := t.TempDir()
	as := strings.NewReplacer(
		"sudo ", "", "/backup", folder+"/backup",
		" up --no-start", " up --no-start "+strings.Join(services, " "),
		" up -d\n", " up -d --wait --wait-timeout 120 "+strings.Join(services, " ")+"\n",
	)
	steps := drill(t, "### Drill with Compose")
	if len(steps) != 3 {
		t.Fatalf("the drill has %d steps, want: back up, restore, prove", len(steps))
	}
	before, clicks := l.answered()
	run(t, as.Replace(steps[0]))
	l.end()
	run(t, as.Replace(steps[1]))
	for hash, target := range before {
		location, status, err := s.visit(t.Context(), hash, "check")
		if err != nil || location != target {
			t.Errorf("%s: %d to %q, %v; want %q", hash, status, location, err, target)
		}
	}
	want := clicks + int64(len(before))
	eventually(t, "all clicks are counted", func() bool { return p.clicks("postgres") >= want })
	if hash, status, err := s.create(t.Context(), "https://example.com/", "after"); hash == "" {
		t.Errorf("a link after the restore: %d, %v", status, err)
	}
	if said := run(t, as.Replace(steps[2])); !strings.Contains(said, "0 different") {
		t.Errorf("the proof says\n%s", said)
	}
	t.Logf("%d links and %d clicks were answered before the backup, and are there", len(before), clicks)
}

// answered returns what was answered so far: where links lead, and clicks.
func (l *load) answered() (links map[string]string, clicks int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.links), l.clicks.Load()
}

// drill returns the commands of a section of the documentation, a text for each block of them.
func drill(t *testing.T, heading string) (steps []string) {
	t.Helper()
	file, err := os.Open(filepath.Join(root, "docs", "backup-and-upgrade.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	inside, block := false, false
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			inside = line == heading
		}
		command, indented := strings.CutPrefix(line, "    ")
		if !inside || !indented {
			block = false
			continue
		}
		if !block {
			steps = append(steps, "")
		}
		block = true
		steps[len(steps)-1] += command + "\n"
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// run runs shell commands in the folder of the project, as a user types them, and returns their output.
func run(t *testing.T, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patient)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.Dir = root
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s%v\n%s", commands, err, out)
	}
	return string(out)
}
