// Package clicks asks the API for the clicks of a link, and draws the clicks of each day as a bar.
package clicks

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/contract"
)

// Clicks are the clicks of a link: by day, and by dimension for the chosen days.
type Clicks struct {
	Days   []Day
	Asked  Span // the days that were asked for, as typed
	Chosen Span // the days that By is about; empty: all days
	By     []Dimension
}

// Span is a range of days in UTC. It includes both ends. An empty end is open.
type Span struct{ From, To string }

// Any reports whether the span leaves out days, because it is not open at both ends.
func (s Span) Any() bool { return s.From+s.To != "" }

// Has reports whether a day is in the span. It returns false for a span that is open at both ends.
func (s Span) Has(day string) bool {
	return s.Any() && day >= s.From && (s.To == "" || day <= s.To)
}

// Is reports whether the span is a single day.
func (s Span) Is(day string) bool { return s == Span{day, day} }

// Check refuses a span that ends before it begins.
func (s Span) Check() error {
	if s.From == "" || s.To == "" || s.From <= s.To {
		return nil
	}
	return &calls.RefusedError{
		Status: http.StatusBadRequest,
		Text:   "The range ends before it begins: " + s.From + " is after " + s.To,
	}
}

// Text returns the span for people.
func (s Span) Text() string {
	switch {
	case s.From == s.To:
		return s.From
	case s.To == "":
		return "since " + s.From
	case s.From == "":
		return "until " + s.To
	}
	return s.From + " to " + s.To
}

// Charted returns the days to draw. If a single day is chosen, they include its neighbors, and the
// chart marks the day.
func (c Clicks) Charted() []Day {
	shown := c.Chosen
	if shown.Any() && shown.Is(shown.From) {
		shown = Span{To: c.around(shown.From)}
	}
	if !shown.Any() {
		return c.Days
	}
	return slices.DeleteFunc(slices.Clone(c.Days), func(day Day) bool {
		return !shown.Has(day.Date)
	})
}

// around returns the last day of a chart that has a date in its middle. It returns "" if that chart
// is not needed, because the chart of all days, which ends with the last of c.Days, has the date.
func (c Clicks) around(date string) string {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil || len(c.Days) == 0 {
		return ""
	}
	last := c.Days[len(c.Days)-1].Date
	if last < day.AddDate(0, 0, maxDays).Format(time.DateOnly) {
		return ""
	}
	return day.AddDate(0, 0, maxDays/2).Format(time.DateOnly)
}

// Total returns the number of clicks of the days that are chosen.
func (c Clicks) Total() (clicks int64) {
	for _, day := range c.Days {
		if c.Chosen.Has(day.Date) {
			clicks += day.Total
		}
	}
	return clicks
}

// Of returns the clicks of the link with a hash, as far as the session may see them. The parameters
// of the page choose the days.
func Of(p *page.Page, hash string) (Clicks, error) {
	days, err := byDay(p, hash)
	if err != nil || len(days) == 0 {
		return Clicks{}, err
	}
	clicks := Clicks{Days: days}
	return clicks, dimensions(p, hash, &clicks)
}

// byDay returns the clicks of a link by day.
func byDay(p *page.Page, hash string) ([]Day, error) {
	if !p.Can("stats:read") {
		return nil, nil
	}
	var answer contract.StatsAnswer
	err := p.Get("/v3/stats/"+url.PathEscape(hash), nil, &answer)
	if refused, ok := calls.AsRefusal(err); ok && refused.Status == http.StatusNotFound {
		return nil, nil // the read models do not have the link yet, so it has no clicks
	}
	if err != nil || len(answer.Stats) == 0 {
		return nil, err
	}
	daily := answer.Stats[0].DailyClicks
	days := make([]Day, 0, len(daily))
	for _, date := range slices.Sorted(maps.Keys(daily)) {
		days = append(days, Day{date, daily[date]})
	}
	return days, nil
}

// Dimension is the clicks of a link by one dimension.
type Dimension struct {
	Name   string
	Values []contract.DimensionValue
}

// Most returns the largest number of clicks of a value.
func (d Dimension) Most() (most int64) {
	for _, v := range d.Values {
		most = max(most, v.Clicks)
	}
	return most
}

// maxValues is how many values of a dimension a page shows. The others are counted together.
const maxValues = 8

// dimensions adds the clicks by dimension, of the days that the parameters of the page choose. If
// the choice is refused, the page says why and shows the clicks of all days.
func dimensions(p *page.Page, hash string, data *Clicks) error {
	path := "/v3/urls/" + url.PathEscape(hash) + "/dimensions"
	query := p.Chosen("from", "to")
	data.Asked = Span{query.Get("from"), query.Get("to")}
	data.Chosen = data.Asked
	query.Set("limit", strconv.Itoa(maxValues))
	var answer contract.DimensionsAnswer
	err := data.Asked.Check()
	if err == nil {
		err = p.Get(path, query, &answer)
	}
	if refused, ok := calls.AsRefusal(err); ok && refused.Status == http.StatusBadRequest &&
		data.Asked.Any() {
		data.Chosen = Span{}
		p.Refuse(refused)
		query.Del("from")
		query.Del("to")
		err = p.Get(path, query, &answer)
	}
	if err != nil {
		return err
	}
	d := answer.Dimensions
	for _, by := range []Dimension{
		{"Referrer", d.Referrer},
		{"Country", d.Country},
		{"Browser", d.Browser},
		{"System", d.OS},
		{"Device", d.Device},
	} {
		if len(by.Values) > 0 {
			data.By = append(data.By, by)
		}
	}
	return nil
}
