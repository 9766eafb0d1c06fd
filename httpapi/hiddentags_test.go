package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"linkledger/httpapi/httpapitest"
)

// differing are the parts of answers that differ between any two accounts.
var differing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|"(hash|short_url|short_url_with_protocol|qr_small|qr_big)":"[^"]*"`)

// TestBoundKeysLearnNothingOfHiddenTags makes the same calls with a bound key in two accounts. One has
// tags of URLs that the key does not see, in another spelling, and the other does not. No answer
// may differ, also not of later reads.
func TestBoundKeysLearnNothingOfHiddenTags(t *testing.T) {
	t.Parallel()
	outer := t
	s := httpapitest.New(t)
	labels := []string{"secret", "SECRET", "Straße", "news", "NEWS", "other", "ſecret"}
	label := rapid.SampledFrom(labels)
	accounts := 0
	rapid.Check(t, func(t *rapid.T) {
		accounts++
		knows, without := withTags(outer, s, accounts, "Secret", "STRASSE", "STRAßE", "oTHER"), withTags(outer, s, accounts, "")
		same := func(method, path, body string) {
			t.Helper()
			var answers [2]string
			for i, c := range []*httpapitest.Client{knows, without} {
				a := c.Call(method, strings.ReplaceAll(path, "HASH", "linkof"+c.Username), strings.ReplaceAll(body, "HASH", "linkof"+c.Username))
				answers[i] = fmt.Sprint(a.Status, differing.ReplaceAllString(strings.ReplaceAll(a.Body, c.Username, "ACCOUNT"), ""))
			}
			if answers[0] != answers[1] {
				t.Fatalf("%s %s %s tells of hidden tags:\n%s\n%s", method, path, body, answers[0], answers[1])
			}
		}
		same("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"HASH","tags":["news","`+label.Draw(t, "first")+`"]}]}`)
		same("PATCH", "/v3/urls/HASH", `{"urls":[{"tags":["-`+label.Draw(t, "detached")+`"]}]}`)
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			tags := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
				return `"` + rapid.SampledFrom([]string{"+", "-", ""}).Draw(t, "sign") + label.Draw(t, "label") + `"`
			}), 0, 3).Draw(t, "tags")
			switch rapid.IntRange(0, 4).Draw(t, "call") {
			case 0:
				same("PATCH", "/v3/urls/HASH", `{"urls":[{"tags":[`+strings.Join(tags, ",")+`]}]}`)
			case 1:
				same("GET", "/v3/urls?tags="+label.Draw(t, "chosen"), "")
			case 2:
				same("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","tags":["News","`+label.Draw(t, "new")+`"]}]}`)
			case 3:
				same("DELETE", "/v3/stats?tags=~"+label.Draw(t, "chosen"), "")
			default:
				same("GET", "/v3/urls?order_by=modified", "")
			}
			same("GET", "/v3/urls/HASH", "")
			same("GET", "/v3/tags", "")
		}
	})
}

// withTags opens an account whose hidden URLs have tags, and returns a client with a key that is bound
// to the tag news.
func withTags(t testing.TB, s *httpapitest.Stack, number int, hidden ...string) *httpapitest.Client {
	t.Helper()
	c := s.Client(t, fmt.Sprintf("account%d-%d", number, len(hidden)))
	for i, label := range hidden {
		if label != "" {
			c.Create(fmt.Sprintf(`"long_url":"https://example.com/%d","tags":[%q]`, i, label))
		}
	}
	return c.WithKey(`"tags":"+news"`)
}

// TestBoundKeysSeeLabelsInLowerCase says how a bound key sees the labels of its own URLs: as it sends
// them in the answer to the call, and in lower case ever after.
func TestBoundKeysSeeLabelsInLowerCase(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	owner.Create(`"long_url":"https://example.com/","tags":["Secret"]`)
	bound := owner.WithKey(`"tags":"+News"`)
	made := bound.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["NEWS"," SECRET "]}]}`)
	httpapitest.Equal(t, "tags as sent", strings.Join(made.URLs[0].Tags, " "), "NEWS SECRET")
	edited := bound.Must("PATCH", "/v3/urls/one", `{"urls":[{"tags":["+seCret","-none"]}]}`)
	httpapitest.Equal(t, "tags of an edit", strings.Join(edited.URLs[0].Tags, " "), "news seCret")
	httpapitest.Equal(t, "tags of a read", strings.Join(bound.Read("one").Tags, " "), "news secret")
	httpapitest.Equal(t, "tags of the owner", strings.Join(owner.Read("one").Tags, " "), "NEWS Secret")
	owner.Call("PATCH", "/v3/urls/one", `{"urls":[{"tags":["-none"]}]}`).URLs[0].Failed(t, 1309, "no tag")
	httpapitest.Equal(t, "status", bound.Call("GET", "/v3/urls?tags=else", "").Status, http.StatusNotFound)
}
