package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
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
	"linkledger/projections"
	"linkledger/queries/linklist"
	"linkledger/tagexpr"
)

// TestKeysKeepLeavingOutLinks tries to take the label away by which a key leaves out links.
func TestKeysKeepLeavingOutLinks(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	owner.call("POST", "/v3/keys", `{"tags":"~secret"}`).is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.create(`"long_url":"https://example.com/","custom_hash":"hidden","tags":["Secret"]`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"shown","tags":["other"]`)
	added := owner.must("POST", "/v3/keys", `{"name":"agency","tags":"~secret"}`).Keys[0]
	bound := *owner
	bound.key = added.Key
	sees := func(want string) { t.Helper(); equal(t, "seen", bound.must("GET", "/v3/urls", "").hashes(), want) }
	sees("shown")
	for _, call := range [][3]string{
		{"PATCH", "/v3/tags/secret", `{"label":"hidden"}`}, {"DELETE", "/v3/tags/SECRET", ""},
	} {
		a := owner.call(call[0], call[1], call[2])
		a.is(http.StatusForbidden, apierror.CodeAccessDenied)
		a.has("agency")
		a = owner.withKey(`"scopes":["tags:write"]`).call(call[0], call[1], call[2])
		a.is(http.StatusForbidden, apierror.CodeAccessDenied)
		if strings.Contains(a.Error.Details, "agency") {
			t.Errorf("who may not list keys reads %q", a.Error.Details)
		}
		sees("shown")
	}
	owner.must("PATCH", "/v3/tags/secret", `{"label":"SECRET"}`) // another spelling is the same label
	owner.must("PATCH", "/v3/tags/other", `{"label":"another"}`)
	sees("shown")
	owner.call("PATCH", "/v3/keys/"+added.ID, `{"tags":"~none"}`).is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.must("PATCH", "/v3/keys/"+added.ID, `{"tags":"~another","name":"x"}`)
	sees("hidden")
	owner.must("DELETE", "/v3/tags/secret", "")
	owner.call("DELETE", "/v3/tags/another", "").is(http.StatusForbidden, apierror.CodeAccessDenied)
	owner.must("DELETE", "/v3/keys/"+added.ID, "")
	owner.must("DELETE", "/v3/tags/another", "")
}

// TestBoundsWithoutTheirTagSeeNothing reads logs of before, in which a key leaves out the links of a
// label that no tag has by now.
func TestBoundsWithoutTheirTagSeeNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one","tags":["news"]`)
	added := owner.must("POST", "/v3/keys", `{"name":"old"}`).Keys[0]
	loaded, err := s.store.Load(withTimeout(t), events.StreamAccount+owner.id)
	if err != nil {
		t.Fatal(err)
	}
	appended, err := s.store.Append(withTimeout(t), eventstore.Write{
		Stream: events.StreamAccount + owner.id, Expected: eventstore.Revision(len(loaded) - 1), Command: uuid.New(),
		Events: []events.Event{events.KeyChanged{KeyID: added.ID, KeyTerms: events.KeyTerms{Tags: "news&~secret"}, At: *s.now.Load()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.waiter.Wait(withTimeout(t), projections.Accounts, appended.Position.Commit); err != nil {
		t.Fatal(err)
	}
	bound := *owner
	bound.key = added.Key
	equal(t, "seen", bound.must("GET", "/v3/urls", "").hashes(), "")
	equal(t, "tags", len(bound.must("GET", "/v3/tags", "").Tags), 0)
	equal(t, "counted", bound.counter("urls"), 0)
	bound.call("GET", "/v3/urls/one", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	bound.call("PATCH", "/v3/urls/one", `{"urls":[{"note":"x"}]}`).is(http.StatusNotFound, apierror.CodeURLNotFound)
	for _, tags := range []string{`"news"`, `"news","secret"`} {
		bound.call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","tags":[`+tags+`]}]}`).
			URLs[0].failed(t, apierror.CodeAccessDenied, "bound")
	}
	equal(t, "tags of the account", len(owner.must("GET", "/v3/tags", "").Tags), 1)
	owner.must("POST", "/v3/tags", `{"label":"secret"}`)
	equal(t, "seen with the tag", bound.must("GET", "/v3/urls", "").hashes(), "one")
}

// TestKeysAndRenamesAtTheSameTime adds a key that leaves out the links of a tag while two nodes rename
// and delete the tag. Whoever comes first, the key never sees the links.
func TestKeysAndRenamesAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "owner")
	given := 0
	for round := range 60 {
		label := fmt.Sprintf("secret%d", round)
		hash := owner.create(`"long_url":"https://example.com/","tags":["` + label + `"]`).Hash
		var added *answer
		var all sync.WaitGroup
		all.Go(func() { added = owner.call("POST", "/v3/keys", `{"tags":"~`+label+`"}`) })
		all.Go(func() { owner.on(s.node).call("PATCH", "/v3/tags/"+label, `{"label":"renamed`+label+`"}`) })
		all.Wait()
		owner.must("POST", "/v3/tags", `{"label":"`+label+`"}`) // the label is used again
		if added.status != http.StatusOK {
			added.is(http.StatusBadRequest, apierror.CodeWrongInput)
			continue
		}
		given++
		bound := *owner
		bound.key = added.Keys[0].Key
		bound.call("GET", "/v3/urls/"+hash, "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	}
	t.Logf("%d keys of 60 were given", given)
}

// TestReadsAndChangesAgreeOnBounds checks that lists and commands agree on the links that match a
// bound, whichever labels it has and whether there are such tags.
func TestReadsAndChangesAgreeOnBounds(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	for i, tags := range []string{``, `"a"`, `"b"`, `"a","b"`} {
		owner.create(fmt.Sprintf(`"long_url":"https://example.com/","custom_hash":"link%d","tags":[%s]`, i, tags))
	}
	lists := linklist.New(s.db)
	rapid.Check(t, func(t *rapid.T) {
		text := drawBound(t, 4)
		bound, err := access.Bound(text)
		if err != nil {
			t.Skip(err)
		}
		for i := range 4 {
			hash := fmt.Sprintf("link%d", i)
			listed, err := lists.Links(t.Context(), linklist.Query{
				Owner: linklist.Owner{Account: uuid.MustParse(owner.id), Bound: bound}, Hashes: []string{hash}, Limit: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			edited := s.commands.EditURLs(t.Context(), domain.Request{Account: owner.id, Command: uuid.New(), Bound: bound},
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
