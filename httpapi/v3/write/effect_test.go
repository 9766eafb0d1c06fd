package write_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/linkwrite"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/write"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/progress"
	"linkledger/queries/queriestest"
)

// The positions of events in the log of the tests.
const (
	atAppliedTags = 40
	atAsideTags   = 41
	atApplied     = 50
	atAside       = 51
)

// asideWorld is a read model in which one event of the tags and one of a link are set aside.
type asideWorld struct {
	*queriestest.World

	waiter *catchup.Waiter
	call   *request.Context
}

func newAsideWorld(t *testing.T) asideWorld {
	t.Helper()
	w := queriestest.NewWorld(t)
	tags, link := events.StreamTags+w.Account.String(), events.LinkStream(w.Bare.ID.String())
	for position, letter := range map[int64]readmodel.DeadLetter{
		atAsideTags: {Name: "tags", Stream: tags, Type: events.TagDeleted{}.EventType()},
		atAside:     {Name: "links", Stream: link, Type: events.URLTagged{}.EventType()},
	} {
		letter.Generation, letter.CommitPos, letter.EventID = 1, position, uuid.New()
		letter.RecordedAt, letter.Data = queriestest.Noon, []byte{}
		queriestest.Insert(t, w.DB, &letter)
	}
	call := request.New(
		httptest.NewRecorder(),
		httptest.NewRequestWithContext(queriestest.WithTimeout(t), http.MethodPost, "/v3/urls", nil),
	)
	call.Account.ID = w.Account
	waiter := &catchup.Waiter{Projections: catchup.Projections{SetAside: progress.NewWaiter(w.DB).SetAside}}
	return asideWorld{w, waiter, call}
}

func at(commit uint64) eventstore.Position {
	return eventstore.Position{Commit: commit, Prepare: commit}
}

// TestCheckLabelled checks which items of a call that gives tags to links count as done, while events are set aside.
func TestCheckLabelled(t *testing.T) {
	t.Parallel()
	w := newAsideWorld(t)
	refused := apierror.WrongInput("x")
	done := linkwrite.Outcome{Position: at(atApplied), Changed: true}
	lacking := linkwrite.Outcome{Position: at(atAside), Changed: true}
	var repeat linkwrite.Outcome
	failed := linkwrite.Outcome{Err: refused}
	for name, tc := range map[string]struct {
		tags   uint64
		item   linkwrite.Outcome
		labels []string
		want   error
	}{
		"labels that cannot be looked up":    {atAsideTags, done, nil, nil},
		"label of a tag":                     {atAsideTags, done, []string{"News"}, nil},
		"label of a tag in another spelling": {atAsideTags, done, []string{"old", "NEWS"}, nil},
		"label without a tag":                {atAsideTags, done, []string{"News", "fresh"}, catchup.ErrTagsLack},
		"label of another account":           {atAsideTags, done, []string{"Foreign"}, catchup.ErrTagsLack},
		"repeat without events":              {atAsideTags, repeat, []string{"fresh"}, catchup.ErrTagsLack},
		"label while all tags are applied":   {atAppliedTags, done, []string{"fresh"}, nil},
		"call without tags":                  {0, done, []string{"fresh"}, nil},
		"refused item":                       {atAsideTags, failed, []string{"fresh"}, refused},
		"link that is set aside":             {atAsideTags, lacking, []string{"News"}, catchup.ErrLinkLacks},
		"link and label that are set aside":  {atAsideTags, lacking, []string{"fresh"}, catchup.ErrLinkLacks},
		"link of a call without tags":        {0, lacking, nil, catchup.ErrLinkLacks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := commands.URLsOutcome{Items: []linkwrite.Outcome{done, tc.item}, Tags: at(tc.tags)}
			attached := func(i int) []string { return [][]string{{"News"}, tc.labels}[i] }
			if err := write.CheckLabelled(w.call, w.waiter, queries.New(w.DB), outcome, attached); err != nil {
				t.Fatal(err)
			}
			before, err := outcome.Items[0].Err, outcome.Items[1].Err
			if before != nil || !errors.Is(err, tc.want) {
				t.Errorf("the item has the error %v, and the one before it %v; want %v and none", err, before, tc.want)
			}
		})
	}
}

// TestCheckWithoutDatabase checks that a call whose effect cannot be known fails as an outage.
func TestCheckWithoutDatabase(t *testing.T) {
	t.Parallel()
	w, lost := newAsideWorld(t), newAsideWorld(t)
	if err := lost.DB.Close(); err != nil {
		t.Fatal(err)
	}
	changes := []linkwrite.Outcome{{Position: at(atApplied), Changed: true}}
	labels := func(waiter *catchup.Waiter, shown *readmodel.DB) error {
		outcome := commands.URLsOutcome{Items: changes, Tags: at(atAsideTags)}
		return write.CheckLabelled(w.call, waiter, queries.New(shown), outcome, func(int) []string { return nil })
	}
	for name, err := range map[string]error{
		"changes that cannot be looked up": write.CheckEffects(w.call, lost.waiter, changes),
		"labels that cannot be looked up":  labels(lost.waiter, w.DB),
		"tags that cannot be looked up":    labels(w.waiter, lost.DB),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if fault, refused := apierror.Refusal(err); err == nil || refused {
				t.Errorf("the check ends with %v, %v; want an outage", err, fault)
			}
		})
	}
}

// TestFirstLacking checks which error of an item says that its change has no effect.
func TestFirstLacking(t *testing.T) {
	t.Parallel()
	undecoded := &commands.DecodeError{Stream: "url-1", Err: errors.New("unknown")}
	for name, tc := range map[string]struct {
		errs []error
		want error
	}{
		"none":                  {nil, nil},
		"done and refused":      {[]error{nil, apierror.WrongInput("x")}, nil},
		"link":                  {[]error{nil, catchup.ErrLinkLacks, catchup.ErrTagsLack}, catchup.ErrLinkLacks},
		"tags":                  {[]error{apierror.WrongInput("x"), catchup.ErrTagsLack}, catchup.ErrTagsLack},
		"event without meaning": {[]error{undecoded, catchup.ErrLinkLacks}, undecoded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var outcomes []linkwrite.Outcome
			for _, err := range tc.errs {
				outcomes = append(outcomes, linkwrite.Outcome{Err: err})
			}
			if got := write.FirstLacking(outcomes); !errors.Is(got, tc.want) {
				t.Errorf("the error is %v, want %v", got, tc.want)
			}
		})
	}
}

// TestFirstFault checks that the first error counts that is not a refusal.
func TestFirstFault(t *testing.T) {
	t.Parallel()
	refused, first, second := apierror.WrongInput("x"), errors.New("first"), errors.New("second")
	for name, tc := range map[string]struct {
		errs []error
		want error
	}{
		"none":             {nil, nil},
		"done":             {[]error{nil, nil}, nil},
		"done and refused": {[]error{nil, refused}, nil},
		"faults":           {[]error{refused, nil, first, refused, second}, first},
		"outage":           {[]error{nil, commands.ErrUnavailable}, commands.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var outcomes []linkwrite.Outcome
			for _, err := range tc.errs {
				outcomes = append(outcomes, linkwrite.Outcome{Err: err})
			}
			if got := write.FirstFault(outcomes); !errors.Is(got, tc.want) {
				t.Errorf("the error is %v, want %v", got, tc.want)
			}
		})
	}
}
