package clickcount_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/clickcount"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
	"linkledger/robots"
)

// link is a link of a test, and when the time of its clicks.
var (
	link = uuid.MustParse("8f14e45f-ceea-467f-a8e0-9d0b1f3a7c11")
	when = time.Date(2026, 3, 31, 23, 59, 59, 0, time.UTC)
)

func TestEachCounted(t *testing.T) {
	t.Parallel()
	table, err := robots.Parse("[robots]\nacmewatch\n- *bot\n")
	if err != nil {
		t.Fatal(err)
	}
	judgement := &robots.Judgement{Words: table, Until: when.Add(time.Hour)}
	for name, tc := range map[string]struct {
		click     events.Click
		judgement *robots.Judgement
		want      string
	}{
		"person":              {events.Click{At: when}, nil, "[20543]"},
		"the next day":        {events.Click{At: when.Add(time.Second)}, nil, "[20544]"},
		"the first day":       {events.Click{At: time.Unix(0, 0)}, nil, "[0]"},
		"the day before 1970": {events.Click{At: time.Unix(-1, 0)}, nil, "[-1]"},
		"the start of a day":  {events.Click{At: time.Unix(-86400, 0)}, nil, "[-1]"},
		"robot":               {events.Click{At: when, Bot: true}, nil, "[]"},
		"robot by words":      {events.Click{At: when, Program: "AcmeWatch"}, judgement, "[]"},
		"no robot then":       {events.Click{At: when, Program: "AcmeWatch"}, nil, "[20543]"},
		"robot by the rule":   {events.Click{At: when, Program: "AnyBot", Bot: true}, judgement, "[]"},
		"system of a person":  {events.Click{At: when, Program: "AnyBot", Bot: true, OS: "iOS"}, judgement, "[20543]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.click.URLID = link.String()
			days := []clickcount.Day{}
			err := clickcount.EachCounted(events.ClicksRecorded{Clicks: []events.Click{tc.click}}, tc.judgement,
				func(id uuid.UUID, click events.Click, on clickcount.Day) {
					if id != link || click != tc.click {
						t.Errorf("click %+v of %s", click, id)
					}
					days = append(days, on)
				})
			if got := fmt.Sprint(days); got != tc.want || err != nil {
				t.Errorf("counted on %s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestImpossibleClicks(t *testing.T) {
	t.Parallel()
	for name, click := range map[string]events.Click{
		"no id": {URLID: "x", At: when}, "no time": {URLID: link.String()},
		"no time of a robot": {URLID: link.String(), Bot: true},
	} {
		if err := clickcount.EachCounted(events.ClicksRecorded{Clicks: []events.Click{click}}, nil,
			func(uuid.UUID, events.Click, clickcount.Day) { t.Errorf("%s: counted", name) }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// counted is the counter of a run of clicks. It writes its number of events.
type counted struct {
	events int
	wrote  *[]string
}

func (c *counted) Add(batch events.ClicksRecorded, _ *robots.Judgement) error {
	if len(batch.Clicks) == 0 {
		return errors.New("empty")
	}
	c.events++
	return nil
}

func (c *counted) Size() int { return c.events }

func (c *counted) Write(*sqlbatch.Batch) {
	*c.wrote = append(*c.wrote, fmt.Sprint("clicks ", c.events))
}

// TestFoldKeepsTheOrder folds clicks (c), resets (r) and undone resets (u). It checks what is written at once.
func TestFoldKeepsTheOrder(t *testing.T) {
	t.Parallel()
	for order, want := range map[string]string{
		"":      "[]",
		"cc":    "[clicks 2]",
		"cr":    "[clicks 1 resets [4]]",
		"rc":    "[resets [3] clicks 1]",
		"rrucc": "[resets [3 4] undone [7] clicks 2]",
		"ur":    "[undone [7] resets [4]]",
		"cuc":   "[clicks 1 undone [7] clicks 1]",
		"uu":    "[undone [7 7]]",
		"o":     "[]",
	} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			wrote := []string{}
			write := func(what string) func(*sqlbatch.Batch, clickcount.Resets) {
				return func(_ *sqlbatch.Batch, r clickcount.Resets) {
					if r.Link[0] != sqlbatch.UUID(link) {
						t.Errorf("links %v", r.Link)
					}
					wrote = append(wrote, fmt.Sprint(what, " ", r.Revision))
				}
			}
			fold := &clickcount.Fold{
				Begin: func() clickcount.Clicks { return &counted{wrote: &wrote} },
				Reset: write("resets"), Restore: write("undone"),
			}
			size := len(order)
			for i, step := range order {
				event := projection.Event{Recorded: eventstore.Recorded{
					Stream: events.StreamURL + link.String(), Revision: eventstore.Revision(i + 3),
				}}
				var err error
				switch step {
				case 'c':
					err = fold.Add(events.ClicksRecorded{Clicks: make([]events.Click, 1)})
				case 'r':
					event.Body = events.URLStatsReset{}
				case 'u':
					event.Body = events.URLStatsRestored{Reset: 7}
				default:
					event.Body, size = events.URLRetargeted{}, size-1
				}
				if err = errors.Join(err, fold.Apply(event)); err != nil {
					t.Fatal(err)
				}
			}
			if fold.Size() != size {
				t.Errorf("size %d, want %d", fold.Size(), size)
			}
			fold.Write(sqlbatch.New("schema"))
			if got := fmt.Sprint(wrote); got != want {
				t.Errorf("wrote %s, want %s", got, want)
			}
		})
	}
}

// TestFoldRefuses checks that errors of clicks and of resets reach the caller.
func TestFoldRefuses(t *testing.T) {
	t.Parallel()
	fold := &clickcount.Fold{Begin: func() clickcount.Clicks { return &counted{} }}
	if err := fold.Add(events.ClicksRecorded{}); err == nil {
		t.Error("the error of a counter is lost")
	}
	for _, body := range []events.Event{events.URLStatsReset{}, events.URLStatsRestored{}} {
		event := projection.Event{Recorded: eventstore.Recorded{Stream: "tags-x"}, Body: body}
		if err := fold.Apply(event); !errors.Is(err, projection.ErrContradiction) {
			t.Errorf("%T in a foreign stream: %v", body, err)
		}
	}
}
