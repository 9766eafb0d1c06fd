// Package report is the report of a benchmark: results with their medians, as JSON and as tables,
// and what has changed since an older report.
package report

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

// Report is what is written as JSON.
type Report struct {
	Time    time.Time `json:"time"`
	Machine Machine   `json:"machine"`
	Runs    int       `json:"runs"`
	IdleMB  float64   `json:"idle_mb"` // resident memory of the program before it served anything
	Results []Result  `json:"results"`
}

// Figures are the figures of one side of a measurement: of the program or of its control. Rates are
// per second, and percentiles in milliseconds. A percentile is zero if the measurement makes no
// single calls.
type Figures struct {
	Rate float64 `json:"rate"`
	P50  float64 `json:"p50_ms,omitempty"`
	P99  float64 `json:"p99_ms,omitempty"`
}

// Result is one measurement: the medians of its runs.
type Result struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Figures
	Ratio   float64 `json:"ratio"` // of the rates of program and control
	Control Control `json:"control"`
	// the most resident memory that the measured process had during the runs
	PeakMB float64 `json:"peak_mb"`
	Clicks *Clicks `json:"clicks,omitempty"`
	Runs   []pair  `json:"runs"`
}

// Control is what the program was measured against.
type Control struct {
	Name string `json:"name"`
	Figures
}

// pair has the figures of one run.
type pair struct {
	Ours    Figures `json:"ours"`
	Control Figures `json:"control"`
}

// Clicks compares the redirects that were answered, warm-up included, with the clicks that the API
// reports afterwards.
type Clicks struct {
	Answered int64 `json:"answered"`
	Recorded int64 `json:"recorded"`
}

// Add adds a run and updates the medians.
func (r *Result) Add(ours, bare Figures) {
	r.Runs = append(r.Runs, pair{Ours: ours, Control: bare})
	r.Figures = median(r.Runs, func(p pair) Figures { return p.Ours })
	r.Control.Figures = median(r.Runs, func(p pair) Figures { return p.Control })
	r.Ratio = middle(r.Runs, func(p pair) float64 { return p.Ours.Rate / p.Control.Rate })
}

func median(runs []pair, side func(pair) Figures) Figures {
	return Figures{
		Rate: middle(runs, func(p pair) float64 { return side(p).Rate }),
		P50:  middle(runs, func(p pair) float64 { return side(p).P50 }),
		P99:  middle(runs, func(p pair) float64 { return side(p).P99 }),
	}
}

// middle returns the median of one value of each run. The function of returns the value of a run.
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

// Print prints a report for people.
func (r *Report) Print(w io.Writer) error {
	t := newTable(2, 3, 4, 5, 7, 8, 9)
	t.AppendHeader(
		table.Row{
			"measured", "per second", "p50 ms", "p99 ms", "of control", "control", "per second",
			"p99 ms", "peak MB",
		},
	)
	for _, result := range r.Results {
		t.AppendRow(table.Row{
			result.Name, count(result.Rate) + " " + result.Unit, latency(result.P50),
			latency(result.P99), significant(result.Ratio),
			result.Control.Name, count(result.Control.Rate), latency(result.Control.P99),
			count(result.PeakMB),
		})
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\nEach figure is the median of %d runs. Before its first "+
		"request the program took %s MB.\n",
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

// newTable returns a table. The columns in numbers, counted from 1, are aligned to the right.
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

// significant keeps three digits, and every digit before the point.
func significant(n float64) string {
	if n >= 100 {
		return count(n)
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

// Save writes the report as JSON.
func (r *Report) Save(file string) error {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(body, '\n'), 0o644) //nolint:gosec // for everybody to read
}

// Read reads a report that Save has written.
func Read(file string) (*Report, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("report to compare with: %w", err)
	}
	var r Report
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("%s is no report of linkledger-bench: %w", file, err)
	}
	return &r, nil
}
