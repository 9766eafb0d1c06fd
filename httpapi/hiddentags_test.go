package httpapi

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// differing are the parts of answers that differ between any two accounts.
var differing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|"(hash|short_url|short_url_with_protocol|qr_small|qr_big)":"[^"]*"`)

// TestBoundKeysLearnNothingOfHiddenTags makes the same calls with a bound key in two accounts. One has
// tags of URLs that the key does not see, in another spelling, and the other does not. No answer
// may differ, also not of later reads.
func TestBoundKeysLearnNothingOfHiddenTags(t *testing.T) {
	t.Parallel()
	outer := t
	s := newStack(t)
	labels := []string{"secret", "SECRET", "Straße", "news", "NEWS", "other", "ſecret"}
	label := rapid.SampledFrom(labels)
	accounts := 0
	rapid.Check(t, func(t *rapid.T) {
		accounts++
		knows, without := s.withTags(outer, accounts, "Secret", "STRASSE", "STRAßE", "oTHER"), s.withTags(outer, accounts, "")
		same := func(method, path, body string) {
			t.Helper()
			var answers [2]string
			for i, c := range []*client{knows, without} {
				a := c.call(method, strings.ReplaceAll(path, "HASH", "linkof"+c.username), strings.ReplaceAll(body, "HASH", "linkof"+c.username))
				answers[i] = fmt.Sprint(a.status, differing.ReplaceAllString(strings.ReplaceAll(a.body, c.username, "ACCOUNT"), ""))
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
func (s *stack) withTags(t testing.TB, number int, hidden ...string) *client {
	t.Helper()
	c := s.client(t, fmt.Sprintf("account%d-%d", number, len(hidden)))
	for i, label := range hidden {
		if label != "" {
			c.create(fmt.Sprintf(`"long_url":"https://example.com/%d","tags":[%q]`, i, label))
		}
	}
	return c.withKey(`"tags":"+news"`)
}

// TestBoundKeysSeeLabelsInLowerCase says how a bound key sees the labels of its own URLs: as it sends
// them in the answer to the call, and in lower case ever after.
func TestBoundKeysSeeLabelsInLowerCase(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	owner.create(`"long_url":"https://example.com/","tags":["Secret"]`)
	bound := owner.withKey(`"tags":"+News"`)
	made := bound.must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["NEWS"," SECRET "]}]}`)
	equal(t, "tags as sent", strings.Join(made.URLs[0].Tags, " "), "NEWS SECRET")
	edited := bound.must("PATCH", "/v3/urls/one", `{"urls":[{"tags":["+seCret","-none"]}]}`)
	equal(t, "tags of an edit", strings.Join(edited.URLs[0].Tags, " "), "news seCret")
	equal(t, "tags of a read", strings.Join(bound.read("one").Tags, " "), "news secret")
	equal(t, "tags of the owner", strings.Join(owner.read("one").Tags, " "), "NEWS Secret")
	owner.call("PATCH", "/v3/urls/one", `{"urls":[{"tags":["-none"]}]}`).URLs[0].failed(t, 1309, "no tag")
	equal(t, "status", bound.call("GET", "/v3/urls?tags=else", "").status, http.StatusNotFound)
}
