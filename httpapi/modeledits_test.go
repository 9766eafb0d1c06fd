package httpapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
)

// edit draws an edit of one or more URLs. An edit with rename set is for a single URL.
func (m *model) edit(t *rapid.T, rename bool) sent {
	fields := []struct {
		name  string
		value any
	}{
		{"note", modelNotes.Draw(t, "note")},
		{
			"long_url",
			rapid.SampledFrom([]string{"https://example.com/2", "https://example.com/#f"}).Draw(t, "long URL"),
		},
		{"expiration_date", rapid.SampledFrom([]string{"", "2026-05-13", "2026-05-14"}).Draw(t, "date")},
		{"max_clicks", rapid.Int64Range(0, 1).Draw(t, "max") * 1000},
		{"protected", rapid.Bool().Draw(t, "protected")},
		{
			"tags",
			rapid.SampledFrom([][]string{{"+red"}, {"-RED"}, {"blue", "-green tea"}, {"+Blue"}, {"-none"}}).Draw(
				t, "tags",
			),
		},
		{"custom_hash", m.hash(t)},
	}
	edit := sent{}
	for _, field := range fields {
		if (rename || field.name != "custom_hash") && rapid.IntRange(0, 2).Draw(t, "with "+field.name) == 0 {
			edit[field.name] = field.value
		}
	}
	return edit
}

// prepare creates the tags that an edit attaches.
func (m *model) prepare(edit sent) {
	tags, _ := edit["tags"].([]string)
	for _, instruction := range tags {
		if !strings.HasPrefix(instruction, "-") {
			m.ensure(strings.TrimPrefix(instruction, "+"))
		}
	}
}

// do applies an edit to the URL under a hash, and returns the item that the contract requires.
func (m *model) do(hash string, edit sent) string {
	tags, _ := edit["tags"].([]string)
	for _, instruction := range tags {
		if label, detach := strings.CutPrefix(instruction, "-"); detach && m.tag(label) == nil {
			return refusedItem(apierror.CodeTagNotFound)
		}
	}
	link := m.links[hash]
	if link == nil {
		return refusedItem(apierror.CodeURLNotFound)
	}
	if to, renamed := edit["custom_hash"].(string); renamed && to != hash {
		if m.links[to] != nil {
			return refusedItem(apierror.CodeHashUnavailable)
		}
		delete(m.links, hash)
		m.links[to] = link
		hash = to
	}
	link.apply(m, edit)
	return m.has(hash)
}

func (l *modelLink) apply(m *model, edit sent) {
	for name, value := range edit {
		switch name {
		case "note":
			l.note = stored(value.(string))
		case "long_url":
			l.long = value.(string)
		case "expiration_date":
			l.date = value.(string)
		case "max_clicks":
			l.max = value.(int64)
		case "protected":
			l.protected = value.(bool)
		case "tags":
			for _, instruction := range value.([]string) {
				tag := m.tag(strings.TrimLeft(instruction, "+-"))
				has := slices.Contains(l.tags, tag)
				if strings.HasPrefix(instruction, "-") {
					l.tags = slices.DeleteFunc(l.tags, func(t *modelTag) bool { return t == tag })
				} else if !has {
					l.tags = append(l.tags, tag)
				}
			}
		}
	}
}

func (m *model) editOne(t *rapid.T) {
	hash, edit := m.hash(t), m.edit(t, true)
	m.prepare(edit)
	want := m.do(hash, edit)
	method, body, changes := encode(t, http.MethodPatch, []sent{edit})
	a := m.c.Call(method, "/v3/urls/"+hash, body, changes...)
	if want == refusedItem(apierror.CodeURLNotFound) {
		m.answers(t, a, apierror.CodeURLNotFound)
		return
	}
	m.answers(t, a, apierror.CodeOK, want)
}

func (m *model) someHashes(t *rapid.T) []string {
	return slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.Custom(m.hash), 1, 4).Draw(t, "hashes"))))
}

func (m *model) editSame(t *rapid.T) {
	hashes, edit := m.someHashes(t), m.edit(t, false)
	m.prepare(edit)
	want := make([]string, len(hashes))
	for i, hash := range hashes {
		want[i] = m.do(hash, edit)
	}
	method, body, changes := encode(t, http.MethodPatch, []sent{edit})
	m.answers(
		t, m.c.Call(method, "/v3/urls?hashes="+strings.Join(hashes, ","), body, changes...), apierror.CodeOK, want...,
	)
}

func (m *model) editEach(t *rapid.T) {
	edits := make([]sent, rapid.IntRange(1, 3).Draw(t, "items"))
	for i := range edits {
		edits[i] = m.edit(t, true)
		edits[i]["hash"] = m.hash(t)
		m.prepare(edits[i])
	}
	want := make([]string, len(edits))
	for i, edit := range edits {
		want[i] = m.do(edit["hash"].(string), edit)
	}
	method, body, changes := encode(t, http.MethodPatch, edits)
	m.answers(t, m.c.Call(method, "/v3/urls", body, changes...), apierror.CodeOK, want...)
}

func (m *model) deleteOne(t *rapid.T) {
	hash := m.hash(t)
	want := apierror.CodeOK
	switch link := m.links[hash]; {
	case link == nil:
		want = apierror.CodeURLNotFound
	case link.protected:
		want = apierror.CodeAccessDenied
	default:
		delete(m.links, hash)
	}
	m.answers(t, m.c.Call(http.MethodDelete, "/v3/urls/"+hash, ""), want)
}

func (m *model) deleteSome(t *rapid.T) {
	hashes := m.someHashes(t)
	for _, hash := range hashes {
		if link := m.links[hash]; link != nil && !link.protected {
			delete(m.links, hash)
		}
	}
	m.answers(t, m.c.Call(http.MethodDelete, "/v3/urls?hashes="+strings.Join(hashes, "%2C"), ""), apierror.CodeOK)
}

func (m *model) list(t *rapid.T) {
	label := modelLabels.Draw(t, "label")
	tagged := func(l *modelLink) bool {
		return slices.ContainsFunc(l.labels(), func(own string) bool { return strings.EqualFold(own, label) })
	}
	expressions := map[string]func(*modelLink) bool{
		"": func(*modelLink) bool { return true }, "protected": func(l *modelLink) bool { return l.protected },
		`+"` + label + `"`: tagged, `~"` + label + `"`: func(l *modelLink) bool { return !tagged(l) },
		`"` + label + `"|visited`:           func(l *modelLink) bool { return tagged(l) || l.before },
		`"` + label + `";~visited^archived`: func(l *modelLink) bool { return tagged(l) && !l.before },
	}
	expression := rapid.SampledFrom(slices.Sorted(maps.Keys(expressions))).Draw(t, "expression")
	offset, limit := rapid.IntRange(0, 4).Draw(t, "offset"), rapid.IntRange(1, 4).Draw(t, "limit")
	a := m.c.Call(
		http.MethodGet,
		fmt.Sprintf("/v3/urls?order_by=hash&offset=%d&limit=%d&tags=%s", offset, limit, url.QueryEscape(expression)),
		"",
	)
	if strings.Contains(expression, label) && m.tag(label) == nil {
		m.answers(t, a, apierror.CodeTagNotFound)
		return
	}
	var want []string
	for _, hash := range slices.Sorted(maps.Keys(m.links)) {
		if expressions[expression](m.links[hash]) {
			want = append(want, m.has(hash))
		}
	}
	total := len(want)
	want = want[min(offset, total):min(offset+limit, total)]
	m.answers(t, a, apierror.CodeOK, want...)
	if *a.Page != (contract.Page{ResultsCount: len(want), TotalCount: int64(total), Offset: offset}) {
		t.Fatalf("the page is %+v of %d", *a.Page, total)
	}
}

func (m *model) visit(t *rapid.T) {
	hash := m.hash(t)
	link, status := m.links[hash], 0
	if link != nil && (link.date == "" || link.date >= httpapitest.Noon[:len(link.date)]) {
		link.clicks++
		link.before, status = true, http.StatusFound
	}
	a := httpapitest.Send(m.c.T, m.c.Handler, http.MethodGet, "/"+hash, "", httpapitest.Header("User-Agent", httpapitest.Lynx))
	if status == http.StatusFound && a.Status != status || status == 0 && a.Status < 400 {
		t.Fatalf("%s is answered %d; want %d", hash, a.Status, status)
	}
}

func (m *model) stats(t *rapid.T) {
	hash, reset := m.hash(t), rapid.Bool().Draw(t, "reset")
	link, method, want := m.links[hash], http.MethodGet, apierror.CodeOK
	if reset {
		method = http.MethodDelete
	}
	if link == nil {
		want = apierror.CodeURLNotFound
	}
	a := m.c.Call(method, "/v3/stats/"+hash, "")
	m.answers(t, a, want)
	switch {
	case link == nil:
	case reset:
		link.clicks = 0
	case a.Stats[0].TotalClicks != link.clicks || a.Stats[0].UniqueClicks != min(link.clicks, 1):
		t.Fatalf("the stats are %+v; want %d", a.Stats[0], link.clicks)
	}
}

func (m *model) createTag(t *rapid.T) {
	label := modelLabels.Draw(t, "label")
	m.tagged(t, m.c.Call(http.MethodPost, "/v3/tags", jsonOf("label", label)), apierror.CodeOK, m.ensure(label))
}

func (m *model) renameTag(t *rapid.T) {
	label, to := modelLabels.Draw(t, "label"), modelLabels.Draw(t, "to")
	tag, other, want := m.tag(label), m.tag(to), apierror.CodeOK
	switch {
	case tag == nil:
		want = apierror.CodeTagNotFound
	case other != nil && other != tag:
		want = apierror.CodeInvalidLabel
	default:
		tag.label = to
	}
	m.tagged(t, m.c.Call(http.MethodPatch, "/v3/tags/"+url.PathEscape(label), jsonOf("label", to)), want, tag)
}

func (m *model) deleteTag(t *rapid.T) {
	label, want := modelLabels.Draw(t, "label"), apierror.CodeTagNotFound
	if tag := m.tag(label); tag != nil {
		tag.deleted, want = true, apierror.CodeOK
		m.tags = slices.DeleteFunc(m.tags, func(t *modelTag) bool { return t == tag })
	}
	m.tagged(t, m.c.Call(http.MethodDelete, "/v3/tags/"+url.PathEscape(label), ""), want, nil)
}

// tagged checks the response of a call about a tag, and that the list of tags equals the model's.
func (m *model) tagged(t *rapid.T, a *httpapitest.Answer, want apierror.Code, tag *modelTag) {
	m.answers(t, a, want)
	if want == apierror.CodeOK && tag != nil && a.Tags[0].Label != tag.label {
		t.Fatalf("the tag is %+v; want %s", a.Tags, tag.label)
	}
	listed := m.c.Call(http.MethodGet, "/v3/tags", "").Tags
	if !slices.EqualFunc(listed, m.tags, func(a contract.Tag, b *modelTag) bool { return a.Label == b.label }) {
		t.Fatalf("the tags are %+v; want %d", listed, len(m.tags))
	}
}

func (m *model) account(t *rapid.T) {
	got := m.c.Call(http.MethodGet, "/v3/account", "").Account.Counters
	if got["month_urls"].Count != int64(m.created) || got["urls"].Count != int64(len(m.links)) {
		t.Fatalf("the counters are %v; want %d and %d", got, m.created, len(m.links))
	}
}
