package tags_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contracttest"
	"linkledger/httpapi/httpapitest"
)

func TestContractOfTags(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	contracttest.Hold(c, []contracttest.Row{
		{
			"none", "GET /v3/tags", "", 200, apierror.CodeOK,
			`= {"error":{"code":0,"message":""},"version":"3.1","tags":[]}`, "", "",
		},
		{
			"creation; the label is trimmed", "POST /v3/tags", `{"label":" Café-1 "}`, 200, apierror.CodeOK,
			`{"tags":[{"label":"Café-1"}]}`, "/v3/tags", `{"tags":[{"label":"Café-1"}]}`,
		},
		{
			"an existing label, in whatever case", "POST /v3/tags", `{"label":"CAFÉ-1"}`, 200, apierror.CodeOK,
			`{"tags":[{"label":"Café-1"}]}`, "/v3/tags", `{"tags":[{"label":"Café-1"}]}`,
		},
		{
			"another", "POST /v3/tags", `{"label":"red tape"}`, 200, apierror.CodeOK, `{"tags":[{"label":"red tape"}]}`,
			"/v3/tags", `{"tags":[{"label":"Café-1"},{"label":"red tape"}]}`,
		},
		{
			"on a URL", "POST /v3/urls",
			`{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["RED TAPE"]}]}`, 200,
			apierror.CodeOK, `{"urls":[{"tags":["red tape"]}]}`, "", "",
		},
		{
			"renaming to another's label", "PATCH /v3/tags/red%20tape", `{"label":"café-1"}`, 400,
			apierror.CodeInvalidLabel, "", "/v3/urls/one", `{"urls":[{"tags":["red tape"]}]}`,
		},
		{"renaming a missing one", "PATCH /v3/tags/none", `{"label":"x"}`, 404, apierror.CodeTagNotFound, "", "", ""},
		{
			"renaming", "PATCH /v3/tags/Red%20tape", `{"label":"blue"}`, 200, apierror.CodeOK,
			`{"tags":[{"label":"blue"}]}`, "/v3/urls/one", `{"urls":[{"tags":["blue"]}]}`,
		},
		{
			"the URL is found by the new label", "GET /v3/urls?tags=%2Bblue", "", 200, apierror.CodeOK,
			`{"urls":[{"hash":"one"}]}`, "", "",
		},
		{
			"and not by the former one", "GET /v3/urls?tags=%22red%20tape%22", "", 404, apierror.CodeTagNotFound, "",
			"", "",
		},
		{
			"another spelling of itself", "PATCH /v3/tags/caf%C3%A9-1", `{"label":"CAFÉ-1"}`, 200, apierror.CodeOK,
			`{"tags":[{"label":"CAFÉ-1"}]}`, "/v3/tags", `{"tags":[{"label":"CAFÉ-1"},{"label":"blue"}]}`,
		},
		{"deletion", "DELETE /v3/tags/BLUE/", "", 200, apierror.CodeOK, contracttest.Done, "/v3/urls/one", `{"urls":[{"tags":[]}]}`},
		{
			"each item answers with what it left, not with what a later one does", "PATCH /v3/urls",
			`{"urls":[{"hash":"one","note":"n"},{"hash":"one","tags":["+café-1"]}]}`,
			200, apierror.CodeOK, `{"urls":[{"note":"n","tags":[]},{"note":"n","tags":["CAFÉ-1"]}]}`, "", "",
		},
		{
			"a deleted one", "DELETE /v3/tags/blue", "", 404, apierror.CodeTagNotFound, "", "/v3/tags",
			`{"tags":[{"label":"CAFÉ-1"}]}`,
		},
		{"what can be no label", "DELETE /v3/tags/a%2Fb", "", 404, apierror.CodeTagNotFound, "", "", ""},
		{
			"a new tag with the label of a deleted one is on no URL", "POST /v3/tags", `{"label":"blue"}`, 200,
			apierror.CodeOK, `{"tags":[{"label":"blue"}]}`, "/v3/urls?tags=blue", `{"urls":[]}`,
		},
	})
}

// TestTagsOfBefore gives an account two tags whose labels are the same today, as v0.1.0 allowed it. A
// label means the one in exactly its spelling, for links, expressions, past times and keys.
func TestTagsOfBefore(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	s.SyncClock()
	c := s.Client(t, "alice")
	c.Must("POST", "/v3/tags", `{"label":"first"}`)
	for _, label := range []string{"strasse", "straße"} {
		s.SetAside(t, events.StreamTags+c.ID, events.TagCreated{
			TagID: uuid.NewString(), Account: c.ID, Label: label, At: s.Now(),
		}, "tags", "history")
	}
	c.Create(`"long_url":"https://example.com/","custom_hash":"ss","tags":["strasse","other"]`)
	c.Create(`"long_url":"https://example.com/","custom_hash":"sz","tags":["straße"]`)
	past := "&at=" + url.QueryEscape(s.SyncClock())
	for label, want := range map[string]string{"strasse": "ss", "straße": "sz", "STRASSE": "ss", "Straße": "sz"} {
		for _, at := range []string{"", past} {
			found := c.Must("GET", "/v3/urls?tags="+url.QueryEscape(label)+at, "").URLs
			if len(found) != 1 || found[0].Hash != want {
				t.Errorf("%s%s finds %+v; want %s", label, at, found, want)
			}
		}
		key := c.WithKey(`"name":"` + label + `","tags":"+` + label + `"`)
		if found := key.Must("GET", "/v3/urls", "").URLs; len(found) != 1 || found[0].Hash != want {
			t.Errorf("a key bound to %s finds %+v; want %s", label, found, want)
		}
		for _, own := range []string{"ss", "sz"} {
			a := key.Call("PATCH", "/v3/urls/"+own, `{"urls":[{"note":"n"}]}`)
			if changed := a.Status == http.StatusOK; changed != (own == want) {
				t.Errorf("a key bound to %s edits %s: %d %s", label, own, a.Status, a.Body)
			}
		}
		for _, made := range []string{"strasse", "straße"} {
			leads := map[string]string{"strasse": "ss", "straße": "sz"}[made]
			body := `{"urls":[{"long_url":"https://example.com/","tags":["` + made + `"],"custom_hash":"ss"}]}`
			a := key.Call("POST", "/v3/urls", body) // the hash is taken, so a link within the bound is refused too
			if within := a.URLs[0].Code() == apierror.CodeHashUnavailable; within != (leads == want) {
				t.Errorf("a key bound to %s makes a link with %s: %s", label, made, a.Body)
			}
		}
	}
	c.Must("PATCH", "/v3/tags/straße", `{"label":"Allee"}`)
	httpapitest.Equal(t, "renamed", c.Read("sz").Tags[0], "Allee")
	c.Must("DELETE", "/v3/tags/STRAẞE", "") // the other one, now the only one
	httpapitest.Equal(t, "deleted", len(c.Read("ss").Tags), 1)
}

// TestTagsOfDots renames and deletes tags whose labels are segments of a path that means another one,
// as v0.1.0 allowed it.
func TestTagsOfDots(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Must("POST", "/v3/tags", `{"label":"first"}`)
	for _, label := range []string{".", ".."} {
		s.SetAside(t, events.StreamTags+c.ID, events.TagCreated{
			TagID: uuid.NewString(), Account: c.ID, Label: label, At: s.Now(),
		}, "tags", "history")
	}
	labels := func() (all []string) {
		for _, tag := range c.Must("GET", "/v3/tags", "").Tags {
			all = append(all, tag.Label)
		}
		return all
	}
	httpapitest.Equal(t, "tags", strings.Join(labels(), " "), "first . ..")
	for _, path := range []string{"/v3/tags/.", "/v3/tags/..", "/v3/tags/%2E.", "/v3/tags/.%2e", "/v3/tags/%2E/first"} {
		c.Call("DELETE", path, "").Is(http.StatusNotFound, apierror.CodeInvalidResource)
	}
	c.Must("DELETE", "/v3/tags/%2e", "")
	httpapitest.Equal(t, "tags", strings.Join(labels(), " "), "first ..")
	c.Must("PATCH", "/v3/tags/%2E%2e/", `{"label":"dots"}`)
	httpapitest.Equal(t, "tags", strings.Join(labels(), " "), "first dots")
	for path, want := range map[string]int{
		"/%2E": http.StatusNotFound, "/%2E%2E": http.StatusNotFound, "/v3/%2E%2E/one": http.StatusNotFound,
		"/v3/urls/%2E": http.StatusBadRequest, "/v3/urls/%2E%2E": http.StatusBadRequest, // not a hash
	} {
		if a := c.Call("GET", path, ""); a.Status != want {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

// TestTagsAreShownAsSentWithoutTheirScope checks that who writes tags and may not read them does not
// learn how they are spelled.
func TestTagsAreShownAsSentWithoutTheirScope(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	owner.Must("POST", "/v3/tags", `{"label":"Private"}`)
	owner.Must("POST", "/v3/tags", `{"label":"own"}`)
	writer := owner.WithKey(`"scopes":["tags:write"]`)
	httpapitest.Equal(t, "label", writer.Must("POST", "/v3/tags", `{"label":" PRIVATE "}`).Tags[0].Label, "PRIVATE")
	httpapitest.Equal(t, "label of the owner", owner.Must("POST", "/v3/tags", `{"label":"PRIVATE"}`).Tags[0].Label, "Private")
	a := writer.Call("PATCH", "/v3/tags/own", `{"label":"PRIVATE"}`)
	a.Is(400, apierror.CodeInvalidLabel)
	a.Has(`"PRIVATE"`)
}
