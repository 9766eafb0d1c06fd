package clicks

import (
	"time"

	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/contract"
)

// Day is the clicks of a day.
type Day struct {
	Date string // YYYY-MM-DD
	contract.Day
}

// Chart is a bar chart of the clicks by day. Its sizes are in units of the view box of the SVG.
type Chart struct {
	Width, Height int
	Bars          []Bar
	From, To      string // the first and the last day
	Most          int64  // the most clicks of a day
}

// Bar is a day with clicks.
type Bar struct {
	X, Y, Width, Height int
	Date, Label         string
}

// The size of a chart, and the most days that it shows.
const (
	width   = 720
	height  = 120
	maxDays = 90
)

// NewChart returns a chart of the last maxDays days. days MUST be sorted by date. A day without
// clicks leaves a gap.
func NewChart(days []Day) Chart {
	c := Chart{Width: width, Height: height}
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
	if err != nil || last.Sub(first) > (maxDays-1)*24*time.Hour {
		first = last.AddDate(0, 0, 1-maxDays)
	}
	count := int(last.Sub(first).Hours()/24) + 1
	c.From, c.To = first.Format(time.DateOnly), last.Format(time.DateOnly)
	for i := range count {
		c.Most = max(c.Most, clicks[first.AddDate(0, 0, i).Format(time.DateOnly)])
	}
	step := min(width/count, width/10)
	for i := range count {
		date := first.AddDate(0, 0, i).Format(time.DateOnly)
		n := clicks[date]
		if n == 0 {
			continue
		}
		tall := max(2, int(n*height/c.Most))
		c.Bars = append(c.Bars, Bar{
			X: i * step, Y: height - tall, Width: max(1, step-2), Height: tall,
			Date: date, Label: date + ": " + words.Number(n),
		})
	}
	return c
}
