package domain

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linkledger/commands/commandstest"
	"linkledger/events"
	"linkledger/events/eventstore"
)

func TestEditDecides(t *testing.T) {
	t.Parallel()
	later := commandstest.At.Add(time.Hour)
	tests := map[string]struct {
		given []events.Event
		when  LinkChange
		then  []events.Event
	}{
		"nothing given": {},
		"values it has": {
			when: LinkChange{
				Hash: commandstest.Ptr("spring"), LongURL: commandstest.Ptr("https://example.com"),
				Attach: []string{"t1"}, Detach: []string{"t9"},
				Note: commandstest.Ptr("n"),
				Settings: events.SettingsChange{
					EmailStats: commandstest.Ptr(false), ExpirationDate: commandstest.Ptr("2027-01-31"),
				},
			},
		},
		"another destination": {
			when: LinkChange{LongURL: commandstest.Ptr("https://example.org")},
			then: []events.Event{events.URLRetargeted{LongURL: "https://example.org", At: later}},
		},
		"another hash": {
			when: LinkChange{Hash: commandstest.Ptr("summer"), Claim: 7},
			then: []events.Event{events.URLRenamed{From: "spring", To: "summer", ClaimRevision: 7, At: later}},
		},
		"only the settings that change": {
			when: LinkChange{
				Note:     commandstest.Ptr("n"),
				Settings: events.SettingsChange{Ping: commandstest.Ptr(true), ExpirationDate: commandstest.Ptr("")},
			},
			then: []events.Event{
				events.URLSettingsChanged{
					SettingsChange: events.SettingsChange{
						Ping: commandstest.Ptr(true), ExpirationDate: commandstest.Ptr(""),
					}, At: later,
				},
			},
		},
		"tags": {
			when: LinkChange{Attach: []string{"t1", "t2"}, Detach: []string{"t1"}},
			then: []events.Event{
				events.URLTagged{Tags: []string{"t2"}, At: later}, events.URLUntagged{Tags: []string{"t1"}, At: later},
			},
		},
		"back to a former value": {
			given: []events.Event{events.URLRetargeted{LongURL: "https://example.org", At: commandstest.At}},
			when:  LinkChange{LongURL: commandstest.Ptr("https://example.com")},
			then:  []events.Event{events.URLRetargeted{LongURL: "https://example.com", At: later}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := FoldLink(append([]events.Event{commandstest.Created()}, test.given...))
			if got := url.Edit(test.when, later); !reflect.DeepEqual(got, test.then) {
				t.Errorf("got  %+v\nwant %+v", got, test.then)
			}
		})
	}
}

func TestDeleteDecides(t *testing.T) {
	t.Parallel()
	url := FoldLink([]events.Event{commandstest.Created()})
	got, err := url.Delete(commandstest.At)
	if want := []events.Event{events.URLDeleted{Account: "a", Hash: "spring", At: commandstest.At}}; err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	url.Apply(
		events.URLSettingsChanged{
			SettingsChange: events.SettingsChange{Protected: commandstest.Ptr(true)}, At: commandstest.At,
		},
	)
	if _, err := url.Delete(commandstest.At); KindOf(err) != URLProtected {
		t.Errorf("protected: %v", err)
	}
}

// TestEditReachesWhatWasAsked checks that the events of an edit give the link the requested values,
// and that the same edit then has no events.
func TestEditReachesWhatWasAsked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		url := FoldLink([]events.Event{commandstest.Created()})
		text := rapid.SampledFrom([]string{"", "n", "spring", "https://example.com", "2027-01-31", "other"})
		tags := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"t1", "t2", "t3"}), rapid.ID[string])
		for range rapid.IntRange(1, 5).Draw(t, "edits") {
			change := LinkChange{
				Hash: rapid.Ptr(text, true).Draw(t, "hash"), LongURL: rapid.Ptr(text, true).Draw(t, "long url"),
				Note: rapid.Ptr(text, true).Draw(t, "note"),
				Settings: events.SettingsChange{
					Archived:  rapid.Ptr(rapid.Bool(), true).Draw(t, "archived"),
					MaxClicks: rapid.Ptr(rapid.Int64Range(0, 2), true).Draw(t, "max clicks"),
				},
				Attach: tags.Draw(t, "attach"),
			}
			for _, e := range url.Edit(change, commandstest.At) {
				url.Apply(e)
			}
			if change.Hash != nil && url.Hash != *change.Hash ||
				change.LongURL != nil && url.LongURL != *change.LongURL ||
				change.Note != nil && url.Note != *change.Note {
				t.Fatalf("requested %+v, got %+v", change, url)
			}
			if again := url.Edit(change, commandstest.At); len(again) != 0 {
				t.Fatalf("repeated: %+v", again)
			}
		}
	})
}

// TestClaimsAreSpent checks that a link needs a new claim to get a hash again that it has left.
// Another account may have claimed the hash in the meantime.
func TestClaimsAreSpent(t *testing.T) {
	t.Parallel()
	url := FoldLink(
		[]events.Event{
			commandstest.Created(),
			events.URLRenamed{From: "spring", To: "summer", ClaimRevision: 0, At: commandstest.At},
		},
	)
	if got := url.SpentRevision("spring"); got != 3 {
		t.Errorf("spring is spent up to %d, want 3", got)
	}
	if got := url.SpentRevision("summer"); got != eventstore.NoStream {
		t.Errorf("summer is spent up to %d, want none", got)
	}
}
