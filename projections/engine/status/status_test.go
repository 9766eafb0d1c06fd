package status_test

import (
	"errors"
	"testing"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// TestErrorsEnd checks how long an error is shown: one of a batch until a batch is applied, one of the subscription or
// of another owner until the subscription begins anew. No batch may follow.
func TestErrorsEnd(t *testing.T) {
	t.Parallel()
	failed := errors.New("no such table")
	at := eventstore.Position{Commit: 7, Prepare: 7}
	subscribe := func(e *status.Entry) { e.SetPosition(at) }
	apply := func(e *status.Entry) { e.Applied(at, 1) }
	refuse := func(e *status.Entry) { e.Refuse(failed); e.Interrupt(errors.New("batch was not applied")) }
	observe := func(e *status.Entry) { e.Observe(readmodel.Generation{LastError: failed.Error()}) }
	own := func(e *status.Entry) { e.SetOwned(true) }
	for name, tc := range map[string]struct {
		steps []func(*status.Entry)
		shown bool
	}{
		"of a batch":                      {[]func(*status.Entry){own, refuse, subscribe}, true},
		"of a batch, then applied":        {[]func(*status.Entry){own, refuse, subscribe, apply}, false},
		"of the subscription":             {[]func(*status.Entry){own, func(e *status.Entry) { e.Interrupt(failed) }}, true},
		"of the subscription, then again": {[]func(*status.Entry){own, func(e *status.Entry) { e.Interrupt(failed) }, subscribe}, false},
		"of another owner":                {[]func(*status.Entry){observe}, true},
		"of another owner, taken over":    {[]func(*status.Entry){observe, own, subscribe}, false},
		"of a batch, taken over again":    {[]func(*status.Entry){own, refuse, observe, own, subscribe}, false},
		"of the same batch, taken over":   {[]func(*status.Entry){observe, own, subscribe, refuse, subscribe}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var registry status.Registry
			e := registry.Entry(generation.Key{Name: "links", Generation: 1})
			for _, step := range tc.steps {
				step(e)
			}
			if err := registry.All()[0].Err; (err != nil) != tc.shown {
				t.Errorf("the error is %v, want one: %v", err, tc.shown)
			}
		})
	}
}
