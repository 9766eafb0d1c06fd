package linklist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/queriestest"
	"linkledger/tagexpr"
)

// hashesOf returns the hashes of a page, and checks the total.
func (w *world) hashesOf(t testing.TB, list Query, total int64) string {
	t.Helper()
	list.Account, list.Limit = w.Account, cmp.Or(list.Limit, 100)
	page, err := w.lists.Links(queriestest.WithTimeout(t), list)
	if err != nil {
		t.Fatalf("%+v: %v", list, err)
	}
	if page.Total != total {
		t.Errorf("%+v: total %d, want %d", list, page.Total, total)
	}
	hashes := make([]string, len(page.Links))
	for i, link := range page.Links {
		hashes[i] = link.Hash
	}
	return strings.Join(hashes, ",")
}

// addLink inserts a live link of the account with tags.
func (w *world) addLink(t testing.TB, hash string, position int64, change func(*readmodel.Link)) readmodel.Link {
	t.Helper()
	link := w.Bare
	link.ID, link.Hash, link.Number, link.Position, link.LongURL = uuid.New(), hash, int(
		position,
	), position, "https://example.org/"+hash
	change(&link)
	queriestest.Insert(t, w.DB, &link)
	return link
}

func TestListOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, hash := range []string{"d", "b", "c", "a"} {
		link := w.addLink(
			t, hash, int64(30+i),
			func(l *readmodel.Link) { l.ModifiedAt = queriestest.Noon.Add(time.Duration(i%2) * 2 * time.Hour) },
		)
		if hash != "c" {
			queriestest.Insert(t, w.DB, &readmodel.LinkStats{URLID: link.ID, TotalClicks: int64(i % 2), Visited: true})
		}
	}
	for order, want := range map[Order]string{
		NewestFirst:   "a,c,b,d,bare,full",
		ModifiedFirst: "a,b,full,c,d,bare",
		ClicksFirst:   "full,a,b,c,d,bare",
		ByHash:        "a,b,bare,c,d,full",
	} {
		forwards := strings.Split(want, ",")
		for offset := range 7 {
			rest := strings.Join(forwards[min(offset, 6):min(offset+2, 6)], ",")
			if got := w.hashesOf(t, Query{Hashes: forwards, Order: order, Offset: offset, Limit: 2}, 6); got != rest {
				t.Errorf("order %d from %d: %s, want %s", order, offset, got, rest)
			}
		}
		slices.Reverse(forwards)
		if got := w.hashesOf(
			t, Query{Hashes: forwards, Order: order, Reverse: true}, 6,
		); got != strings.Join(forwards, ",") {
			t.Errorf("order %d reversed: %s, want %s", order, got, forwards)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addLink(
		t, "Percent_1", 30,
		func(l *readmodel.Link) { l.LongURL, l.Note = "https://example.net/100%25/Ünï", `50% of\it` },
	)
	w.addLink(t, "PercentX1", 31, func(l *readmodel.Link) { l.LongURL, l.Note = "https://example.net/", "two\nlines" })
	for search, want := range map[string]string{
		"EXAMPLE.net":           "PercentX1,Percent_1",
		"percent_1":             "Percent_1",
		"0%":                    "Percent_1",
		`of\I`:                  "Percent_1",
		"ÜNÏ":                   "Percent_1",
		"ünï":                   "Percent_1",
		"WO\nLI":                "PercentX1",
		"1\ntwo":                "", // across hash and note
		"lines\nhttps":          "", // across note and long URL
		"x":                     "PercentX1,Percent_1,bare,full",
		"e'b":                   "",
		"='b'":                  "full",
		"?0":                    "",
		"Ü":                     "Percent_1",
		`\`:                     "Percent_1,full",
		`\%`:                    "",
		"nowhere":               "",
		"\x00":                  "",
		strings.Repeat("a", 99): "",
	} {
		total := int64(0)
		if want != "" {
			total = int64(strings.Count(want, ",") + 1)
		}
		if got := w.hashesOf(t, Query{Search: search}, total); got != want {
			t.Errorf("a search for %q finds %s, want %s", search, got, want)
		}
	}
	news, err := tagexpr.Parse("news&protected")
	if err != nil {
		t.Fatal(err)
	}
	all := Query{Search: "example", Hashes: []string{"full", "bare"}, Tags: news, Order: ByHash, Offset: 0, Limit: 1}
	if got := w.hashesOf(t, all, 1); got != "full" {
		t.Errorf("a search with hashes, tags and an order finds %s", got)
	}
}

// drawn is a generated expression. It evaluates itself in the simplest way.
type drawn struct {
	text  string
	level int // level of the loosest operator: 0 or, 1 xor, 2 and, 3 none
	meets func(l readmodel.Link, visited bool) bool
}

// drawExpression generates an expression over the tags.
func drawExpression(t *rapid.T, tags []readmodel.Tag, depth int) drawn {
	space := rapid.SampledFrom([]string{"", "", " "}).Draw(t, "space")
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		return drawOperand(t, tags)
	}
	if rapid.IntRange(0, 3).Draw(t, "not") == 0 {
		inner := drawExpression(t, tags, depth-1).bracketed(3)
		return drawn{rapid.SampledFrom([]string{"~", "-"}).Draw(t, "sign") + space + inner.text, 3, func(
			l readmodel.Link, visited bool,
		) bool {
			return !inner.meets(l, visited)
		}}
	}
	level := rapid.IntRange(0, 2).Draw(t, "operator")
	left, right := drawExpression(t, tags, depth-1).bracketed(level), drawExpression(t, tags, depth-1).bracketed(level)
	sign := rapid.SampledFrom([][]string{{"|"}, {"^"}, {"&", ",", ";"}}[level]).Draw(t, "sign")
	return drawn{left.text + space + sign + space + right.text, level, func(l readmodel.Link, visited bool) bool {
		a, b := left.meets(l, visited), right.meets(l, visited)
		return []bool{a || b, a != b, a && b}[level]
	}}
}

// bracketed adds brackets to an expression that binds more loosely than required.
func (d drawn) bracketed(level int) drawn {
	if d.level < level {
		return drawn{"(" + d.text + ")", 3, d.meets}
	}
	return d
}

func drawOperand(t *rapid.T, tags []readmodel.Tag) drawn {
	day := queriestest.Noon.AddDate(0, 0, rapid.IntRange(-2, 2).Draw(t, "day")).Truncate(24 * time.Hour)
	leaves := []drawn{
		{text: "archived", meets: func(l readmodel.Link, _ bool) bool { return l.Archived }},
		{text: "Ping", meets: func(l readmodel.Link, _ bool) bool { return l.Ping }},
		{text: `"protected"`, meets: func(l readmodel.Link, _ bool) bool { return l.Protected }},
		{text: "+email_stats", meets: func(l readmodel.Link, _ bool) bool { return l.EmailStats }},
		{text: "visited", meets: func(_ readmodel.Link, visited bool) bool { return visited }},
		{
			text:  ">" + day.Format(time.DateOnly),
			meets: func(l readmodel.Link, _ bool) bool { return !l.CreatedAt.Before(day.AddDate(0, 0, 1)) },
		},
		{
			text:  "<" + day.Format(time.DateOnly),
			meets: func(l readmodel.Link, _ bool) bool { return l.CreatedAt.Before(day) },
		},
	}
	for _, tag := range tags {
		leaves = append(leaves, drawn{text: `+"` + strings.ToUpper(tag.Label) + `"`, meets: func(
			l readmodel.Link, _ bool,
		) bool {
			return slices.Contains(l.TagIDs, tag.ID)
		}})
	}
	leaf := rapid.SampledFrom(leaves).Draw(t, "operand")
	leaf.level = 3
	return leaf
}

func TestTagExpressions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tags := []readmodel.Tag{w.News, w.Old}
	visited, clicks := map[uuid.UUID]bool{w.Full.ID: true}, map[uuid.UUID]int64{w.Full.ID: 5}
	links := []readmodel.Link{w.Bare, w.Full}
	for i := range 64 {
		links = append(links, w.addLink(t, fmt.Sprint("l", i), int64(100+i), func(l *readmodel.Link) {
			for bit, tag := range tags {
				if i>>bit&1 == 1 {
					l.TagIDs = append(l.TagIDs, tag.ID)
				}
			}
			l.Archived, l.Ping, l.Protected, l.EmailStats = i&4 > 0, i&8 > 0, i&16 > 0, i%3 == 0
			l.CreatedAt = queriestest.Noon.Add(time.Duration(i-32) * 2 * time.Hour)
			l.ModifiedAt = queriestest.Noon.Add(time.Duration(i*29%64/2) * time.Hour)
			if visited[l.ID] = i&32 > 0; visited[l.ID] {
				clicks[l.ID] = int64(i * 23 % 64 / 8)
				queriestest.Insert(t, w.DB, &readmodel.LinkStats{URLID: l.ID, TotalClicks: clicks[l.ID], Visited: true})
			}
		}))
	}
	rapid.Check(t, func(rt *rapid.T) {
		drawn := drawExpression(rt, tags, rapid.IntRange(0, 5).Draw(rt, "depth"))
		expr, err := tagexpr.Parse(drawn.text)
		if err != nil {
			rt.Fatalf("%s: %v", drawn.text, err)
		}
		list := Query{
			Owner: Owner{Account: w.Account}, Tags: expr, Order: Order(rapid.IntRange(0, 3).Draw(rt, "order")),
			Reverse: rapid.Bool().Draw(rt, "reverse"),
			Offset:  rapid.IntRange(0, 70).Draw(rt, "offset"),
			Limit:   rapid.SampledFrom([]int{1, 2, 7, 100}).Draw(rt, "limit"),
		}
		if rapid.Bool().Draw(rt, "all") {
			list.Tags, drawn.meets = nil, func(readmodel.Link, bool) bool { return true }
		}
		seen := slices.Clone(links) // by a key that is bound
		if bound := drawExpression(rt, tags, rapid.IntRange(0, 3).Draw(rt, "depth of the bound")); rapid.Bool().Draw(rt, "bound") {
			if list.Bound, err = tagexpr.Parse(bound.text); err != nil {
				rt.Fatalf("%s: %v", bound.text, err)
			}
			seen = slices.DeleteFunc(seen, func(l readmodel.Link) bool { return !bound.meets(l, visited[l.ID]) })
			for _, link := range links {
				if list.Bound.DependsOnClicks() {
					break
				}
				if got, want := list.Bound.Matches(subjectOf(link, tags)), bound.meets(link, false); got != want {
					rt.Fatalf("%s matches %+v: %t, want %t", bound.text, link, got, want)
				}
			}
		}
		labels, err := w.lists.Tags(context.Background(), list.Owner)
		if err != nil {
			rt.Fatal(err)
		}
		for _, tag := range tags {
			carried := slices.ContainsFunc(seen, func(l readmodel.Link) bool { return slices.Contains(l.TagIDs, tag.ID) })
			listed := slices.ContainsFunc(labels, func(t queries.Tag) bool { return t.ID == tag.ID })
			if listed != (carried || list.Bound == nil) {
				rt.Fatalf("bound to %+v, the tag %s is listed: %t", list.Bound, tag.Label, listed)
			}
		}
		page, err := w.lists.Links(context.Background(), list)
		if unknown, ok := errors.AsType[*UnknownTagError](err); ok && list.Bound != nil && !slices.ContainsFunc(
			labels, func(t queries.Tag) bool { return strings.EqualFold(t.Label, unknown.Label) }) {
			return // the tag is on no link that the key sees
		}
		if err != nil {
			rt.Fatalf("%s: %v", drawn.text, err)
		}
		met := slices.DeleteFunc(seen, func(l readmodel.Link) bool { return !drawn.meets(l, visited[l.ID]) })
		slices.SortFunc(met, func(a, b readmodel.Link) int {
			return -cmp.Or(map[Order]int{
				ModifiedFirst: a.ModifiedAt.Compare(b.ModifiedAt), ClicksFirst: cmp.Compare(clicks[a.ID], clicks[b.ID]),
				ByHash: strings.Compare(b.Hash, a.Hash),
			}[list.Order], cmp.Compare(a.Number, b.Number))
		})
		if list.Reverse {
			slices.Reverse(met)
		}
		var want, got []string
		for _, link := range met[min(list.Offset, len(met)):min(list.Offset+list.Limit, len(met))] {
			want = append(want, link.Hash)
		}
		for _, link := range page.Links {
			got = append(got, link.Hash)
		}
		if !slices.Equal(got, want) || page.Total != int64(len(met)) {
			rt.Fatalf("%s, %+v finds %d: %v, want %d: %v", drawn.text, list, page.Total, got, len(met), want)
		}
	})
}

func subjectOf(link readmodel.Link, tags []readmodel.Tag) tagexpr.Subject {
	subject := tagexpr.Subject{CreatedAt: link.CreatedAt, Flag: func(name string) bool {
		return map[string]bool{
			"archived": link.Archived, "ping": link.Ping, "protected": link.Protected, "email_stats": link.EmailStats,
		}[name]
	}}
	subject.Has = func(label string) bool {
		return slices.ContainsFunc(tags, func(tag readmodel.Tag) bool {
			return strings.EqualFold(tag.Label, label) && slices.Contains(link.TagIDs, tag.ID)
		})
	}
	return subject
}

func TestUnknownTags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for text, label := range map[string]string{"none": "none", "news|foreign": "foreign", "news&~gone": "gone"} {
		expr, err := tagexpr.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, listed := w.lists.Links(queriestest.WithTimeout(t), Query{Owner: Owner{Account: w.Account}, Tags: expr, Limit: 1})
		_, selected := w.lists.Select(queriestest.WithTimeout(t), Owner{Account: w.Account}, expr)
		for _, err := range []error{listed, selected} {
			if unknown, ok := errors.AsType[*UnknownTagError](err); !ok || unknown.Label != label {
				t.Errorf("%s: %v, want the label %s", text, err, label)
			}
		}
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	expr, err := tagexpr.Parse("~archived&<9999-12-31&>0001-01-01")
	if err != nil {
		t.Fatal(err)
	}
	want := []uuid.UUID{w.Bare.ID}
	for i := range 5 {
		want = append(want, w.addLink(t, fmt.Sprint("l", i), int64(30+i), func(*readmodel.Link) {}).ID)
	}
	selected, err := w.lists.Select(queriestest.WithTimeout(t), Owner{Account: w.Account}, expr)
	if err != nil {
		t.Fatal(err)
	}
	w.addLink(t, "later", 100, func(*readmodel.Link) {})
	changed := want[len(want)-1] // is archived before its portion is read
	want = want[:len(want)-1]
	var got []uuid.UUID
	for {
		ids, err := selected.Next(queriestest.WithTimeout(t), 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) == 0 {
			break
		}
		got = append(got, ids...)
		// Changes of one portion do not move the other portions.
		if _, err := w.DB.NewRaw(
			"UPDATE linkledger.links SET archived = true WHERE id IN (?, ?, ?)", ids[0], ids[len(ids)-1], changed,
		).
			Exec(queriestest.WithTimeout(t)); err != nil {
			t.Fatal(err)
		}
		queriestest.Derive(t, w.DB)
	}
	byText := func(a, b uuid.UUID) int { return cmp.Compare(a.String(), b.String()) }
	slices.SortFunc(got, byText)
	slices.SortFunc(want, byText)
	if !slices.Equal(got, want) {
		t.Errorf("selected %v, want %v", got, want)
	}
	none, err := w.lists.Select(queriestest.WithTimeout(t), Owner{Account: uuid.New()}, expr)
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := none.Next(queriestest.WithTimeout(t), 2); len(ids) > 0 || err != nil {
		t.Errorf("an account without links: %v, %v", ids, err)
	}
}
