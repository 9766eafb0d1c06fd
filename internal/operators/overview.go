package operators

import (
	"context"
	"fmt"
	"html/template"
	"math"
	"time"

	"linkledger/events/eventstore"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/words"
	"linkledger/projections"
	"linkledger/projections/engine/status"
)

// functions are those that only the templates of operators call.
var functions = template.FuncMap{
	"rate": func(perSecond float64) string {
		return words.Number(int64(math.Round(perSecond)))
	},
	"line":  newLine,
	"count": func(n int) template.HTML { return words.NumberElement(int64(n)) },
}

// generation is a generation of a projection as pages show it.
type generation struct {
	status.Overview

	Percent  int    // of the log that is applied
	Progress string // how far a build is, for people
	Behind   string // events that are not applied yet
	Since    string // how long the oldest of them waits
}

// unknown is shown in place of what the event store knows, while it does not answer.
const unknown = "unknown"

// Problem returns what an operator should look at, or "".
func (g generation) Problem() string {
	switch g.State {
	case status.Stopped:
		return "has stopped: " + g.LastError
	case status.Failing:
		return "fails, and tries again: " + g.LastError
	case status.Paused:
		return "is paused by an operator"
	case status.Unowned:
		return "is kept up to date by no process"
	case status.Misplaced:
		return "is at a position that the log does not have: rebuild it. " + g.LastError
	case status.CatchingUp:
		return "is behind by " + g.Since
	case status.Live, status.Kept, status.Building:
	}
	return ""
}

// notice is something that an operator should look at.
type notice struct {
	Projection, Text string // without a projection it is about the whole
}

// state is the state of all projections.
type state struct {
	Generations []generation
	Store       string // what is unknown, and why; empty: nothing
}

// read reads the state of all projections. An event store that does not answer is part of it.
func (h *Handler) read(ctx context.Context) (s state, err error) {
	found, err := projections.Generations(ctx, h.DB)
	if err != nil {
		return s, err
	}
	asking, cancel := context.WithTimeout(ctx, h.Patience)
	defer cancel()
	head, err := h.Store.Head(asking)
	if err != nil {
		s.Store = "The event store does not answer: " + err.Error()
	} else if err := projections.AddLag(asking, h.Store, found); err != nil {
		s.Store = "How far projections are behind is not known: " + err.Error()
	}
	for _, o := range found {
		s.Generations = append(s.Generations, newGeneration(o, head, s.Store == ""))
	}
	if s.Store == "" {
		h.samples.add(time.Now(), h.Interval, found)
	}
	return s, nil
}

func newGeneration(o status.Overview, head eventstore.Position, known bool) generation {
	g := generation{Overview: o, Progress: unknown, Behind: unknown, Since: unknown}
	if !known {
		return g
	}
	g.Percent = percent(o.Position.Commit, head.Commit)
	g.Behind, g.Since = words.Number(int64(o.LagEvents)), words.Duration(o.Lag)
	g.Progress = fmt.Sprintf("%d %% of the log · %s events/s · %s to go",
		g.Percent, words.Number(int64(math.Round(o.Rate))), g.Behind)
	if left := float64(o.LagEvents) / o.Rate; o.LagEvents > 0 && left < maxLeft.Seconds() {
		rest := time.Duration(left * float64(time.Second))
		g.Progress += ", about " + words.Duration(rest) + " left"
	}
	return g
}

// maxLeft is the longest time that is told: the rate of a build that has just begun says nothing.
const maxLeft = 30 * 24 * time.Hour

// overviewData is what the first page shows.
type overviewData struct {
	state

	Notices []notice
}

// Serving returns the generations that serve.
func (d overviewData) Serving() (serving []generation) {
	for _, g := range d.Generations {
		if g.Serving {
			serving = append(serving, g)
		}
	}
	return serving
}

// Building returns the generations that are being built.
func (d overviewData) Building() (building []generation) {
	for _, g := range d.Generations {
		if !g.Built {
			building = append(building, g)
		}
	}
	return building
}

// maxStreams is how many streams with events that were set aside a page shows.
const maxStreams = 100

func (h *Handler) overview(p *page.Page) error {
	p.Title = "Overview"
	p.Commands = []string{
		"linkledger projections status --watch", "linkledger projections dead-letters list",
	}
	read, err := h.read(p.C.Context())
	if err != nil {
		return err
	}
	data := overviewData{state: read}
	if read.Store != "" {
		data.Notices = append(
			data.Notices, notice{Text: read.Store},
		)
	}
	for _, g := range read.Generations {
		if problem := g.Problem(); problem != "" {
			data.Notices = append(data.Notices, notice{g.Name, g.named() + " " + problem})
		}
	}
	parked, err := projections.ParkedStreams(p.C.Context(), h.DB, "", maxStreams)
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

// named names a generation, without its number if it serves.
func (g generation) named() string {
	if g.Serving {
		return g.Name
	}
	return fmt.Sprintf("generation %d of %s", g.Generation, g.Name)
}
