package httpapi

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"linkledger/events"
	"linkledger/httpapi/console/page/words"
)

// TestEverySettingIsInTheConsole sets each setting of a link by the form of its page, finds it in the history, and
// undoes it there.
func TestEverySettingIsInTheConsole(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	b := s.browser(t)
	b.signInBy(owner)
	viewer, _ := s.member(t, owner, "vera", "viewer")
	withoutEffect := []string{"email_stats", "ping"}
	for _, setting := range events.AllSettings {
		if slices.Contains(withoutEffect, setting.Name) {
			continue
		}
		hash, page := setting.Name, "/console/links/"+setting.Name
		owner.create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
		before := owner.setting(hash, setting.Name)
		b.shows(page, `name="`+setting.Name+`"`, `name="`+setting.Name+`_before"`)
		typed := "2030-01-01"
		switch setting.Get(new(events.Settings)).(type) {
		case bool:
			typed = "1"
		case int64:
			typed = "7"
		}
		b.leads(page, url.Values{setting.Name: {typed}}, page)
		if after := owner.setting(hash, setting.Name); after == before {
			t.Errorf("the form leaves %s at %v", setting.Name, after)
		}
		word := words.Field(setting.Name)
		shown := b.shows(page, `<span class="field">`+word+`</span>`, "Undo: "+word)
		if strings.Contains(shown, setting.Name+`_before" value=""`) {
			t.Errorf("the form of %s shows no value\n%s", setting.Name, shown)
		}
		viewer.shows(page, strings.ToUpper(word[:1])+word[1:])
		batch := owner.must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
		b.leads(page+"/undo", url.Values{"batch": {batch}}, page)
		if undone := owner.setting(hash, setting.Name); undone != before {
			t.Errorf("undone, %s is %v; want %v", setting.Name, undone, before)
		}
	}
}

// setting returns a setting of a link, as the API answers it.
func (c *client) setting(hash, name string) any {
	c.t.Helper()
	var answer struct{ URLs []map[string]any }
	if err := json.Unmarshal([]byte(c.must("GET", "/v3/urls/"+hash, "").body), &answer); err != nil {
		c.t.Fatal(err)
	}
	return answer.URLs[0][name]
}
