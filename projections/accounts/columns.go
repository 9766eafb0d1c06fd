package accounts

import (
	"time"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

type (
	accountRow = readmodel.Account
	key        = readmodel.AccountKey
	member     = readmodel.AccountMember
	person     = readmodel.Person
)

var accountColumns = sqlbatch.Columns[accountRow]{
	sqlbatch.UUIDColumn("id", func(a *accountRow) *uuid.UUID { return &a.ID }),
	sqlbatch.TextColumn("username", func(a *accountRow) *string { return &a.Username }),
	sqlbatch.TextColumn("plan", func(a *accountRow) *string { return &a.Plan }),
	sqlbatch.BoolColumn("active", func(a *accountRow) *bool { return &a.Active }),
	sqlbatch.DateColumn("expiration_date", func(a *accountRow) **time.Time {
		return &a.ExpirationDate
	}),
	sqlbatch.BoolColumn("erased", func(a *accountRow) *bool { return &a.Erased }),
	sqlbatch.TimeColumn("created_at", func(a *accountRow) *time.Time { return &a.CreatedAt }),
	sqlbatch.BigintColumn("changed", func(a *accountRow) *int64 { return &a.Changed }),
}

var keyColumns = sqlbatch.Columns[key]{
	sqlbatch.UUIDColumn("account_id", func(k *key) *uuid.UUID { return &k.AccountID }),
	sqlbatch.TextColumn("id", func(k *key) *string { return &k.ID }),
	sqlbatch.TextColumn("hash", func(k *key) *string { return &k.Hash }),
	sqlbatch.TextColumn("name", func(k *key) *string { return &k.Name }),
	sqlbatch.TextColumn("scopes", func(k *key) *string { return &k.Scopes }),
	sqlbatch.TextColumn("tags", func(k *key) *string { return &k.Tags }),
	sqlbatch.TextColumn("networks", func(k *key) *string { return &k.Networks }),
	sqlbatch.DateColumn("expiration_date", func(k *key) **time.Time { return &k.ExpirationDate }),
	sqlbatch.TimeColumn("created_at", func(k *key) *time.Time { return &k.CreatedAt }),
	sqlbatch.TimeColumn("revoked_at", func(k *key) *time.Time { return &k.RevokedAt }),
	sqlbatch.BigintColumn("added", func(k *key) *int64 { return &k.Added }),
	sqlbatch.BigintColumn("ended", func(k *key) *int64 { return &k.Ended }),
}

var memberColumns = sqlbatch.Columns[member]{
	sqlbatch.UUIDColumn("account_id", func(m *member) *uuid.UUID { return &m.AccountID }),
	sqlbatch.UUIDColumn("user_id", func(m *member) *uuid.UUID { return &m.UserID }),
	sqlbatch.TextColumn("role", func(m *member) *string { return &m.Role }),
	sqlbatch.TextColumn("group_name", func(m *member) *string { return &m.Group }),
	sqlbatch.TimeColumn("since", func(m *member) *time.Time { return &m.Since }),
	sqlbatch.BigintColumn("changed", func(m *member) *int64 { return &m.Changed }),
	sqlbatch.TimeColumn("removed_at", func(m *member) *time.Time { return &m.RemovedAt }),
}

var personColumns = sqlbatch.Columns[person]{
	sqlbatch.UUIDColumn("id", func(p *person) *uuid.UUID { return &p.ID }),
	sqlbatch.TimeColumn("known_at", func(p *person) *time.Time { return &p.KnownAt }),
	sqlbatch.TextColumn("box", func(p *person) *string { return &p.Box }),
	sqlbatch.BoolColumn("erased", func(p *person) *bool { return &p.Erased }),
	sqlbatch.BigintColumn("ended", func(p *person) *int64 { return &p.Ended }),
}
