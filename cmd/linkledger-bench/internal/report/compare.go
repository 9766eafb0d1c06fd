package report

import (
	"fmt"
	"io"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"
)

// noise is how much the ratios of two reports may differ although the program has not changed. On a
// shared machine they differ by as much from one hour to another.
const noise = 0.2

// PrintChanges prints how the ratios to the controls have changed since an older report. It does
// not compare rates, because they depend on the machine as much as on the program.
func PrintChanges(w io.Writer, before, after *Report) error {
	t := newTable(3, 4, 5, 6, 7)
	t.AppendHeader(
		table.Row{
			"measured", "control", "of control before", "after", "change", "p99 ms before", "after",
			"",
		},
	)
	gone := make(map[[2]string]Result)
	for _, result := range before.Results {
		gone[result.key()] = result
	}
	for _, result := range after.Results {
		old, ok := gone[result.key()]
		delete(gone, result.key())
		if !ok {
			t.AppendRow(
				table.Row{
					result.Name, result.Control.Name, "", significant(result.Ratio), "", "",
					latency(result.P99), "new",
				},
			)
			continue
		}
		change := result.Ratio/old.Ratio - 1
		t.AppendRow(table.Row{
			result.Name, result.Control.Name, significant(old.Ratio), significant(result.Ratio),
			fmt.Sprintf("%+.0f%%", 100*change),
			latency(old.P99), latency(result.P99), verdict(change),
		})
	}
	for _, result := range before.Results {
		if _, ok := gone[result.key()]; ok {
			t.AppendRow(
				table.Row{
					result.Name, result.Control.Name, significant(result.Ratio), "", "",
					latency(result.P99), "", "gone",
				},
			)
		}
	}
	_, err := fmt.Fprintf(
		w, "\nSince %s, on %s\n%s\n", before.Time.Format("2006-01-02 15:04"), before.Machine,
		t.Render(),
	)
	return err
}

// key identifies a measurement. The same measurement in another report has the same key.
func (r *Result) key() [2]string { return [2]string{r.Name, r.Control.Name} }

func verdict(change float64) string {
	switch {
	case math.Abs(change) <= noise:
		return ""
	case change > 0:
		return "better"
	}
	return "worse"
}
