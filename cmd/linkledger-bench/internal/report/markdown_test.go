package report

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWriteResults checks that a report replaces the text between the markers, also repeatedly, and
// nothing else.
func TestWriteResults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "results.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Report{
		Time: time.Date(2026, 11, 23, 10, 20, 30, 0, time.UTC), Machine: Machine{Processor: "Z80", Cores: 1}, Runs: 3,
		Results: []Result{{
			Name: "redirects", Unit: "redirects", Figures: Figures{Rate: 1234, P50: 1.5, P99: 2.25}, Ratio: 0.5,
			PeakMB:  40,
			Control: Control{Name: "bare 302", Figures: Figures{Rate: 2468, P99: 1}},
			Clicks:  &Clicks{Answered: 7, Recorded: 7},
		}},
	}
	write("before\n" + resultsBegin + "old\n" + resultsEnd + "after\n")
	for range 2 {
		if err := r.WriteResults(file); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + resultsBegin + "\n" + r.Markdown() + "\n" + resultsEnd + "after\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	write("no markers")
	if err := r.WriteResults(file); !errors.Is(err, errNoMarkers) {
		t.Errorf("got %v, want %v", err, errNoMarkers)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	r := Report{
		Time: time.Date(2026, 11, 23, 10, 20, 30, 0, time.UTC),
		Machine: Machine{
			Processor: "Z80", Cores: 1, MemoryGB: 6, Kernel: "6.1", Load: "1 2 3", SyncMS: 0.4,
			Go: "go1.26", PostgreSQL: "15", Program: "v0.1.0",
		},
		Runs: 3, IdleMB: 41,
		Results: []Result{{
			Name: "redirects", Unit: "redirects", Figures: Figures{Rate: 1234, P50: 1.5, P99: 2.25}, Ratio: 0.5,
			PeakMB:  40,
			Control: Control{Name: "bare 302", Figures: Figures{Rate: 2468, P99: 1}},
			Clicks:  &Clicks{Answered: 7, Recorded: 7},
		}},
	}
	want := `- time: 2026-11-23 10:20 UTC
- machine: Z80, 1 cores, 6 GB, Linux 6.1, load 1 2 3, a sync takes 0.40 ms
- versions: linkledger v0.1.0, go1.26, PostgreSQL 15

Each figure is the median of 3 runs. Before its first request the program took 41 MB.

| measured | per second | p50 ms | p99 ms | ratio to control | control | per second | p99 ms | peak MB |
| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |
| redirects | 1234 redirects | 1.5 | 2.25 | 0.5 | bare 302 | 2468 | 1 | 40 |

redirects: 7 redirects answered, 7 clicks recorded.
`
	if got := r.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
