package operators

import (
	"fmt"
	"html/template"
	"math"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/words"
	"linkledger/internal/operators/monitor"
	"linkledger/projections/engine/deadletter"
)

// functions are the functions that only the templates of operators call.
var functions = template.FuncMap{
	"rate": func(perSecond float64) string {
		return words.Number(int64(math.Round(perSecond)))
	},
	"line":  newLine,
	"count": func(n int) template.HTML { return words.NumberElement(int64(n)) },
}

// notice is something that an operator should look at.
type notice struct {
	Projection, Text string // empty Projection: it is about the whole service
}

// overviewData is what the first page shows.
type overviewData struct {
	monitor.State

	Notices []notice
}

// Serving returns the generations that serve.
func (d overviewData) Serving() (serving []monitor.Generation) {
	for _, g := range d.Generations {
		if g.Serving {
			serving = append(serving, g)
		}
	}
	return serving
}

// Building returns the generations that are being built.
func (d overviewData) Building() (building []monitor.Generation) {
	for _, g := range d.Generations {
		if !g.Built {
			building = append(building, g)
		}
	}
	return building
}

// maxStreams is how many streams with dead letters a page shows at most.
const maxStreams = 100

func (h *Handler) overview(p *page.Page) error {
	p.Title = "Overview"
	p.Commands = []string{
		"linkledger projections status --watch", "linkledger projections dead-letters list",
	}
	read, err := h.monitor.Read(p.C.Context())
	if err != nil {
		return err
	}
	data := overviewData{State: read}
	if read.Store != "" {
		data.Notices = append(
			data.Notices, notice{Text: read.Store},
		)
	}
	for _, g := range read.Generations {
		if problem := g.Problem(); problem != "" {
			data.Notices = append(data.Notices, notice{g.Name, g.Named() + " " + problem})
		}
	}
	parked, err := deadletter.Streams(p.C.Context(), h.DB, "", maxStreams)
	if err != nil {
		return err
	}
	for _, s := range parked {
		data.Notices = append(data.Notices, notice{s.Name, fmt.Sprintf(
			"%s has set aside events of %s (%d): %s", s.Name, s.Stream, s.Events, s.Error,
		)})
	}
	p.Data = data
	return nil
}
