package projections

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/projection"
)

// TestImpossibleEvents gives each projection an event that contradicts the events before it. It
// checks that it is set aside with the next event of its stream, and that all others are applied.
func TestImpossibleEvents(t *testing.T) {
	t.Parallel()
	id, account := uuid.New().String(), uuid.New().String()
	url, tags, accounts := events.StreamURL+id, events.StreamTags+account, events.StreamAccount+account
	link := events.URLCreated{URLID: id, Account: account, Hash: "h", At: noon}
	open := events.AccountOpened{Account: account, At: noon}
	date := func(date string) events.URLCreated {
		dated := link
		dated.ExpirationDate = date
		return dated
	}
	tagged := link
	tagged.Tags = []string{"news"}
	undated := link
	undated.At = time.Time{}
	ancient := link
	ancient.At = time.Date(0, 6, 1, 0, 0, 0, 0, time.UTC)
	badDate := "2026-02-30"
	gone := events.URLDeleted{Account: link.Account, At: noon}

	for name, tc := range map[string]struct {
		projection string
		stream     string
		sound      []events.Event
		impossible events.Event
	}{
		"past of no link":       {History, url, nil, events.URLRetargeted{At: noon}},
		"past without time":     {History, url, nil, undated},
		"past of a second link": {History, url, []events.Event{link}, link},
		"past of no account":    {History, accounts, nil, events.PlanChanged{At: noon}},
		"past opened twice":     {History, accounts, []events.Event{open}, open},
		"past expiry": {
			History, accounts, []events.Event{open}, events.AccountExpiryChanged{ExpirationDate: badDate, At: noon},
		},
		"past of no tag":        {History, tags, nil, events.TagDeleted{TagID: "news", At: noon}},
		"foreign in the past":   {History, tags, nil, open},
		"past of a link":        {History, accounts, []events.Event{open}, link},
		"edit of no link":       {Links, url, nil, events.URLRetargeted{At: noon}},
		"created twice":         {Links, url, []events.Event{link}, link},
		"edit of a deleted one": {Links, url, []events.Event{link, gone}, events.URLRetargeted{At: noon}},
		"restore of a live one": {Links, url, []events.Event{link}, events.URLRestored{At: noon}},
		"no such date":          {Links, url, nil, date(badDate)},
		"year zero":             {Links, url, nil, date("0000-01-01")},
		"date in an edit": {
			Links, url,
			[]events.Event{link},
			events.URLSettingsChanged{SettingsChange: events.SettingsChange{ExpirationDate: &badDate}, At: noon},
		},
		"tag is no id":        {Links, url, nil, tagged},
		"tag in an edit":      {Links, url, []events.Event{link}, events.URLTagged{Tags: []string{"news"}, At: noon}},
		"untag is no id":      {Links, url, []events.Event{link}, events.URLUntagged{Tags: []string{"news"}, At: noon}},
		"no time":             {Links, url, nil, undated},
		"edit without time":   {Links, url, []events.Event{link}, events.URLRetargeted{}},
		"ancient":             {Links, url, nil, ancient},
		"stream is no id":     {Links, events.StreamURL + "x", nil, link},
		"account is no id":    {Links, url, nil, events.URLCreated{URLID: id, At: noon}},
		"reset of no link":    {Links, url, nil, events.URLStatsReset{At: noon}},
		"undone without time": {Links, url, []events.Event{link}, events.URLStatsRestored{}},
		"reset without time":  {Links, url, []events.Event{link}, events.URLStatsReset{}},
		"foreign in url":      {Links, url, []events.Event{link}, open},
		"foreign in clicks":   {Links, events.StreamClicks + "d", nil, open},
		"click on no id": {
			Links, events.StreamClicks + "d", nil, events.ClicksRecorded{Clicks: []events.Click{{At: noon}}},
		},
		"click without time": {
			Links, events.StreamClicks + "d", nil, events.ClicksRecorded{Clicks: []events.Click{{URLID: id}}},
		},
		"rename of no tag": {Tags, tags, nil, events.TagRenamed{TagID: id, At: noon}},
		"tag is deleted": {
			Tags, tags,
			[]events.Event{events.TagCreated{TagID: id, At: noon}, events.TagDeleted{TagID: id, At: noon}},
			events.TagRenamed{TagID: id, At: noon},
		},
		"tag created twice": {
			Tags, tags, []events.Event{events.TagCreated{TagID: id, At: noon}}, events.TagCreated{TagID: id, At: noon},
		},
		"tags of no account":    {Tags, events.StreamTags + "x", nil, events.TagCreated{TagID: id, At: noon}},
		"tag without id":        {Tags, tags, nil, events.TagCreated{At: noon}},
		"rename without id":     {Tags, tags, nil, events.TagRenamed{At: noon}},
		"foreign in tags":       {Tags, tags, nil, open},
		"link among accounts":   {Accounts, url, nil, link},
		"restored of nobody":    {Links, url, []events.Event{link, gone}, events.URLRestored{At: noon}},
		"opened twice":          {Accounts, accounts, []events.Event{open}, open},
		"opened without time":   {Accounts, accounts, nil, events.AccountOpened{}},
		"change of no account":  {Accounts, accounts, nil, events.AccountReactivated{At: noon}},
		"account stream, no id": {Accounts, events.StreamAccount + "x", nil, open},
		"foreign in account":    {Accounts, accounts, []events.Event{open}, events.TagDeleted{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := withTimeout(t)
			w := newWorkshop(t, tc.projection)
			p := w.projector(ctx, t)
			log := record(nil, tc.stream, 0, tc.sound...)
			sound := len(log)
			log = record(log, tc.stream, eventstore.Revision(sound), tc.impossible, tc.impossible)
			other := events.StreamTags + uuid.NewString()
			log = record(log, other, 0, events.TagCreated{TagID: uuid.NewString(), At: noon})
			after := w.followed(log[sound+2:])

			mustHandle(ctx, t, p, slices.Concat(log[:sound+2], after))
			letters, err := DeadLetters(ctx, w.db, tc.projection)
			if err != nil || len(letters) != 2 || letters[0].EventID != log[sound].ID {
				t.Fatalf("letters %+v, %v", letters, err)
			}
			follows := deadletter.ErrFollows.Error()
			if letters[0].Error == follows || letters[1].Error == follows == projection.Independent(tc.stream) {
				t.Errorf("letters %+v", letters)
			}
			reference := newWorkshop(t, tc.projection)
			mustHandle(ctx, t, reference.projector(ctx, t), slices.Concat(log[:sound], after))
			if got, want := w.dump(ctx, t), reference.dump(ctx, t); got != want {
				t.Errorf("tables\n%s, want\n%s", got, want)
			}
		})
	}
}

// TestEventsOfStrangers appends what would change the account or the tags of somebody else, as a
// hand in the event store may, and checks that it is set aside.
func TestEventsOfStrangers(t *testing.T) {
	t.Parallel()
	id, owner, stranger := uuid.New().String(), uuid.New().String(), uuid.New().String()
	created := events.TagCreated{TagID: id, Label: "news", At: noon}
	open := func(account string) events.AccountOpened {
		return events.AccountOpened{Account: account, Username: "ann", KeyID: "first", At: noon}
	}
	for name, tc := range map[string]struct {
		projection string
		prefix     string
		sound      events.Event
		foreign    events.Event
	}{
		"account of a taken name": {Accounts, events.StreamAccount, open(owner), open(stranger)},
		"tag of a taken id":       {Tags, events.StreamTags, created, created},
		"rename": {
			Tags, events.StreamTags, created, events.TagRenamed{TagID: id, Label: "stolen", At: noon},
		},
		"deletion": {Tags, events.StreamTags, created, events.TagDeleted{TagID: id, At: noon}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := withTimeout(t)
			w := newWorkshop(t, tc.projection)
			p := w.projector(ctx, t)
			sound := record(nil, tc.prefix+owner, 0, tc.sound)
			log := record(sound, tc.prefix+stranger, 0, tc.foreign)

			mustHandle(ctx, t, p, log)
			letters, err := DeadLetters(ctx, w.db, tc.projection)
			if err != nil || len(letters) != 1 || letters[0].EventID != log[1].ID {
				t.Errorf("letters %+v, %v", letters, err)
			}
			reference := newWorkshop(t, tc.projection)
			mustHandle(ctx, t, reference.projector(ctx, t), sound)
			if got, want := w.dump(ctx, t), reference.dump(ctx, t); got != want {
				t.Errorf("tables\n%s, want\n%s", got, want)
			}
		})
	}
}
