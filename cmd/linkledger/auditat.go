package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"linkledger/commands/audit"
	"linkledger/events/eventstore"
)

// auditAt tells what a hash led to at a moment.
type auditAt struct {
	target
	Hash    string  `arg:"" help:"Hash of a link at that time."`
	Time    instant `help:"Time in RFC 3339, or a day, which means its beginning in UTC." placeholder:"TIME" required:""`
	Account string  `help:"User name or id of an account. Only its links are shown." placeholder:"NAME"`
}

// momentView is a link at a moment as it is printed.
type momentView struct {
	ID             string    `json:"id"`
	Account        string    `json:"account"`
	Hash           string    `json:"hash"`
	LongURL        string    `json:"long_url"`
	Note           string    `json:"note"`
	NoteErased     bool      `json:"note_erased,omitempty"` // with the account; then Note is the word erased
	EmailStats     bool      `json:"email_stats"`
	Protected      bool      `json:"protected"`
	Ping           bool      `json:"ping"`
	Archived       bool      `json:"archived"`
	ExpirationDate *string   `json:"expiration_date"`
	MaxClicks      int64     `json:"max_clicks"`
	Tags           []string  `json:"tags"`
	CreatedAt      time.Time `json:"created_at"`
	ModifiedAt     time.Time `json:"modified_at"`
	Since          time.Time `json:"since"`          // it was like this
	Until          time.Time `json:"until,omitzero"` // absent: it still is
}

// Run implements the command.
func (c *auditAt) Run(ctx context.Context, p *process) error {
	return c.auditing(ctx, p, func(ctx context.Context, store *eventstore.Store) error {
		account, err := accountNamed(ctx, c.accounts(store), c.Account)
		if err != nil {
			return err
		}
		moment, err := c.reader(p, store).LinkAsOf(ctx, audit.AsOfQuery{Hash: c.Hash, Time: c.Time.Time, Account: account})
		if err != nil {
			return err
		}
		view := momentViewOf(moment)
		if c.JSON {
			return printJSON(p.stdout, view)
		}
		return printTable(p.stdout, table.Row{"field", "value"}, view.rows())
	})
}

func momentViewOf(m audit.AsOf) momentView {
	u := m.Link
	view := momentView{
		ID: u.ID, Account: u.Account, Hash: u.Hash, LongURL: u.LongURL, Note: u.Note, NoteErased: u.NoteErased(), EmailStats: u.EmailStats,
		Protected: u.Protected, Ping: u.Ping, Archived: u.Archived, MaxClicks: u.MaxClicks, Tags: m.Labels,
		CreatedAt: u.CreatedAt, ModifiedAt: u.ModifiedAt, Since: m.Since, Until: m.Until,
	}
	if u.ExpirationDate != "" {
		view.ExpirationDate = &u.ExpirationDate
	}
	return view
}

func (v momentView) rows() []table.Row {
	until := "now"
	if !v.Until.IsZero() {
		until = clock(v.Until)
	}
	note := fmt.Sprintf("%q", v.Note)
	if v.NoteErased {
		note = v.Note // without quotes, which every other one has
	}
	return []table.Row{
		{"long_url", fmt.Sprintf("%q", v.LongURL)},
		{"note", note},
		{"tags", strings.Join(v.Tags, ", ")},
		{"expiration_date", valueText(v.ExpirationDate)},
		{"max_clicks", v.MaxClicks},
		{"email_stats", v.EmailStats},
		{"protected", v.Protected},
		{"ping", v.Ping},
		{"archived", v.Archived},
		{"created_at", clock(v.CreatedAt)},
		{"modified_at", clock(v.ModifiedAt)},
		{"like this (UTC)", clock(v.Since) + " until " + until},
		{"link", v.ID},
		{"account", v.Account},
	}
}
