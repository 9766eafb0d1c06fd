package eventlog_test

import (
	"testing"

	"linkledger/events/eventstore/eventlog"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	event := eventlog.Recorded{Stream: "url-1", Type: "url.created.v1"}
	for name, tc := range map[string]struct {
		filter eventlog.Filter
		want   bool
	}{
		"all":                         {eventlog.Filter{}, true},
		"its stream":                  {eventlog.Filter{Streams: []string{"url-"}}, true},
		"one of the streams":          {eventlog.Filter{Streams: []string{"tags-", "url-"}}, true},
		"other streams":               {eventlog.Filter{Streams: []string{"tags-", "account-"}}, false},
		"its type as a stream":        {eventlog.Filter{Streams: []string{"url."}}, false},
		"text inside of the stream":   {eventlog.Filter{Streams: []string{"rl-"}}, false},
		"its type":                    {eventlog.Filter{Types: []string{"url."}}, true},
		"one of the types":            {eventlog.Filter{Types: []string{"tag.", "url.created.v1"}}, true},
		"other types":                 {eventlog.Filter{Types: []string{"url.created.v2", "$"}}, false},
		"its stream as a type":        {eventlog.Filter{Types: []string{"url-"}}, false},
		"its type and other streams":  {eventlog.Filter{Types: []string{"url."}, Streams: []string{"tags-"}}, true},
		"its stream and other types":  {eventlog.Filter{Types: []string{"tag."}, Streams: []string{"url-"}}, false},
		"no types and its stream":     {eventlog.Filter{Types: []string{}, Streams: []string{"url-"}}, true},
		"no types and another stream": {eventlog.Filter{Types: []string{}, Streams: []string{"tags-"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.filter.Matches(event); got != tc.want {
				t.Errorf("%+v matches: %t, want %t", tc.filter, got, tc.want)
			}
		})
	}
}
