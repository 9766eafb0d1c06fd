package links_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"linkledger/events"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/httpapitest"
)

// TestEverySettingIsInTheConsole sets each setting of a link by the form of its page, finds it in the history, and
// undoes it there.
func TestEverySettingIsInTheConsole(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	b := s.Browser(t)
	b.SignInBy(owner)
	viewer, _ := s.Member(t, owner, "vera", "viewer")
	withoutEffect := []string{"email_stats", "ping"}
	for _, setting := range events.AllSettings {
		if slices.Contains(withoutEffect, setting.Name) {
			continue
		}
		hash, page := setting.Name, "/console/links/"+setting.Name
		owner.Create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
		before := settingOf(owner, hash, setting.Name)
		b.Shows(page, `name="`+setting.Name+`"`, `name="`+setting.Name+`_before"`)
		typed := "2030-01-01"
		switch setting.Get(new(events.Settings)).(type) {
		case bool:
			typed = "1"
		case int64:
			typed = "7"
		}
		b.Leads(page, url.Values{setting.Name: {typed}}, page)
		if after := settingOf(owner, hash, setting.Name); after == before {
			t.Errorf("the form leaves %s at %v", setting.Name, after)
		}
		word := words.Field(setting.Name)
		shown := b.Shows(page, `<span class="field">`+word+`</span>`, "Undo: "+word)
		if strings.Contains(shown, setting.Name+`_before" value=""`) {
			t.Errorf("the form of %s shows no value\n%s", setting.Name, shown)
		}
		viewer.Shows(page, strings.ToUpper(word[:1])+word[1:])
		batch := owner.Must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
		b.Leads(page+"/undo", url.Values{"batch": {batch}}, page)
		if undone := settingOf(owner, hash, setting.Name); undone != before {
			t.Errorf("undone, %s is %v; want %v", setting.Name, undone, before)
		}
	}
}

// settingOf returns a setting of a link, as the API answers it.
func settingOf(c *httpapitest.Client, hash, name string) any {
	c.T.Helper()
	var answer struct{ URLs []map[string]any }
	if err := json.Unmarshal([]byte(c.Must("GET", "/v3/urls/"+hash, "").Body), &answer); err != nil {
		c.T.Fatal(err)
	}
	return answer.URLs[0][name]
}
