package operators

import (
	"context"
	"time"

	"linkledger/httpapi/console/page"
)

// Setting is a flag of the process with its value, which has no secrets.
type Setting struct {
	Flag, Environment string // its names
	Value             string
	From              string // where the value comes from: flag, environment or default
}

// Process describes the process that serves the pages.
type Process struct {
	Version  string
	Roles    string
	Settings []Setting
	// Spool returns a text for people about the clicks that wait in the spool. If there is no
	// spool, it returns "".
	Spool func() string
}

// node is a process that keeps projections up to date.
type node struct {
	Name        string
	Projections []string
}

// processesData is what the page of the processes shows.
type processesData struct {
	Process

	Since   time.Time
	Clicks  string // that wait in the spool
	Head    string // position of the last event of the log
	Log     string // id of the log
	Store   string // why the event store does not answer; empty: it does
	Nodes   []node
	Unowned []string
}

func (h *Handler) processes(p *page.Page) error {
	p.Title = "Processes"
	p.Commands = []string{"linkledger config serve", "linkledger eventstore stat DIR"}
	data := processesData{Process: h.Process, Since: h.began, Clicks: h.Process.Spool()}
	if err := h.readLog(p.C.Context(), &data); err != nil {
		data.Store = err.Error()
	}
	read, err := h.monitor.Read(p.C.Context())
	if err != nil {
		return err
	}
	byOwner := make(map[string]int)
	for _, g := range read.Generations {
		if g.Owner == "" {
			data.Unowned = append(data.Unowned, g.Named())
			continue
		}
		at, known := byOwner[g.Owner]
		if !known {
			at = len(data.Nodes)
			byOwner[g.Owner] = at
			data.Nodes = append(data.Nodes, node{Name: g.Owner})
		}
		data.Nodes[at].Projections = append(data.Nodes[at].Projections, g.Named())
	}
	p.Data = data
	return nil
}

// readLog adds the head and the id of the log.
func (h *Handler) readLog(ctx context.Context, data *processesData) error {
	ctx, cancel := context.WithTimeout(ctx, h.Patience)
	defer cancel()
	head, err := h.Store.Head(ctx)
	if err != nil {
		return err
	}
	id, err := h.Store.LogID(ctx)
	data.Head, data.Log = head.String(), id.String()
	return err
}
