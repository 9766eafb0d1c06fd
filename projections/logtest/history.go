package logtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// History is a consistent log, with the content that the read models must have. It computes that
// content in the simplest way.
type History struct {
	T   *rapid.T // draws the log
	Log []eventstore.Recorded

	Accounts []*Account
	Links    []*Link
	People   []*Person

	revisions map[string]eventstore.Revision
	most      int // maximum number of values of a dimension
	rotated   int // 2: no node has the previous visitor key any more
}

// Person is the expected row of a person.
type Person struct {
	ID     uuid.UUID
	Box    string
	Erased bool
}

// Member is the expected row of a member.
type Member struct {
	Role, Group string
	Changed     int64 // commit position
	Ended       bool
}

// Account is the expected content of an account.
type Account struct {
	ID              uuid.UUID
	Plan            string
	Keys            map[string]*Key // by id, also the revoked ones
	Members         map[uuid.UUID]*Member
	Active          bool
	Expires         string
	URLs, Deletions int64
	Tags            []uuid.UUID
	Labels          map[uuid.UUID]string
	EverLabels      []string
}

// Key is the expected row of a key.
type Key struct {
	Hash  string
	Terms events.KeyTerms
	Ended bool
}

// Link is the expected content of a link.
type Link struct {
	ID      uuid.UUID
	Account *Account
	Hash    string
	LongURL string
	Note    string
	Tags    []uuid.UUID
	Deleted bool
	// Revision is the revision of the last change.
	Revision int64
	Visited  bool
	Clicks   int64
	// Visitors has the day of the first click, or "" for a further hash of a visitor who has a day.
	Visitors   map[string]string
	Days       map[string]int64
	Dimensions Dimensions
	Last       time.Time
	Batches    []string // batches that changed the link, each once

	resets []reset // resets that were not undone
}

// reset is what a reset of the statistics removed.
type reset struct {
	revision   uint64
	clicks     int64
	visitors   map[string]string
	days       map[string]int64
	dimensions Dimensions
}

// New returns a history with one account. A link has up to most values of a dimension on a day.
func New(t *rapid.T, most int) *History {
	h := &History{T: t, most: most, revisions: make(map[string]eventstore.Revision)}
	h.OpenAccount()
	return h
}

// Draw draws a history.
func Draw(t *rapid.T) *History { return DrawBounded(t, readmodel.MaxValues) }

// DrawBounded draws a history in which a link has up to most values of a dimension on a day.
func DrawBounded(t *rapid.T, most int) *History {
	h := New(t, most)
	steps := []func(){
		h.OpenAccount, h.ChangeAccount, h.ChangePeople, h.ChangeMembers, h.CreateTag, h.ChangeTag,
		h.CreateLink, h.CreateLink, h.CreateLink,
		h.EditLink, h.EditLink, h.EditLink, h.TagLink, h.TagLink, h.DeleteLink, h.RestoreLink,
		h.AbandonClaim, h.Claim, h.Click, h.Click, h.Click,
		h.ResetStats, h.ResetStats, h.RestoreStats, h.RestoreStats,
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
	}
	return h
}

// Append appends an event to a stream of the history.
func (h *History) Append(stream string, e events.Event) {
	h.Log = Record(h.Log, stream, h.revisions[stream], e)
	h.revisions[stream]++
}

// appendTo appends an event of a link. The event may belong to a batch.
func (h *History) appendTo(l *Link, e events.Event) {
	h.Append(events.LinkStream(l.ID.String()), e)
	batch := rapid.SampledFrom([]string{"", "no id", uuid.Nil.String(), uuid.Max.String()}).Draw(h.T, "batch")
	h.Log[len(h.Log)-1].Metadata = fmt.Appendf(nil, `{"batch":%q,"account":%q,"key":%q,"undoes":%q,"user":%q,"via":%q}`,
		batch, l.Account.ID, rapid.SampledFrom([]string{"", "k"}).Draw(h.T, "key"),
		rapid.SampledFrom([]string{"", uuid.Max.String()}).Draw(h.T, "undoes"),
		rapid.SampledFrom([]string{"", "no id", uuid.Max.String()}).Draw(h.T, "user"),
		rapid.SampledFrom([]string{"", events.ViaConsole}).Draw(h.T, "via"))
	if uuid.Validate(batch) == nil && !slices.Contains(l.Batches, batch) {
		l.Batches = append(l.Batches, batch)
	}
}

func (h *History) newID() uuid.UUID {
	return uuid.NewSHA1(uuid.Nil, fmt.Append(nil, "id", len(h.Log)))
}

// At draws a time.
func (h *History) At() time.Time {
	minutes := rapid.IntRange(0, 3*24*60).Draw(h.T, "at")
	return Noon.Add(time.Duration(minutes) * time.Minute) // the history spans the end of a month
}

// Text draws a text. Some have letters that need care in SQL.
func (h *History) Text() string {
	return rapid.SampledFrom([]string{
		"", "plain", `quote ' " \ back`, "{braces},NULL", "?0 ?schema ?", "Grüße 世界 🎉", "line\nbreak\ttab", `\x00`,
		"NULL", WithNUL,
	}).Draw(h.T, "text")
}
