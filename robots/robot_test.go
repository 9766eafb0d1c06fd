package robots

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agentsOf returns the agents of a file of testdata, one in each line.
func agentsOf(t testing.TB, name string) (agents []string) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if line := lines.Text(); line != "" && line[0] != '#' {
			agents = append(agents, line)
		}
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return agents
}

func TestWhoIsARobot(t *testing.T) {
	t.Parallel()
	table, all := BuiltIn(), 0
	for name, robots := range map[string]bool{"robots.txt": true, "people.txt": false} {
		for _, header := range agentsOf(t, name) {
			all++
			if got := table.IsRobot(header); got != robots {
				t.Errorf("%s of %s is a robot: %t", header, name, got)
			}
		}
	}
	if all < 300 {
		t.Errorf("%d agents, want 300", all)
	}
	for _, header := range []string{
		"", " ", "\t", "(", "((((;;;;", "\xff\xfe", strings.Repeat("android ", 10_000) + "bot",
	} {
		if got, want := table.IsRobot(header), len(header) < MaxLength; got != want {
			t.Errorf("%.20q is a robot: %t", header, got)
		}
	}
}
