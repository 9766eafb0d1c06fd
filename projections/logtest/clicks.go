package logtest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// Click records up to five clicks.
func (h *History) Click() {
	if len(h.Links) == 0 {
		return
	}
	var batch events.ClicksRecorded
	for range rapid.IntRange(1, 5).Draw(h.T, "clicks") {
		l := rapid.SampledFrom(h.Links).Draw(h.T, "clicked")
		visitor := rapid.SampledFrom([]string{"v1", "v2", "v'3"}).Draw(h.T, "visitor")
		at := h.At()
		click := events.Click{URLID: l.ID.String(), Visitor: visitor, At: at}
		h.rotate(&click)
		h.addDimensions(l, &click)
		batch.Clicks = append(batch.Clicks, click)
		l.Visited = true
		l.Clicks++
		l.Days[at.Format(time.DateOnly)]++
		l.see(click)
		if at.After(l.Last) {
			l.Last = at
		}
	}
	h.Append(events.StreamClicks+"20260331-node", batch)
}

// rotate sets the hashes of a click's visitor. At first some nodes have both keys, later all nodes
// have only the new key.
func (h *History) rotate(c *events.Click) {
	switch now, former := rapid.IntRange(h.rotated, 2).Draw(h.T, "key"), c.Visitor; now {
	case 0:
	case 1:
		c.Visitor, c.Former = "new "+former, former
	case 2:
		h.rotated = 2
		c.Visitor = "new " + former
	}
}

// see counts the visitor of a click, unless they are counted already.
func (l *Link) see(c events.Click) {
	names := []string{c.Visitor}
	if c.Former != "" {
		names = []string{c.Former, c.Visitor}
	}
	known := slices.ContainsFunc(names, func(name string) bool { _, ok := l.Visitors[name]; return ok })
	for i, name := range names {
		if _, ok := l.Visitors[name]; ok {
			continue
		}
		l.Visitors[name] = ""
		if i == 0 && !known {
			l.Visitors[name] = c.At.Format(time.DateOnly)
		}
	}
}

// Uniques returns the number of visitors by the day of their first click, and in total.
func (l *Link) Uniques() (days map[string]int64, all int64) {
	days = make(map[string]int64)
	for _, day := range l.Visitors {
		if day != "" {
			days[day]++
			all++
		}
	}
	return days, all
}

// Dimensions are the expected clicks of a link by value, for each "<day> <dimension>".
type Dimensions map[string]map[string]int64

// Add counts clicks of a value. If the maximum number of values, most, is reached, it counts clicks
// of a new value under readmodel.OtherValues.
func (d Dimensions) Add(of, value string, clicks int64, most int) {
	values := d[of]
	if values == nil {
		values = make(map[string]int64)
		d[of] = values
	}
	rows := len(values)
	if _, ok := values[readmodel.OtherValues]; ok {
		rows--
	}
	if _, ok := values[value]; !ok && rows >= most {
		value = readmodel.OtherValues
	}
	values[value] += clicks
}

// addDimensions sets random dimensions of a click and adds them to the link's counts.
func (h *History) addDimensions(l *Link, c *events.Click) {
	for _, pair := range []struct {
		dimension string
		value     *string
	}{
		{readmodel.DimensionReferrer, &c.Referrer},
		{readmodel.DimensionCountry, &c.Country},
		{readmodel.DimensionBrowser, &c.Browser},
		{readmodel.DimensionOS, &c.OS},
		{readmodel.DimensionDevice, &c.Device},
	} {
		*pair.value = rapid.SampledFrom([]string{"", "a.example", "B", "c", "ü '{}", "other"}).Draw(h.T, pair.dimension)
		if *pair.value != "" {
			l.Dimensions.Add(c.At.Format(time.DateOnly)+" "+pair.dimension, *pair.value, 1, h.most)
		}
	}
}
