package report

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// The markers enclose the part of a file that WriteResults replaces.
const (
	resultsBegin = "<!-- make bench writes this part -->\n"
	resultsEnd   = "<!-- end of the part that make bench writes -->\n"
)

// errNoMarkers means that a file has no place for the results.
var errNoMarkers = errors.New("the file lacks the markers of the part that make bench writes")

// WriteResults replaces the part of a Markdown file between the markers by the report.
func (r *Report) WriteResults(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	before, rest, begins := strings.Cut(string(text), resultsBegin)
	_, after, ends := strings.Cut(rest, resultsEnd)
	if !begins || !ends {
		return fmt.Errorf("results in %s: %w", file, errNoMarkers)
	}
	//nolint:gosec // for everybody to read
	return os.WriteFile(
		file, []byte(before+resultsBegin+"\n"+r.Markdown()+"\n"+resultsEnd+after), 0o644,
	)
}

// Markdown returns the report as a table with date and machine.
func (r *Report) Markdown() string {
	var page strings.Builder
	fmt.Fprintf(&page, "- time: %s\n- machine: %s\n- versions: %s\n\n"+
		"Each figure is the median of %d runs. "+
		"Before its first request the program took %s MB.\n\n",
		r.Time.UTC().Format("2006-01-02 15:04 UTC"), r.Machine.hardware(), r.Machine.software(),
		r.Runs, count(r.IdleMB))
	page.WriteString("| measured | per second | p50 ms | p99 ms | ratio to control | control | " +
		"per second | p99 ms | peak MB |\n" +
		"| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |\n")
	for _, result := range r.Results {
		fmt.Fprintf(&page, "| %s | %s %s | %s | %s | %s | %s | %s | %s | %s |\n",
			result.Name, count(result.Rate), result.Unit, latency(result.P50), latency(result.P99),
			significant(result.Ratio),
			result.Control.Name, count(result.Control.Rate), latency(result.Control.P99),
			count(result.PeakMB))
	}
	for _, result := range r.Results {
		if result.Clicks != nil {
			fmt.Fprintf(
				&page, "\n%s: %d redirects answered, %d clicks recorded.\n", result.Name,
				result.Clicks.Answered, result.Clicks.Recorded,
			)
		}
	}
	return page.String()
}
