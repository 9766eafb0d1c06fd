package linkrow

import (
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Columns are columns of a table of links.
type Columns = sqlbatch.Columns[readmodel.Link]

type link = readmodel.Link

// The columns that the tables of links share. Each setting of a link is a column in Mutable.
var (
	// ID is the key of a row for updates.
	ID = Columns{
		sqlbatch.UUIDColumn("id", func(l *link) *uuid.UUID { return &l.ID }),
	}
	// Owner has the account of a link, and the number of the link in the account.
	Owner = Columns{
		sqlbatch.UUIDColumn("account_id", func(l *link) *uuid.UUID { return &l.AccountID }),
		sqlbatch.IntegerColumn("number", func(l *link) *int { return &l.Number }),
	}
	// Created never changes.
	Created = Columns{
		sqlbatch.TimeColumn("created_at", func(l *link) *time.Time { return &l.CreatedAt }),
	}
	// Mutable are the columns that events of the link change.
	Mutable = Columns{
		sqlbatch.TextColumn("hash", func(l *link) *string { return &l.Hash }),
		sqlbatch.TextColumn("long_url", func(l *link) *string { return &l.LongURL }),
		sqlbatch.TextColumn("note", func(l *link) *string { return &l.Note }),
		sqlbatch.BoolColumn("email_stats", func(l *link) *bool { return &l.EmailStats }),
		sqlbatch.BoolColumn("ping", func(l *link) *bool { return &l.Ping }),
		sqlbatch.BoolColumn("protected", func(l *link) *bool { return &l.Protected }),
		sqlbatch.BoolColumn("archived", func(l *link) *bool { return &l.Archived }),
		sqlbatch.DateColumn("expiration_date", func(l *link) **time.Time {
			return &l.ExpirationDate
		}),
		sqlbatch.BigintColumn("max_clicks", func(l *link) *int64 { return &l.MaxClicks }),
		sqlbatch.UUIDsColumn("tag_ids", func(l *link) *[]uuid.UUID { return &l.TagIDs }),
		sqlbatch.TimeColumn("modified_at", func(l *link) *time.Time { return &l.ModifiedAt }),
		sqlbatch.BigintColumn("revision", func(l *link) *int64 { return &l.Revision }),
		sqlbatch.TimeColumn("deleted_at", func(l *link) *time.Time { return &l.DeletedAt }),
	}
)

// settingsOf returns the settings of a row, and setSettings sets them.
func settingsOf(row *readmodel.Link) events.Settings {
	settings := events.Settings{
		EmailStats: row.EmailStats, Ping: row.Ping, Protected: row.Protected,
		Archived: row.Archived, MaxClicks: row.MaxClicks,
	}
	if row.ExpirationDate != nil {
		settings.ExpirationDate = row.ExpirationDate.Format(time.DateOnly)
	}
	return settings
}

func setSettings(row *readmodel.Link, s events.Settings) (err error) {
	row.EmailStats, row.Ping, row.Protected = s.EmailStats, s.Ping, s.Protected
	row.Archived, row.MaxClicks = s.Archived, s.MaxClicks
	row.ExpirationDate, err = projection.ParseDate(s.ExpirationDate)
	return err
}
