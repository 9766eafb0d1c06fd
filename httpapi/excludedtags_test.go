package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/commands"
	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections"
	"linkledger/queries/linklist"
	"linkledger/tagexpr"
)

// TestBoundsWithoutTheirTagSeeNothing reads logs of older versions, in which a key leaves out the links of a label that
// no tag has by now.
func TestBoundsWithoutTheirTagSeeNothing(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one","tags":["news"]`)
	added := owner.Must("POST", "/v3/keys", `{"name":"old"}`).Keys[0]
	loaded, err := s.Store.Load(httpapitest.WithTimeout(t), events.StreamAccount+owner.ID)
	if err != nil {
		t.Fatal(err)
	}
	appended, err := s.Store.Append(httpapitest.WithTimeout(t), eventstore.Write{
		Stream: events.StreamAccount + owner.ID, Expected: eventstore.Revision(len(loaded) - 1), Command: uuid.New(),
		Events: []events.Event{events.KeyChanged{KeyID: added.ID, KeyTerms: events.KeyTerms{Tags: "news&~secret"}, At: s.Now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, appended.Position.Commit); err != nil {
		t.Fatal(err)
	}
	bound := *owner
	bound.Key = added.Key
	httpapitest.Equal(t, "seen", bound.Must("GET", "/v3/urls", "").Hashes(), "")
	httpapitest.Equal(t, "tags", len(bound.Must("GET", "/v3/tags", "").Tags), 0)
	httpapitest.Equal(t, "counted", bound.Counter("urls"), 0)
	bound.Call("GET", "/v3/urls/one", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	bound.Call("PATCH", "/v3/urls/one", `{"urls":[{"note":"x"}]}`).Is(http.StatusNotFound, apierror.CodeURLNotFound)
	for _, tags := range []string{`"news"`, `"news","secret"`} {
		bound.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","tags":[`+tags+`]}]}`).
			URLs[0].Failed(t, apierror.CodeAccessDenied, "bound")
	}
	httpapitest.Equal(t, "tags of the account", len(owner.Must("GET", "/v3/tags", "").Tags), 1)
	owner.Must("POST", "/v3/tags", `{"label":"secret"}`)
	httpapitest.Equal(t, "seen with the tag", bound.Must("GET", "/v3/urls", "").Hashes(), "one")
}

// TestReadsAndChangesAgreeOnBounds checks that lists and commands agree on the links that match a
// bound, whichever labels it has and whether there are such tags.
func TestReadsAndChangesAgreeOnBounds(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	for i, tags := range []string{``, `"a"`, `"b"`, `"a","b"`} {
		owner.Create(fmt.Sprintf(`"long_url":"https://example.com/","custom_hash":"link%d","tags":[%s]`, i, tags))
	}
	lists := linklist.New(s.DB)
	rapid.Check(t, func(t *rapid.T) {
		text := drawBound(t, 4)
		bound, err := access.Bound(text)
		if err != nil {
			t.Skip(err)
		}
		for i := range 4 {
			hash := fmt.Sprintf("link%d", i)
			listed, err := lists.Links(t.Context(), linklist.Query{
				Owner: linklist.Owner{Account: uuid.MustParse(owner.ID), Bound: bound}, Hashes: []string{hash}, Limit: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			edited := s.Commands.EditURLs(t.Context(), domain.Request{Account: owner.ID, Command: uuid.New(), Bound: bound},
				[]commands.EditURL{{Ref: linkwrite.Ref{Hash: hash}}}).Items[0].Err
			seen := len(listed.Links) == 1
			if (edited == nil) != seen || edited != nil && !apierror.RefusedAs(edited, domain.URLNotFound) {
				t.Fatalf("%s: %s is listed: %t, and an edit says %v", text, hash, seen, edited)
			}
			if seen && (tagexpr.Fold(bound, negated)&excludesMissing != 0) {
				t.Fatalf("%s: %s is seen without the tag that the bound excludes", text, hash)
			}
		}
	})
}

// drawBound draws an expression with at most so many operators below each other.
func drawBound(t *rapid.T, depth int) string {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom([]string{"a", "A", "b", "missing", "archived", ">2020-01-01"}).Draw(t, "operand")
	}
	left := drawBound(t, depth-1)
	if op := rapid.SampledFrom([]string{"~", "&", "|", "^"}).Draw(t, "operator"); op != "~" {
		return "(" + left + op + drawBound(t, depth-1) + ")"
	}
	return "~" + left
}

// hasMissing and excludesMissing are what an expression has: the label of no tag, and that below a
// negation or an exclusive or.
const (
	hasMissing = 1 << iota
	excludesMissing
)

// negated finds out what an expression has in another way than the code under test.
var negated = tagexpr.Folder[int]{
	Tag: func(label string) int {
		if label == "missing" {
			return hasMissing
		}
		return 0
	},
	Flag: func(string) int { return 0 }, After: noLabel, Before: noLabel,
	Not: func(of int) int { return of | of<<1 },
	And: func(left, right int) int { return left | right }, Or: func(left, right int) int { return left | right },
	Xor: func(left, right int) int { return left | right | (left|right)<<1 },
}

func noLabel(time.Time) int { return 0 }
