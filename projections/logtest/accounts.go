package logtest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
)

// OpenAccount opens an account with one key.
func (h *History) OpenAccount() {
	a := &Account{
		ID: h.newID(), Plan: h.Text(), Active: true, Keys: map[string]*Key{"k": {Hash: h.Text()}},
		Labels: make(map[uuid.UUID]string), Members: make(map[uuid.UUID]*Member),
	}
	h.Accounts = append(h.Accounts, a)
	h.Append(events.StreamAccount+a.ID.String(), events.AccountOpened{
		Account: a.ID.String(), Username: "user" + a.ID.String(), Plan: a.Plan, KeyID: "k", KeyHash: a.Keys["k"].Hash, At: h.At(),
	})
}

// Account draws an account of the history.
func (h *History) Account() *Account {
	return rapid.SampledFrom(h.Accounts).Draw(h.T, "account")
}

// ChangeAccount changes the keys, the plan, the expiry or the activity of an account.
func (h *History) ChangeAccount() {
	a := h.Account()
	stream := events.StreamAccount + a.ID.String()
	switch rapid.IntRange(0, 4).Draw(h.T, "change") {
	case 0:
		h.changeKeys(stream, a)
	case 1:
		a.Plan = h.Text()
		h.Append(stream, events.PlanChanged{Plan: a.Plan, At: h.At()})
	case 2:
		a.Expires = rapid.SampledFrom([]string{"", "2028-02-29", "9999-12-31"}).Draw(h.T, "expires")
		h.Append(stream, events.AccountExpiryChanged{ExpirationDate: a.Expires, At: h.At()})
	default:
		if a.Active = !a.Active; a.Active {
			h.Append(stream, events.AccountReactivated{At: h.At()})
		} else {
			h.Append(stream, events.AccountDeactivated{At: h.At()})
		}
	}
}

// changeKeys adds a key, changes or revokes a working key, or rotates the keys.
func (h *History) changeKeys(stream string, a *Account) {
	var working []string
	for _, id := range slices.Sorted(maps.Keys(a.Keys)) {
		if !a.Keys[id].Ended {
			working = append(working, id)
		}
	}
	terms := events.KeyTerms{
		Name: h.Text(), Tags: h.Text(), Expires: rapid.SampledFrom([]string{"", "2028-02-29"}).Draw(h.T, "expires"),
		Scopes:   rapid.SampledFrom([][]string{nil, {"a"}, {"a:b", "c"}}).Draw(h.T, "scopes"),
		Networks: rapid.SampledFrom([][]string{nil, {"192.0.2.0/24", "::/0"}}).Draw(h.T, "networks"),
	}
	id, hash := fmt.Sprint("k", len(h.Log)), h.Text()
	what := rapid.IntRange(0, 3).Draw(h.T, "change of keys")
	if len(working) == 0 {
		what = 0
	}
	switch what {
	case 0:
		a.Keys[id] = &Key{Hash: hash, Terms: terms}
		h.Append(stream, events.KeyAdded{KeyID: id, KeyHash: hash, KeyTerms: terms, At: h.At()})
	case 1:
		id = rapid.SampledFrom(working).Draw(h.T, "key")
		a.Keys[id].Terms = terms
		h.Append(stream, events.KeyChanged{KeyID: id, KeyTerms: terms, At: h.At()})
	case 2:
		id = rapid.SampledFrom(working).Draw(h.T, "key")
		a.Keys[id].Ended = true
		h.Append(stream, events.KeyRevoked{KeyID: id, At: h.At()})
	default:
		for _, id := range working {
			a.Keys[id].Ended = true
		}
		a.Keys[id] = &Key{Hash: hash}
		h.Append(stream, events.KeyRotated{KeyID: id, KeyHash: hash, At: h.At()})
	}
}

// ChangePeople records a new person or new details of one, or erases one.
func (h *History) ChangePeople() {
	var known []*Person
	for _, p := range h.People {
		if !p.Erased {
			known = append(known, p)
		}
	}
	what := rapid.IntRange(0, 2).Draw(h.T, "change of people")
	if len(known) == 0 {
		what = 0
	}
	var p *Person
	if what == 0 {
		p = &Person{ID: h.newID()}
		h.People = append(h.People, p)
	} else {
		p = rapid.SampledFrom(known).Draw(h.T, "person")
	}
	stream := events.StreamUser + p.ID.String()
	if what == 2 {
		p.Box, p.Erased = "", true
		h.Append(stream, events.UserErased{At: h.At()})
		return
	}
	box := []byte(h.Text())
	p.Box = base64.StdEncoding.EncodeToString(box)
	h.Append(stream, events.UserKnown{
		User: p.ID.String(), At: h.At(), Sealed: &events.Sealed{Account: p.ID.String(), Box: box},
	})
}

// ChangeMembers gives a person a role, or ends the membership of one. The person need not be known.
func (h *History) ChangeMembers() {
	a := h.Account()
	stream := events.StreamAccount + a.ID.String()
	users := []uuid.UUID{uuid.Max}
	for _, p := range h.People {
		users = append(users, p.ID)
	}
	user := rapid.SampledFrom(users).Draw(h.T, "user")
	if known := a.Members[user]; known != nil && !known.Ended && rapid.Bool().Draw(h.T, "remove") {
		known.Ended = true
		h.Append(stream, events.MemberRemoved{User: user.String(), At: h.At()})
		known.Changed = int64(h.Log[len(h.Log)-1].Position.Commit) //nolint:gosec // it is small
		return
	}
	set := &Member{Role: h.Text(), Group: h.Text()}
	a.Members[user] = set
	h.Append(stream, events.MemberSet{User: user.String(), Role: set.Role, Group: set.Group, At: h.At()})
	set.Changed = int64(h.Log[len(h.Log)-1].Position.Commit) //nolint:gosec // it is small
}

// CreateTag creates a tag.
func (h *History) CreateTag() {
	a := h.Account()
	id := h.newID()
	a.Tags = append(a.Tags, id)
	a.label(id, h.Text(), len(h.Log))
	h.Append(events.StreamTags+a.ID.String(), events.TagCreated{
		TagID: id.String(), Account: a.ID.String(), Label: a.Labels[id], At: h.At(),
	})
}

// label gives a tag a label that no other tag has.
func (a *Account) label(tag uuid.UUID, text string, n int) {
	a.Labels[tag] = fmt.Sprint(text, n)
	a.EverLabels = append(a.EverLabels, a.Labels[tag])
}

// ChangeTag renames or deletes a tag.
func (h *History) ChangeTag() {
	a := h.Account()
	if len(a.Tags) == 0 {
		return
	}
	id := rapid.SampledFrom(a.Tags).Draw(h.T, "tag")
	if rapid.Bool().Draw(h.T, "delete") {
		a.Tags = slices.DeleteFunc(slices.Clone(a.Tags), func(tag uuid.UUID) bool { return tag == id })
		delete(a.Labels, id)
		h.Append(events.StreamTags+a.ID.String(), events.TagDeleted{TagID: id.String(), At: h.At()})
		return
	}
	a.label(id, h.Text(), len(h.Log))
	h.Append(events.StreamTags+a.ID.String(), events.TagRenamed{TagID: id.String(), Label: a.Labels[id], At: h.At()})
}
