package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// report is what is written as JSON.
type report struct {
	Time    time.Time `json:"time"`
	Machine machine   `json:"machine"`
	Runs    int       `json:"runs"`
	IdleMB  float64   `json:"idle_mb"` // resident memory of the program before it served anything
	Results []result  `json:"results"`
}

// figures of one side. Rates are per second, percentiles in milliseconds, and zero where no single calls are made.
type figures struct {
	Rate float64 `json:"rate"`
	P50  float64 `json:"p50_ms,omitempty"`
	P99  float64 `json:"p99_ms,omitempty"`
}

// result is one measurement: the medians of its runs.
type result struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	figures
	Ratio   float64 `json:"ratio"` // of the rates of program and control
	Control control `json:"control"`
	PeakMB  float64 `json:"peak_mb"` // the most resident memory that the measured process had during the runs
	Clicks  *clicks `json:"clicks,omitempty"`
	Runs    []pair  `json:"runs"`
}

type control struct {
	Name string `json:"name"`
	figures
}

// pair is one run.
type pair struct {
	Ours    figures `json:"ours"`
	Control figures `json:"control"`
}

// clicks compares the redirects that were answered, warm-up included, with the clicks that the API tells afterwards.
type clicks struct {
	Answered int64 `json:"answered"`
	Recorded int64 `json:"recorded"`
}

// add takes in a run.
func (r *result) add(ours, bare figures) {
	r.Runs = append(r.Runs, pair{Ours: ours, Control: bare})
	r.figures = median(r.Runs, func(p pair) figures { return p.Ours })
	r.Control.figures = median(r.Runs, func(p pair) figures { return p.Control })
	r.Ratio = middle(r.Runs, func(p pair) float64 { return p.Ours.Rate / p.Control.Rate })
}

func median(runs []pair, side func(pair) figures) figures {
	return figures{
		Rate: middle(runs, func(p pair) float64 { return side(p).Rate }),
		P50:  middle(runs, func(p pair) float64 { return side(p).P50 }),
		P99:  middle(runs, func(p pair) float64 { return side(p).P99 }),
	}
}

// middle is the median of something of each run.
func middle(runs []pair, of func(pair) float64) float64 {
	values := make([]float64, len(runs))
	for i, run := range runs {
		values[i] = of(run)
	}
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 0 {
		return (values[half-1] + values[half]) / 2
	}
	return values[half]
}

// print prints a report for people.
func (r *report) print(w io.Writer) error {
	t := newTable(2, 3, 4, 5, 7, 8, 9)
	t.AppendHeader(table.Row{"measured", "per second", "p50 ms", "p99 ms", "of control", "control", "per second", "p99 ms", "peak MB"})
	for _, result := range r.Results {
		t.AppendRow(table.Row{
			result.Name, count(result.Rate) + " " + result.Unit, latency(result.P50), latency(result.P99), significant(result.Ratio),
			result.Control.Name, count(result.Control.Rate), latency(result.Control.P99), count(result.PeakMB),
		})
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\nEach is the median of %d. Before the first request the program took %s MB.\n",
		r.Machine, t.Render(), r.Runs, count(r.IdleMB)); err != nil {
		return err
	}
	for _, result := range r.Results {
		if result.Clicks != nil {
			if _, err := fmt.Fprintf(w, "%s: %d redirects answered, %d clicks recorded\n",
				result.Name, result.Clicks.Answered, result.Clicks.Recorded); err != nil {
				return err
			}
		}
	}
	return nil
}

// newTable returns a table with numbers in certain columns, counted from 1.
func newTable(numbers ...int) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	columns := make([]table.ColumnConfig, len(numbers))
	for i, number := range numbers {
		columns[i] = table.ColumnConfig{Number: number, Align: text.AlignRight}
	}
	t.SetColumnConfigs(columns)
	return t
}

func count(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }

func latency(ms float64) string {
	if ms == 0 {
		return ""
	}
	return significant(ms)
}

// significant keeps three digits, and all of those before the point.
func significant(n float64) string {
	if n >= 100 {
		return count(n)
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

func (r *report) save(file string) error {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(body, '\n'), 0o644) //nolint:gosec // for everybody to read
}

func readReport(file string) (*report, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("report to compare with: %w", err)
	}
	var r report
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("%s is no report of linkledger-bench: %w", file, err)
	}
	return &r, nil
}
