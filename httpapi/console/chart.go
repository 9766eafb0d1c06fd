package console

import (
	"time"

	"linkledger/httpapi/console/page"
)

// chart is a chart of the clicks of days, as bars.
type chart struct {
	Width, Height int
	Bars          []bar
	From, To      string // the first and the last day
	Most          int64  // clicks of a day
}

type bar struct {
	X, Y, Width, Height int
	Date, Label         string
}

// The size of a chart, and the most days that it shows.
const (
	chartWidth  = 720
	chartHeight = 120
	chartDays   = 90
)

// newChart returns a chart of the last days. A day without clicks has a gap.
func newChart(days []day) chart {
	c := chart{Width: chartWidth, Height: chartHeight}
	if len(days) == 0 {
		return c
	}
	last, err := time.Parse(time.DateOnly, days[len(days)-1].Date)
	if err != nil {
		return c
	}
	clicks := make(map[string]int64, len(days))
	for _, d := range days {
		clicks[d.Date] = d.Total
	}
	first, err := time.Parse(time.DateOnly, days[0].Date)
	if err != nil || last.Sub(first) > (chartDays-1)*24*time.Hour {
		first = last.AddDate(0, 0, 1-chartDays)
	}
	count := int(last.Sub(first).Hours()/24) + 1
	c.From, c.To = first.Format(time.DateOnly), last.Format(time.DateOnly)
	for i := range count {
		c.Most = max(c.Most, clicks[first.AddDate(0, 0, i).Format(time.DateOnly)])
	}
	step := min(chartWidth/count, chartWidth/10)
	for i := range count {
		date := first.AddDate(0, 0, i).Format(time.DateOnly)
		n := clicks[date]
		if n == 0 {
			continue
		}
		height := max(2, int(n*chartHeight/c.Most))
		c.Bars = append(c.Bars, bar{
			X: i * step, Y: chartHeight - height, Width: max(1, step-2), Height: height,
			Date: date, Label: date + ": " + page.Number(n),
		})
	}
	return c
}
