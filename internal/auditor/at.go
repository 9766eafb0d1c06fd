package auditor

import (
	"context"
	"strings"
	"time"

	"linkledger/commands/audit"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/internal/console"
	"linkledger/internal/installation"
)

// LinkAt prints where a hash led at a time, and the settings of its link.
func LinkAt(
	ctx context.Context, o installation.Operator, hash, username string, at time.Time,
) error {
	return o.WithLog(ctx, func(ctx context.Context, store *eventstore.Store) error {
		account, err := accountNamed(ctx, o.Accounts(store), username)
		if err != nil {
			return err
		}
		asOf, err := o.Auditor(store).LinkAsOf(
			ctx, audit.AsOfQuery{Hash: hash, Time: at, Account: account},
		)
		if err != nil {
			return err
		}
		view := newPrintedLink(asOf)
		if o.JSON {
			return console.JSON(o.Stdout, view)
		}
		return console.Table(o.Stdout, console.Row{"field", "value"}, view.rows())
	})
}

// printedLink is the printed form of a link at a time.
type printedLink struct {
	ID      string `json:"id"`
	Account string `json:"account"`
	Hash    string `json:"hash"`
	LongURL string `json:"long_url"`
	Note    string `json:"note"`
	// NoteErased reports that the account was erased. Then Note is the word erased.
	NoteErased bool `json:"note_erased,omitempty"`
	events.SettingsRecord
	Tags       []string  `json:"tags"`
	CreatedAt  time.Time `json:"created_at"`
	ModifiedAt time.Time `json:"modified_at"`
	Since      time.Time `json:"since"`          // start of the time with these settings
	Until      time.Time `json:"until,omitzero"` // end of that time; absent while it lasts

	settings events.Settings
}

func newPrintedLink(m audit.AsOf) printedLink {
	u := m.Link
	return printedLink{
		ID: u.ID, Account: u.Account, Hash: u.Hash, LongURL: u.LongURL, Note: u.Note,
		NoteErased: u.NoteErased(), SettingsRecord: u.Record(), settings: u.Settings,
		Tags:      m.Labels,
		CreatedAt: u.CreatedAt, ModifiedAt: u.ModifiedAt, Since: m.Since, Until: m.Until,
	}
}

func (v printedLink) rows() []console.Row {
	until := "now"
	if !v.Until.IsZero() {
		until = console.Time(v.Until)
	}
	note := valueText(v.Note)
	if v.NoteErased {
		note = v.Note // without quotes, to differ from a note with this text
	}
	rows := []console.Row{
		{"long_url", valueText(v.LongURL)},
		{"note", note},
		{"tags", strings.Join(v.Tags, ", ")},
	}
	for _, s := range events.AllSettings {
		rows = append(rows, console.Row{s.Name, valueText(audit.Value(s.Get(&v.settings)))})
	}
	return append(rows,
		console.Row{"created_at", console.Time(v.CreatedAt)},
		console.Row{"modified_at", console.Time(v.ModifiedAt)},
		console.Row{"like this (UTC)", console.Time(v.Since) + " until " + until},
		console.Row{"link", v.ID},
		console.Row{"account", v.Account},
	)
}
