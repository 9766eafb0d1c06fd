package projections

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// drawnHistory draws a consistent log and computes the expected content of the read models in the
// simplest way.
type drawnHistory struct {
	t   *rapid.T
	log []eventstore.Recorded

	revisions map[string]eventstore.Revision
	most      int // maximum number of values of a dimension
	rotated   int // 2: no node has the previous visitor key any more
	accounts  []*expectedAccount
	links     []*expectedLink
	people    []*expectedPerson
}

type expectedPerson struct {
	id     uuid.UUID
	box    string
	erased bool
}

type expectedMember struct {
	role, group string
	changed     int64 // commit position
	ended       bool
}

type expectedAccount struct {
	id              uuid.UUID
	plan            string
	keys            map[string]*expectedKey // by id, also the revoked ones
	members         map[uuid.UUID]*expectedMember
	active          bool
	expires         string
	urls, deletions int64
	tags            []uuid.UUID
	labels          map[uuid.UUID]string
	everLabels      []string
}

type expectedKey struct {
	hash  string
	terms events.KeyTerms
	ended bool
}

type expectedLink struct {
	id         uuid.UUID
	account    *expectedAccount
	hash       string
	longURL    string
	note       string
	tags       []uuid.UUID
	deleted    bool
	revision   int64
	visited    bool
	clicks     int64
	visitors   map[string]string // day of the first click, or "" for a further hash of a visitor who has a day
	days       map[string]int64
	dimensions dimensionCounts
	last       time.Time
	resets     []expectedReset // resets that were not undone
	batches    []string        // batches that changed the link, each once
}

// expectedReset is what a reset of the statistics removed.
type expectedReset struct {
	revision   uint64
	clicks     int64
	visitors   map[string]string
	days       map[string]int64
	dimensions dimensionCounts
}

func drawHistory(t *rapid.T) *drawnHistory { return drawHistoryOf(t, readmodel.MaxValues) }

// drawHistoryOf draws a history in which a link has at most this many values of a dimension on a
// day.
func drawHistoryOf(t *rapid.T, most int) *drawnHistory {
	h := &drawnHistory{t: t, most: most, revisions: make(map[string]eventstore.Revision)}
	h.openAccount()
	steps := []func(){
		h.openAccount, h.changeAccount, h.changePeople, h.changeMembers, h.createTag, h.changeTag, h.createLink, h.createLink, h.createLink,
		h.editLink, h.editLink, h.editLink, h.tagLink, h.tagLink, h.deleteLink, h.restoreLink, h.abandonClaim, h.claim,
		h.click,
		h.click, h.click, h.resetStats, h.resetStats, h.restoreStats, h.restoreStats,
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
	}
	return h
}

func (h *drawnHistory) append(stream string, e events.Event) {
	h.log = record(h.log, stream, h.revisions[stream], e)
	h.revisions[stream]++
}

// appendTo appends an event of a link. The event may belong to a batch.
func (h *drawnHistory) appendTo(l *expectedLink, e events.Event) {
	h.append(events.LinkStream(l.id.String()), e)
	batch := rapid.SampledFrom([]string{"", "no id", uuid.Nil.String(), uuid.Max.String()}).Draw(h.t, "batch")
	h.log[len(h.log)-1].Metadata = fmt.Appendf(nil, `{"batch":%q,"account":%q,"key":%q,"undoes":%q,"user":%q,"via":%q}`,
		batch, l.account.id, rapid.SampledFrom([]string{"", "k"}).Draw(h.t, "key"),
		rapid.SampledFrom([]string{"", uuid.Max.String()}).Draw(h.t, "undoes"),
		rapid.SampledFrom([]string{"", "no id", uuid.Max.String()}).Draw(h.t, "user"),
		rapid.SampledFrom([]string{"", events.ViaConsole}).Draw(h.t, "via"))
	if uuid.Validate(batch) == nil && !slices.Contains(l.batches, batch) {
		l.batches = append(l.batches, batch)
	}
}

func (h *drawnHistory) id() uuid.UUID {
	return uuid.NewSHA1(uuid.Nil, fmt.Append(nil, "id", len(h.log)))
}

func (h *drawnHistory) at() time.Time {
	minutes := rapid.IntRange(0, 3*24*60).Draw(h.t, "at")
	return noon.Add(time.Duration(minutes) * time.Minute) // the history spans the end of a month
}

func (h *drawnHistory) text() string {
	return rapid.SampledFrom([]string{
		"", "plain", `quote ' " \ back`, "{braces},NULL", "?0 ?schema ?", "Grüße 世界 🎉", "line\nbreak\ttab", `\x00`,
		"NULL", withNUL,
	}).Draw(h.t, "text")
}

func (h *drawnHistory) openAccount() {
	a := &expectedAccount{
		id: h.id(), plan: h.text(), active: true, keys: map[string]*expectedKey{"k": {hash: h.text()}},
		labels: make(map[uuid.UUID]string), members: make(map[uuid.UUID]*expectedMember),
	}
	h.accounts = append(h.accounts, a)
	h.append(events.StreamAccount+a.id.String(), events.AccountOpened{
		Account: a.id.String(), Username: "user" + a.id.String(), Plan: a.plan, KeyID: "k", KeyHash: a.keys["k"].hash, At: h.at(),
	})
}

func (h *drawnHistory) account() *expectedAccount {
	return rapid.SampledFrom(h.accounts).Draw(h.t, "account")
}

func (h *drawnHistory) changeAccount() {
	a := h.account()
	stream := events.StreamAccount + a.id.String()
	switch rapid.IntRange(0, 4).Draw(h.t, "change") {
	case 0:
		h.changeKeys(stream, a)
	case 1:
		a.plan = h.text()
		h.append(stream, events.PlanChanged{Plan: a.plan, At: h.at()})
	case 2:
		a.expires = rapid.SampledFrom([]string{"", "2028-02-29", "9999-12-31"}).Draw(h.t, "expires")
		h.append(stream, events.AccountExpiryChanged{ExpirationDate: a.expires, At: h.at()})
	default:
		if a.active = !a.active; a.active {
			h.append(stream, events.AccountReactivated{At: h.at()})
		} else {
			h.append(stream, events.AccountDeactivated{At: h.at()})
		}
	}
}

// changeKeys adds a key, or changes or ends one that works, or ends all.
func (h *drawnHistory) changeKeys(stream string, a *expectedAccount) {
	var working []string
	for _, id := range slices.Sorted(maps.Keys(a.keys)) {
		if !a.keys[id].ended {
			working = append(working, id)
		}
	}
	terms := events.KeyTerms{
		Name: h.text(), Tags: h.text(), Expires: rapid.SampledFrom([]string{"", "2028-02-29"}).Draw(h.t, "expires"),
		Scopes:   rapid.SampledFrom([][]string{nil, {"a"}, {"a:b", "c"}}).Draw(h.t, "scopes"),
		Networks: rapid.SampledFrom([][]string{nil, {"192.0.2.0/24", "::/0"}}).Draw(h.t, "networks"),
	}
	id, hash := fmt.Sprint("k", len(h.log)), h.text()
	what := rapid.IntRange(0, 3).Draw(h.t, "change of keys")
	if len(working) == 0 {
		what = 0
	}
	switch what {
	case 0:
		a.keys[id] = &expectedKey{hash: hash, terms: terms}
		h.append(stream, events.KeyAdded{KeyID: id, KeyHash: hash, KeyTerms: terms, At: h.at()})
	case 1:
		id = rapid.SampledFrom(working).Draw(h.t, "key")
		a.keys[id].terms = terms
		h.append(stream, events.KeyChanged{KeyID: id, KeyTerms: terms, At: h.at()})
	case 2:
		id = rapid.SampledFrom(working).Draw(h.t, "key")
		a.keys[id].ended = true
		h.append(stream, events.KeyRevoked{KeyID: id, At: h.at()})
	default:
		for _, id := range working {
			a.keys[id].ended = true
		}
		a.keys[id] = &expectedKey{hash: hash}
		h.append(stream, events.KeyRotated{KeyID: id, KeyHash: hash, At: h.at()})
	}
}

// changePeople records a new person or new details of one, or erases one.
func (h *drawnHistory) changePeople() {
	var known []*expectedPerson
	for _, p := range h.people {
		if !p.erased {
			known = append(known, p)
		}
	}
	what := rapid.IntRange(0, 2).Draw(h.t, "change of people")
	if len(known) == 0 {
		what = 0
	}
	var p *expectedPerson
	if what == 0 {
		p = &expectedPerson{id: h.id()}
		h.people = append(h.people, p)
	} else {
		p = rapid.SampledFrom(known).Draw(h.t, "person")
	}
	stream := events.StreamUser + p.id.String()
	if what == 2 {
		p.box, p.erased = "", true
		h.append(stream, events.UserErased{At: h.at()})
		return
	}
	box := []byte(h.text())
	p.box = base64.StdEncoding.EncodeToString(box)
	h.append(stream, events.UserKnown{
		User: p.id.String(), At: h.at(), Sealed: &events.Sealed{Account: p.id.String(), Box: box},
	})
}

// changeMembers gives a person a role, or ends the membership of one. The person need not be known.
func (h *drawnHistory) changeMembers() {
	a := h.account()
	stream := events.StreamAccount + a.id.String()
	users := []uuid.UUID{uuid.Max}
	for _, p := range h.people {
		users = append(users, p.id)
	}
	user := rapid.SampledFrom(users).Draw(h.t, "user")
	if known := a.members[user]; known != nil && !known.ended && rapid.Bool().Draw(h.t, "remove") {
		known.ended = true
		h.append(stream, events.MemberRemoved{User: user.String(), At: h.at()})
		known.changed = int64(h.log[len(h.log)-1].Position.Commit)
		return
	}
	set := &expectedMember{role: h.text(), group: h.text()}
	a.members[user] = set
	h.append(stream, events.MemberSet{User: user.String(), Role: set.role, Group: set.group, At: h.at()})
	set.changed = int64(h.log[len(h.log)-1].Position.Commit)
}

func (h *drawnHistory) createTag() {
	a := h.account()
	id := h.id()
	a.tags = append(a.tags, id)
	a.label(id, h.text(), len(h.log))
	h.append(events.StreamTags+a.id.String(), events.TagCreated{
		TagID: id.String(), Account: a.id.String(), Label: a.labels[id], At: h.at(),
	})
}

// label gives a tag a label that no other tag has.
func (a *expectedAccount) label(tag uuid.UUID, text string, n int) {
	a.labels[tag] = fmt.Sprint(text, n)
	a.everLabels = append(a.everLabels, a.labels[tag])
}

func (h *drawnHistory) changeTag() {
	a := h.account()
	if len(a.tags) == 0 {
		return
	}
	id := rapid.SampledFrom(a.tags).Draw(h.t, "tag")
	if rapid.Bool().Draw(h.t, "delete") {
		a.tags = slices.DeleteFunc(slices.Clone(a.tags), func(tag uuid.UUID) bool { return tag == id })
		delete(a.labels, id)
		h.append(events.StreamTags+a.id.String(), events.TagDeleted{TagID: id.String(), At: h.at()})
		return
	}
	a.label(id, h.text(), len(h.log))
	h.append(events.StreamTags+a.id.String(), events.TagRenamed{TagID: id.String(), Label: a.labels[id], At: h.at()})
}

func (h *drawnHistory) createLink() {
	a := h.account()
	l := &expectedLink{
		id: h.id(), account: a, hash: fmt.Sprintf("h%d", len(h.log)), longURL: h.text(), note: h.text(),
		visitors: make(map[string]string), days: make(map[string]int64), dimensions: make(dimensionCounts),
	}
	generated := rapid.Bool().Draw(h.t, "generated")
	if generated {
		id, _ := events.LinkOfHash(l.hash)
		l.id = uuid.MustParse(id)
	}
	var tags []string
	if len(a.tags) > 0 && rapid.Bool().Draw(h.t, "tagged") {
		l.tags = []uuid.UUID{a.tags[0]}
		tags = []string{a.tags[0].String()}
	}
	at := h.at()
	h.links = append(h.links, l)
	a.urls++
	h.appendTo(l, events.URLCreated{
		ClaimsHash: generated, URLID: l.id.String(), Account: a.id.String(), Hash: l.hash, LongURL: l.longURL, Note: l.note, Tags: tags,
		Settings: events.Settings{
			ExpirationDate: rapid.SampledFrom([]string{"", "0001-01-01", "2028-02-29", "9999-12-31"}).Draw(
				h.t, "expires",
			),
			MaxClicks: rapid.Int64Min(0).Draw(h.t, "max"),
		}, At: at,
	})
}

// live draws one of the links that are not deleted. It returns nil if there are none.
func (h *drawnHistory) live() *expectedLink {
	live := slices.DeleteFunc(slices.Clone(h.links), func(l *expectedLink) bool { return l.deleted })
	if len(live) == 0 {
		return nil
	}
	return rapid.SampledFrom(live).Draw(h.t, "link")
}

func (h *drawnHistory) change(l *expectedLink, e events.Event) {
	l.revision = int64(h.revisions[events.LinkStream(l.id.String())])
	h.appendTo(l, e)
}

func (h *drawnHistory) editLink() {
	l := h.live()
	if l == nil {
		return
	}
	switch rapid.IntRange(0, 2).Draw(h.t, "edit") {
	case 0:
		l.longURL = h.text()
		h.change(l, events.URLRetargeted{LongURL: l.longURL, At: h.at()})
	case 1:
		from := l.hash
		l.hash = fmt.Sprintf("r%d", len(h.log))
		h.change(l, events.URLRenamed{From: from, To: l.hash, At: h.at()})
	default:
		l.note = h.text()
		note, date, yes := l.note, rapid.SampledFrom([]string{"", "2030-01-31"}).Draw(
			h.t, "expires",
		), rapid.Bool().Draw(h.t, "flag")
		h.change(
			l,
			events.URLSettingsChanged{
				Note: &note, SettingsChange: events.SettingsChange{ExpirationDate: &date, Archived: &yes, Ping: &yes},
				At: h.at(),
			},
		)
	}
}

func (h *drawnHistory) tagLink() {
	l := h.live()
	if l == nil || len(l.account.tags) == 0 {
		return
	}
	id := rapid.SampledFrom(l.account.tags).Draw(h.t, "tag")
	if i := slices.Index(l.tags, id); i >= 0 && rapid.Bool().Draw(h.t, "untag") {
		l.tags = slices.Delete(slices.Clone(l.tags), i, i+1)
		h.change(l, events.URLUntagged{Tags: []string{id.String()}, At: h.at()})
		return
	} else if i < 0 {
		l.tags = append(l.tags, id)
	}
	h.change(l, events.URLTagged{Tags: []string{id.String()}, At: h.at()})
}

func (h *drawnHistory) deleteLink() {
	l := h.live()
	if l == nil {
		return
	}
	l.deleted = true
	l.account.deletions++
	l.account.urls--
	h.change(l, events.URLDeleted{Account: l.account.id.String(), Hash: l.hash, At: h.at()})
}

// abandonClaim appends to the stream of a link, or to the stream of a link that was never created.
func (h *drawnHistory) abandonClaim() {
	id := h.id()
	if l := h.live(); l != nil && rapid.Bool().Draw(h.t, "existing") {
		id = l.id
	}
	h.append(events.LinkStream(id.String()), events.ClaimAbandoned{Hash: "never", At: h.at()})
	if rapid.Bool().Draw(h.t, "creation") {
		h.append(events.StreamURL+h.id().String(), events.CreationAbandoned{At: h.at()})
	}
}

// claim appends a claim or a release to the stream of a hash, in which a link may live.
func (h *drawnHistory) claim() {
	stream := events.StreamHash + fmt.Sprint("claimed", len(h.log))
	if l := h.live(); l != nil && rapid.Bool().Draw(h.t, "existing") {
		stream = events.StreamHash + l.hash
	}
	if rapid.Bool().Draw(h.t, "release") {
		h.append(stream, events.HashReleased{At: h.at()})
	} else {
		h.append(stream, events.HashClaimed{At: h.at()})
	}
}

func (h *drawnHistory) click() {
	if len(h.links) == 0 {
		return
	}
	var batch events.ClicksRecorded
	for range rapid.IntRange(1, 5).Draw(h.t, "clicks") {
		l := rapid.SampledFrom(h.links).Draw(h.t, "clicked")
		visitor := rapid.SampledFrom([]string{"v1", "v2", "v'3"}).Draw(h.t, "visitor")
		at := h.at()
		click := events.Click{URLID: l.id.String(), Visitor: visitor, At: at}
		h.rotate(&click)
		h.addDimensions(l, &click)
		batch.Clicks = append(batch.Clicks, click)
		l.visited = true
		l.clicks++
		l.days[at.Format(time.DateOnly)]++
		l.see(click)
		if at.After(l.last) {
			l.last = at
		}
	}
	h.append(events.StreamClicks+"20260331-node", batch)
}

// rotate sets the hashes of a click's visitor. At first some nodes have both keys, later all nodes
// have only the new key.
func (h *drawnHistory) rotate(c *events.Click) {
	switch now, former := rapid.IntRange(h.rotated, 2).Draw(h.t, "key"), c.Visitor; now {
	case 0:
	case 1:
		c.Visitor, c.Former = "new "+former, former
	case 2:
		h.rotated = 2
		c.Visitor = "new " + former
	}
}

// see counts the visitor of a click, unless they are counted already.
func (l *expectedLink) see(c events.Click) {
	names := []string{c.Visitor}
	if c.Former != "" {
		names = []string{c.Former, c.Visitor}
	}
	known := slices.ContainsFunc(names, func(name string) bool { _, ok := l.visitors[name]; return ok })
	for i, name := range names {
		if _, ok := l.visitors[name]; ok {
			continue
		}
		l.visitors[name] = ""
		if i == 0 && !known {
			l.visitors[name] = c.At.Format(time.DateOnly)
		}
	}
}

// uniques returns the number of visitors by the day of their first click, and in total.
func (l *expectedLink) uniques() (days map[string]int64, all int64) {
	days = make(map[string]int64)
	for _, day := range l.visitors {
		if day != "" {
			days[day]++
			all++
		}
	}
	return days, all
}

// restoreLink restores a deleted link under a new hash.
func (h *drawnHistory) restoreLink() {
	deleted := slices.DeleteFunc(slices.Clone(h.links), func(l *expectedLink) bool { return !l.deleted })
	if len(deleted) == 0 {
		return
	}
	l := rapid.SampledFrom(deleted).Draw(h.t, "deleted")
	l.deleted, l.hash = false, fmt.Sprintf("d%d", len(h.log))
	l.account.urls++
	h.change(l, events.URLRestored{Account: l.account.id.String(), Hash: l.hash, At: h.at()})
}

// resetStats resets the statistics of a link.
func (h *drawnHistory) resetStats() {
	l := h.live()
	if l == nil {
		return
	}
	h.change(l, events.URLStatsReset{At: h.at()})
	l.resets = append(l.resets, expectedReset{uint64(l.revision), l.clicks, l.visitors, l.days, l.dimensions})
	l.clicks, l.visitors, l.days, l.dimensions = 0, make(
		map[string]string,
	), make(map[string]int64), make(dimensionCounts)
}

// restoreStats undoes the last reset of a link.
func (h *drawnHistory) restoreStats() {
	l := h.live()
	if l == nil || len(l.resets) == 0 {
		return
	}
	before := l.resets[len(l.resets)-1]
	l.resets = l.resets[:len(l.resets)-1]
	l.clicks += before.clicks
	maps.Copy(l.visitors, before.visitors)
	for day, clicks := range before.days {
		l.days[day] += clicks
	}
	for of, values := range before.dimensions {
		for _, value := range slices.Sorted(maps.Keys(values)) {
			l.dimensions.Add(of, value, values[value], h.most)
		}
	}
	h.change(l, events.URLStatsRestored{Reset: before.revision, At: h.at()})
}
