package commands

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

var at = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func created() events.URLCreated {
	return events.URLCreated{
		URLID: "u", Account: "a", Hash: "spring", ClaimRevision: 3, LongURL: "https://example.com", Note: "n",
		ExpirationDate: "2027-01-31", Tags: []string{"t1"}, At: at,
	}
}

func TestEditDecides(t *testing.T) {
	t.Parallel()
	later := at.Add(time.Hour)
	tests := map[string]struct {
		given []events.Event
		when  urlChange
		then  []events.Event
	}{
		"nothing given": {},
		"values it has": {
			when: urlChange{
				hash: ptr("spring"), longURL: ptr("https://example.com"), attach: []string{"t1"}, detach: []string{"t9"},
				settings: events.URLSettingsChanged{Note: ptr("n"), EmailStats: ptr(false), ExpirationDate: ptr("2027-01-31")},
			},
		},
		"another destination": {
			when: urlChange{longURL: ptr("https://example.org")},
			then: []events.Event{events.URLRetargeted{LongURL: "https://example.org", At: later}},
		},
		"another hash": {
			when: urlChange{hash: ptr("summer"), claim: 7},
			then: []events.Event{events.URLRenamed{From: "spring", To: "summer", ClaimRevision: 7, At: later}},
		},
		"only the settings that change": {
			when: urlChange{settings: events.URLSettingsChanged{Note: ptr("n"), Ping: ptr(true), ExpirationDate: ptr("")}},
			then: []events.Event{events.URLSettingsChanged{Ping: ptr(true), ExpirationDate: ptr(""), At: later}},
		},
		"tags": {
			when: urlChange{attach: []string{"t1", "t2"}, detach: []string{"t1"}},
			then: []events.Event{
				events.URLTagged{Tags: []string{"t2"}, At: later}, events.URLUntagged{Tags: []string{"t1"}, At: later},
			},
		},
		"back to a former value": {
			given: []events.Event{events.URLRetargeted{LongURL: "https://example.org", At: at}},
			when:  urlChange{longURL: ptr("https://example.com")},
			then:  []events.Event{events.URLRetargeted{LongURL: "https://example.com", At: later}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := foldURL(append([]events.Event{created()}, test.given...))
			if got := url.edit(test.when, later); !reflect.DeepEqual(got, test.then) {
				t.Errorf("got  %+v\nwant %+v", got, test.then)
			}
		})
	}
}

func TestDeleteDecides(t *testing.T) {
	t.Parallel()
	url := foldURL([]events.Event{created()})
	got, err := url.delete(at)
	if want := []events.Event{events.URLDeleted{Account: "a", Hash: "spring", At: at}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	url.evolve(events.URLSettingsChanged{Protected: ptr(true), At: at})
	if _, err := url.delete(at); kind(err) != URLProtected {
		t.Errorf("protected: %v", err)
	}
}

// What an edit decides, applied, gives the link the values that were asked for; asked again, it decides on nothing.
func TestEditReachesWhatWasAsked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		url := foldURL([]events.Event{created()})
		text := rapid.SampledFrom([]string{"", "n", "spring", "https://example.com", "2027-01-31", "other"})
		tags := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"t1", "t2", "t3"}), rapid.ID[string])
		for range rapid.IntRange(1, 5).Draw(t, "edits") {
			change := urlChange{
				hash: rapid.Ptr(text, true).Draw(t, "hash"), longURL: rapid.Ptr(text, true).Draw(t, "long url"),
				settings: events.URLSettingsChanged{
					Note: rapid.Ptr(text, true).Draw(t, "note"), Archived: rapid.Ptr(rapid.Bool(), true).Draw(t, "archived"),
					MaxClicks: rapid.Ptr(rapid.Int64Range(0, 2), true).Draw(t, "max clicks"),
				},
				attach: tags.Draw(t, "attach"),
			}
			for _, e := range url.edit(change, at) {
				url.evolve(e)
			}
			if change.hash != nil && url.Hash != *change.hash || change.longURL != nil && url.LongURL != *change.longURL ||
				change.settings.Note != nil && url.Note != *change.settings.Note {
				t.Fatalf("asked for %+v, is %+v", change, url)
			}
			if again := url.edit(change, at); len(again) != 0 {
				t.Fatalf("asked again: %+v", again)
			}
		}
	})
}

func TestHolderOf(t *testing.T) {
	t.Parallel()
	claim := foldHash("summer", []events.Event{events.HashClaimed{Hash: "summer", URLID: "u", Account: "a", At: at}})
	renamed := events.URLRenamed{From: "spring", To: "summer", ClaimRevision: 0, At: at}
	away := events.URLRenamed{From: "summer", To: "autumn", ClaimRevision: 1, At: at}
	abandoned := events.ClaimAbandoned{Hash: "summer", ClaimRevision: 0, At: at}
	tests := map[string]struct {
		given []events.Event
		age   time.Duration
		want  holder
	}{
		"no link yet":            {want: holderNotYet},
		"no link for long":       {age: claimTimeout, want: holderVanished},
		"no link, abandoned":     {given: []events.Event{abandoned}, want: holderGaveUp},
		"renaming":               {given: []events.Event{created()}, want: holderNotYet},
		"never renamed":          {given: []events.Event{created()}, age: claimTimeout, want: holderVanished},
		"renaming was abandoned": {given: []events.Event{created(), abandoned}, want: holderGaveUp},
		"renamed":                {given: []events.Event{created(), renamed}, age: time.Hour, want: holderUses},
		"renamed away":           {given: []events.Event{created(), renamed, away}, want: holderLeft},
		"deleted": {
			given: []events.Event{created(), renamed, events.URLDeleted{Account: "a", Hash: "summer", At: at}}, want: holderLeft,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := claim.holderOf(foldURL(test.given), at.Add(test.age)); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// A link that left a hash and comes back needs a new claim: the old one may already be somebody else's.
func TestClaimsAreSpent(t *testing.T) {
	t.Parallel()
	url := foldURL([]events.Event{created(), events.URLRenamed{From: "spring", To: "summer", ClaimRevision: 0, At: at}})
	if got := url.spentClaimOf("spring"); got != 3 {
		t.Errorf("spring is spent up to %d, want 3", got)
	}
	if got := url.spentClaimOf("summer"); got != eventstore.NoStream {
		t.Errorf("summer is spent up to %d, want none", got)
	}
}
