package activity

import (
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

type activity = readmodel.Activity

// kinds has the counter that each type of event of a link increments. An append is counted once, by
// its first event.
var kinds = map[string]func(*activity) *int{
	events.URLCreated{}.EventType():                 created,
	events.URLCreated{ClaimsHash: true}.EventType(): created,
	events.URLRetargeted{}.EventType():              edited,
	events.URLRenamed{}.EventType():                 edited,
	events.URLSettingsChanged{}.EventType():         edited,
	events.URLTagged{}.EventType():                  edited,
	events.URLUntagged{}.EventType():                edited,
	events.URLDeleted{}.EventType():                 func(a *activity) *int { return &a.Deleted },
	events.URLRestored{}.EventType():                func(a *activity) *int { return &a.Restored },
	events.URLStatsReset{}.EventType():              func(a *activity) *int { return &a.Reset },
	events.URLStatsRestored{}.EventType():           func(a *activity) *int { return &a.Restored },
}

func created(a *activity) *int { return &a.Created }

func edited(a *activity) *int { return &a.Edited }

var columns = sqlbatch.Columns[activity]{
	sqlbatch.UUIDColumn("batch", func(a *activity) *uuid.UUID { return &a.Batch }),
	sqlbatch.UUIDColumn("account_id", func(a *activity) *uuid.UUID { return &a.AccountID }),
	sqlbatch.BigintColumn("position", func(a *activity) *int64 { return &a.Position }),
	sqlbatch.TimeColumn("at", func(a *activity) *time.Time { return &a.At }),
	sqlbatch.TimeColumn("last_at", func(a *activity) *time.Time { return &a.LastAt }),
	sqlbatch.TextColumn("last_stream", func(a *activity) *string { return &a.LastStream }),
	sqlbatch.TextColumn("key_id", func(a *activity) *string { return &a.Key }),
	sqlbatch.UUIDColumn("user_id", func(a *activity) *uuid.UUID { return &a.User }),
	sqlbatch.TextColumn("via", func(a *activity) *string { return &a.Via }),
	sqlbatch.TextColumn("request", func(a *activity) *string { return &a.Request }),
	sqlbatch.IntegerColumn("created", created),
	sqlbatch.IntegerColumn("edited", edited),
	sqlbatch.IntegerColumn("deleted", func(a *activity) *int { return &a.Deleted }),
	sqlbatch.IntegerColumn("restored", func(a *activity) *int { return &a.Restored }),
	sqlbatch.IntegerColumn("reset", func(a *activity) *int { return &a.Reset }),
	sqlbatch.IntegerColumn("tags", func(a *activity) *int { return &a.Tags }),
	sqlbatch.IntegerColumn("account", func(a *activity) *int { return &a.Account }),
	sqlbatch.UUIDColumn("undoes", func(a *activity) *uuid.UUID { return &a.Undoes }),
	sqlbatch.TextColumn("undoes_key", func(a *activity) *string { return &a.UndoesKey }),
	sqlbatch.TimeColumn("undoes_since", func(a *activity) *time.Time { return &a.UndoesSince }),
}
