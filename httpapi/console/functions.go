package console

import (
	"encoding/json"
	"html/template"
	"strconv"
	"strings"
	"time"
)

// functions are those that the templates call.
var functions = template.FuncMap{
	"number": number, "moment": moment, "join": strings.Join, "value": value, "chart": newChart,
	"share": func(n, of int64) int64 { return 100 * n / max(1, of) },
	"name": func(eventType string) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(eventType, "url."), ".v")
		return strings.NewReplacer("_", " ", ".", " ").Replace(name)
	},
}

// number returns a number with its digits in groups of three.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var text strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			text.WriteRune('\u202f') // a narrow space that does not break
		}
		text.WriteRune(digit)
	}
	return text.String()
}

// stamp is a time as people read it, with the exact one.
type stamp struct{ Text, Exact string }

// moment returns a time. A nil or zero one is empty.
func moment(at any) stamp {
	var moment time.Time
	switch at := at.(type) {
	case time.Time:
		moment = at
	case *time.Time:
		if at != nil {
			moment = *at
		}
	}
	if moment.IsZero() {
		return stamp{}
	}
	moment = moment.UTC()
	return stamp{moment.Format("2 Jan 2006, 15:04") + " UTC", moment.Format(time.RFC3339Nano)}
}

// value returns a value of a change for people.
func value(raw json.RawMessage) string {
	var decoded any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return string(raw)
	}
	switch decoded := decoded.(type) {
	case nil:
		return "none"
	case string:
		if decoded == "" {
			return "empty"
		}
		return decoded
	case bool:
		if decoded {
			return "yes"
		}
		return "no"
	case []any:
		if len(decoded) == 0 {
			return "none"
		}
		words := make([]string, len(decoded))
		for i, item := range decoded {
			words[i], _ = item.(string)
		}
		return strings.Join(words, ", ")
	}
	return string(raw)
}

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
			Date: date, Label: date + ": " + number(n),
		})
	}
	return c
}
