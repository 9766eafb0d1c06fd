package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linkledger/commands/people"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

// modelTag is a tag of the model. Links point to it, so renaming or deleting it does not change
// them.
type modelTag struct {
	label   string
	deleted bool
}

type modelLink struct {
	long, note, date  string
	max, clicks       int64
	protected, before bool // before: visited at any time, even before a reset
	tags              []*modelTag
}

// model is the contract's prediction for one account, and the account to which it is compared.
type model struct {
	c       *httpapitest.Client
	prefix  string // of the hashes of this account
	links   map[string]*modelLink
	tags    []*modelTag
	created int

	keys    []modelKey        // besides the first
	people  []string          // ids of persons who may become members
	members map[string]string // roles by person
}

// sent is an item of a call that creates or edits, as the client sends it.
type sent map[string]any

// TestCallsAnswerAsTheModelDoes checks that any sequence of calls, in any encoding, returns what
// the contract requires.
func TestCallsAnswerAsTheModelDoes(t *testing.T) {
	t.Parallel()
	var known *people.People
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.WaitTimeout, known = 10*time.Second, cfg.People })
	someone := persons(t, s, known, 2)
	accounts, outer := 0, t
	rapid.Check(t, func(t *rapid.T) {
		accounts++
		name := "m" + strconv.Itoa(accounts)
		m := &model{
			c: s.Client(outer, name), prefix: name + "-", links: make(map[string]*modelLink), people: someone,
			members: make(map[string]string),
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": m.create, "edit one": m.editOne, "edit the same": m.editSame, "edit each": m.editEach,
			"delete one": m.deleteOne, "delete some": m.deleteSome, "list": m.list, "visit": m.visit, "stats": m.stats,
			"tag": m.createTag, "rename tag": m.renameTag, "delete tag": m.deleteTag, "key": m.key, "member": m.member, "": m.account,
		})
	})
	verified(t, s)
	rebuilt(t, s)
}

func (m *model) hash(t *rapid.T) string {
	return m.prefix + rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "hash")
}

var modelLabels = rapid.SampledFrom([]string{"red", "RED", "blue", "green tea", "\U0001d518 書", "c++", "a/b"})

func (m *model) tag(label string) *modelTag {
	i := slices.IndexFunc(m.tags, func(tag *modelTag) bool { return strings.EqualFold(tag.label, label) })
	if i < 0 {
		return nil
	}
	return m.tags[i]
}

func (m *model) ensure(label string) *modelTag {
	if m.tag(label) == nil {
		m.tags = append(m.tags, &modelTag{label: label})
	}
	return m.tag(label)
}

// encode encodes items in one of the accepted encodings.
func encode(t *rapid.T, method string, items []sent) (string, string, []httpapitest.With) {
	if rapid.Bool().Draw(t, "JSON") {
		body, err := json.Marshal(map[string]any{"urls": items})
		if err != nil {
			t.Fatal(err)
		}
		return method, string(body), nil
	}
	form := make(url.Values)
	for i, item := range items {
		form.Set(fmt.Sprintf("urls[%d][x]", i), "ignored") // otherwise an item without fields would be missing
		for name, value := range item {
			key := fmt.Sprintf("urls[%d][%s]", i, name)
			if list, ok := value.([]string); ok {
				form[key+"[]"] = list
				continue
			}
			form.Set(key, fmt.Sprint(value))
		}
	}
	return http.MethodPost, form.Encode(), []httpapitest.With{
		httpapitest.Header("Content-Type", httpapitest.FormType), httpapitest.Header("X-HTTP-Method-Override", method),
	}
}

// summaryOf formats an item of a response so that it can be compared to the model's.
func summaryOf(i httpapitest.Item) string {
	if i.Error != nil && i.Code() != apierror.CodeOK {
		return fmt.Sprint("refused ", i.Code())
	}
	return fmt.Sprint(
		i.Hash, *i.LongURL, i.Note, httpapitest.Deref(i.ExpirationDate), i.MaxClicks, i.Protected, i.Tags, i.TotalClicks,
		i.UniqueClicks, i.Visited,
	)
}

func (m *model) has(hash string) string {
	l := m.links[hash]
	return fmt.Sprint(
		hash, l.long, l.note, l.date, l.max, l.protected, l.labels(), l.clicks, min(l.clicks, 1), l.before,
	)
}

func (l *modelLink) labels() []string {
	labels := []string{}
	for _, tag := range l.tags {
		if !tag.deleted {
			labels = append(labels, tag.label)
		}
	}
	return labels
}

// modelNotes are notes. The service keeps no control characters of them.
var modelNotes = rapid.SampledFrom([]string{
	"", "a&b=c +", "noted; 100%", strings.Repeat("é", 30), strings.Repeat("x", 26), strings.Repeat("💩", 26),
	"a\x00\x1b[31m\x7f\u009bb", "\u202eab\u2028\ufeff", "e\u0301👩\u200d👧", "\ufffe\ufffd",
})

// stored returns a note as links have it.
func stored(note string) string {
	kept := []rune(strings.NewReplacer("\x00", "", "\x1b", "", "\x7f", "", "\u009b", "").Replace(note))
	return string(kept[:min(len(kept), 25)])
}

// answers checks the status, the code and the items of a response.
func (m *model) answers(t *rapid.T, a *httpapitest.Answer, want apierror.Code, items ...string) {
	got := make([]string, len(a.URLs))
	for i := range a.URLs {
		got[i] = summaryOf(a.URLs[i])
	}
	if a.Code() != want || a.Status != want.Status() || !slices.Equal(got, items) {
		t.Fatalf("answered %d %s\n%q\nwant code %d\n%q", a.Status, a.Body, got, want, items)
	}
}

func refusedItem(c apierror.Code) string { return fmt.Sprint("refused ", c) }

// modelFaults are the faults that an item may have. The most frequent one is no fault.
var modelFaults = []struct {
	code  apierror.Code
	field string
	value any
}{
	{},
	{},
	{},
	{apierror.CodeInvalidURL, "long_url", "ftp://example.com/"},
	{apierror.CodeInvalidDate, "expiration_date", "2026-02-30"},
	{apierror.CodeInvalidLabel, "tags", []string{"a\"b"}},
	{apierror.CodeInvalidURL, "long_url", "https://example.com/\x00"},
	{apierror.CodeInvalidURL, "long_url", "https://example.com/\u0085a"},
	{apierror.CodeHashUnavailable, "custom_hash", "a\u202eb"},
	{apierror.CodeInvalidLabel, "tags", []string{"a\x00b"}},
	{apierror.CodeInvalidLabel, "tags", []string{"\x1b[31m"}},
}

func (m *model) create(t *rapid.T) {
	items := make([]sent, rapid.IntRange(1, 3).Draw(t, "items"))
	want := make([]string, len(items))
	for i := range items {
		fault := rapid.SampledFrom(modelFaults).Draw(t, "fault")
		items[i] = sent{
			"custom_hash": m.hash(t),
			"long_url": rapid.SampledFrom([]string{"https://example.com/", "https://example.com/?a=b&c=d+ü", "https://example.com/💩e\u0301#\U0010ffff"}).Draw(
				t, "long URL",
			),
			"note":            modelNotes.Draw(t, "note"),
			"max_clicks":      rapid.Int64Range(0, 1).Draw(t, "max") * 1000,
			"expiration_date": rapid.SampledFrom([]string{"", "2026-05-13", "2030-01-31"}).Draw(t, "date"),
			"tags":            rapid.SliceOfN(modelLabels, 1, 2).Draw(t, "tags"),
		}
		if fault.code != apierror.CodeOK {
			items[i][fault.field] = fault.value
			want[i] = refusedItem(fault.code)
			continue
		}
		for _, label := range items[i]["tags"].([]string) {
			m.ensure(label)
		}
	}
	for i, item := range items {
		hash := item["custom_hash"].(string)
		if want[i] != "" {
			continue
		}
		if m.links[hash] != nil {
			want[i] = refusedItem(apierror.CodeHashUnavailable)
			continue
		}
		link := &modelLink{
			long: item["long_url"].(string), max: item["max_clicks"].(int64), date: item["expiration_date"].(string),
		}
		link.apply(m, sent{"note": item["note"], "tags": item["tags"]})
		m.links[hash] = link
		m.created++
		want[i] = m.has(hash)
	}
	method, body, changes := encode(t, http.MethodPost, items)
	m.answers(t, m.c.Call(method, "/v3/urls", body, changes...), apierror.CodeOK, want...)
}
