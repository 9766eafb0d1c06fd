package logtest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
)

// CreateLink creates a link, with or without a tag.
func (h *History) CreateLink() {
	a := h.Account()
	l := &Link{
		ID: h.newID(), Account: a, Hash: fmt.Sprintf("h%d", len(h.Log)), LongURL: h.Text(), Note: h.Text(),
		Visitors: make(map[string]string), Days: make(map[string]int64), Dimensions: make(Dimensions),
	}
	generated := rapid.Bool().Draw(h.T, "generated")
	if generated {
		id, _ := events.LinkOfHash(l.Hash)
		l.ID = uuid.MustParse(id)
	}
	var tags []string
	if len(a.Tags) > 0 && rapid.Bool().Draw(h.T, "tagged") {
		l.Tags = []uuid.UUID{a.Tags[0]}
		tags = []string{a.Tags[0].String()}
	}
	at := h.At()
	h.Links = append(h.Links, l)
	a.URLs++
	h.appendTo(l, events.URLCreated{
		ClaimsHash: generated, URLID: l.ID.String(), Account: a.ID.String(), Hash: l.Hash, LongURL: l.LongURL, Note: l.Note, Tags: tags,
		Settings: events.Settings{
			ExpirationDate: rapid.SampledFrom([]string{"", "0001-01-01", "2028-02-29", "9999-12-31"}).Draw(
				h.T, "expires",
			),
			MaxClicks: rapid.Int64Min(0).Draw(h.T, "max"),
		}, At: at,
	})
}

// Live draws one of the links that are not deleted. It returns nil if there are none.
func (h *History) Live() *Link {
	live := slices.DeleteFunc(slices.Clone(h.Links), func(l *Link) bool { return l.Deleted })
	if len(live) == 0 {
		return nil
	}
	return rapid.SampledFrom(live).Draw(h.T, "link")
}

func (h *History) change(l *Link, e events.Event) {
	l.Revision = int64(h.revisions[events.LinkStream(l.ID.String())])
	h.appendTo(l, e)
}

// EditLink gives a link another target, another hash or other settings.
func (h *History) EditLink() {
	l := h.Live()
	if l == nil {
		return
	}
	switch rapid.IntRange(0, 2).Draw(h.T, "edit") {
	case 0:
		l.LongURL = h.Text()
		h.change(l, events.URLRetargeted{LongURL: l.LongURL, At: h.At()})
	case 1:
		from := l.Hash
		l.Hash = fmt.Sprintf("r%d", len(h.Log))
		h.change(l, events.URLRenamed{From: from, To: l.Hash, At: h.At()})
	default:
		l.Note = h.Text()
		note, date, yes := l.Note, rapid.SampledFrom([]string{"", "2030-01-31"}).Draw(
			h.T, "expires",
		), rapid.Bool().Draw(h.T, "flag")
		h.change(
			l,
			events.URLSettingsChanged{
				Note: &note, SettingsChange: events.SettingsChange{ExpirationDate: &date, Archived: &yes, Ping: &yes},
				At: h.At(),
			},
		)
	}
}

// TagLink adds a tag to a link, or removes one.
func (h *History) TagLink() {
	l := h.Live()
	if l == nil || len(l.Account.Tags) == 0 {
		return
	}
	id := rapid.SampledFrom(l.Account.Tags).Draw(h.T, "tag")
	if i := slices.Index(l.Tags, id); i >= 0 && rapid.Bool().Draw(h.T, "untag") {
		l.Tags = slices.Delete(slices.Clone(l.Tags), i, i+1)
		h.change(l, events.URLUntagged{Tags: []string{id.String()}, At: h.At()})
		return
	} else if i < 0 {
		l.Tags = append(l.Tags, id)
	}
	h.change(l, events.URLTagged{Tags: []string{id.String()}, At: h.At()})
}

// DeleteLink deletes a link.
func (h *History) DeleteLink() {
	l := h.Live()
	if l == nil {
		return
	}
	l.Deleted = true
	l.Account.Deletions++
	l.Account.URLs--
	h.change(l, events.URLDeleted{Account: l.Account.ID.String(), Hash: l.Hash, At: h.At()})
}

// AbandonClaim appends an abandoned claim to the stream of an existing link, or to that of a link
// that was never created.
func (h *History) AbandonClaim() {
	id := h.newID()
	if l := h.Live(); l != nil && rapid.Bool().Draw(h.T, "existing") {
		id = l.ID
	}
	h.Append(events.LinkStream(id.String()), events.ClaimAbandoned{Hash: "never", At: h.At()})
	if rapid.Bool().Draw(h.T, "creation") {
		h.Append(events.StreamURL+h.newID().String(), events.CreationAbandoned{At: h.At()})
	}
}

// Claim appends the claim or release of a hash to the stream of that hash, which may also be the
// stream of a link.
func (h *History) Claim() {
	stream := events.StreamHash + fmt.Sprint("claimed", len(h.Log))
	if l := h.Live(); l != nil && rapid.Bool().Draw(h.T, "existing") {
		stream = events.StreamHash + l.Hash
	}
	if rapid.Bool().Draw(h.T, "release") {
		h.Append(stream, events.HashReleased{At: h.At()})
	} else {
		h.Append(stream, events.HashClaimed{At: h.At()})
	}
}

// RestoreLink restores a deleted link under a new hash.
func (h *History) RestoreLink() {
	deleted := slices.DeleteFunc(slices.Clone(h.Links), func(l *Link) bool { return !l.Deleted })
	if len(deleted) == 0 {
		return
	}
	l := rapid.SampledFrom(deleted).Draw(h.T, "deleted")
	l.Deleted, l.Hash = false, fmt.Sprintf("d%d", len(h.Log))
	l.Account.URLs++
	h.change(l, events.URLRestored{Account: l.Account.ID.String(), Hash: l.Hash, At: h.At()})
}

// ResetStats resets the statistics of a link.
func (h *History) ResetStats() {
	l := h.Live()
	if l == nil {
		return
	}
	h.change(l, events.URLStatsReset{At: h.At()})
	l.resets = append(l.resets, reset{uint64(l.Revision), l.Clicks, l.Visitors, l.Days, l.Dimensions}) //nolint:gosec // it is small
	l.Clicks, l.Visitors, l.Days, l.Dimensions = 0, make(
		map[string]string,
	), make(map[string]int64), make(Dimensions)
}

// RestoreStats undoes the last reset of a link.
func (h *History) RestoreStats() {
	l := h.Live()
	if l == nil || len(l.resets) == 0 {
		return
	}
	before := l.resets[len(l.resets)-1]
	l.resets = l.resets[:len(l.resets)-1]
	l.Clicks += before.clicks
	maps.Copy(l.Visitors, before.visitors)
	for day, clicks := range before.days {
		l.Days[day] += clicks
	}
	for of, values := range before.dimensions {
		for _, value := range slices.Sorted(maps.Keys(values)) {
			l.Dimensions.Add(of, value, values[value], h.most)
		}
	}
	h.change(l, events.URLStatsRestored{Reset: before.revision, At: h.At()})
}
