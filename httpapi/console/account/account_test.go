package account_test

import (
	"net/url"
	"regexp"
	"slices"
	"testing"
	"time"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/pagetest"
)

// TestNewKeyIsShownForAWhile makes a key, and opens its page again: it shows the same key for ten minutes, to its maker
// alone.
func TestNewKeyIsShownForAWhile(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	b := s.Browser(t)
	b.SignInBy(owner)
	fields := pagetest.HiddenFields(t, b.Shows("/console/keys"))
	fields.Set("name", "reader")
	a := pagetest.Twice(b, "/console/keys", fields)
	secret := regexp.MustCompile(`lk_[A-Za-z0-9_-]{43}`)
	made := secret.FindString(b.Follow(a).Body)
	if made == "" || secret.FindString(b.Follow(a).Body) != made {
		t.Errorf("the page of the new key shows %q first", made)
	}
	httpapitest.Equal(t, "keys", len(owner.Must("GET", "/v3/keys", "").Keys), 2)
	other := s.Browser(t)
	other.SignInBy(owner.WithKey(`"name":"other"`))
	if secret.MatchString(other.Follow(a).Body) {
		t.Error("somebody else sees the key")
	}
	s.SetTime(t, s.Now().Add(10*time.Minute).Format(time.RFC3339))
	if secret.MatchString(b.Follow(a).Body) {
		t.Error("the key is shown for longer")
	}
}

// TestConsoleTagsAndMembers changes tags and members.
func TestConsoleTagsAndMembers(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one","tags":["a b","x","R&D, c++"]`)
	b := s.Browser(t)
	b.SignInBy(owner)
	b.Shows("/console/tags", `href="/console/links?tags=%2B%22a+b%22"`, `action="/console/tags/a%20b/rename"`)
	b.Leads("/console/tags/a%20b/rename", url.Values{"label": {"c d"}}, "/console/tags")
	b.Leads("/console/tags", url.Values{"label": {"new"}}, "/console/tags")
	b.Leads("/console/tags/x/delete", nil, "/console/tags")
	// The form of the link keeps a label with a comma together.
	b.Shows("/console/links/one", `value="c d, "R&D, c++""`)
	before := `c d, "R&D, c++"`
	b.Leads("/console/links/one", url.Values{
		"tags": {before + `, "e; f"`}, "tags_before": {before},
	}, "/console/links/one")
	if tags := owner.Read("one").Tags; !slices.Equal(tags, []string{"c d", "R&D, c++", "e; f"}) {
		t.Errorf("the link has the tags %q", tags)
	}
	b.Shows("/console/links?tags="+url.QueryEscape(`+"R&D, c++"`), "/console/links/one")
	b.Shows("/console/tags", "c d", "new")
	for path, fields := range map[string]url.Values{
		"/console/tags": {"label": {""}}, "/console/tags/new/rename": {"label": {"c d"}}, "/console/tags/none/delete": nil,
		"/console/members": {"id": {"nobody"}, "role": {"viewer"}},
	} {
		b.Refuses(path, fields, "<nav")
	}
	_, id := s.SignIn(t, openidtest.Ada)
	for _, role := range []string{"viewer", "editor"} {
		b.Leads("/console/members", url.Values{"id": {id}, "role": {role}}, "/console/account")
		if members := owner.Must("GET", "/v3/members", "").Members; len(members) != 1 || members[0].Role != role {
			t.Errorf("members: %+v", members)
		}
	}
	b.Shows("/console/account", "Ada", "<option selected>editor")
	b.Leads("/console/members/"+id+"/remove", nil, "/console/account")
	b.Shows("/console/account", "No person is a member")
}
