package clicks

import (
	"strconv"
	"testing"

	"linkledger/commands/clicks/spool"
	"linkledger/commands/commandstest"
	"linkledger/events/eventstore/eventstoretest"
)

// TestCutClicks writes to or tombstones a stream of clicks from outside while clicks for it wait in
// the spool. These clicks and the ones behind them reach the log exactly once, also when the node
// is killed in between.
func TestCutClicks(t *testing.T) {
	t.Parallel()
	for name, intrude := range map[string]func(t *testing.T, url, stream string){
		"written to": func(t *testing.T, url, stream string) {
			t.Helper()
			for range 3 {
				eventstoretest.Append(t, url, stream, "$>", []byte("0@s"))
			}
		},
		"tombstone": func(t *testing.T, url, stream string) {
			t.Helper()
			cuts := eventstoretest.Cuts()
			cuts[len(cuts)-1].Apply(t, url, stream)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, folder := eventstoretest.Serve(t), t.TempDir()
			store := eventstoretest.Open(t, server.URL())
			queue, err := spool.Open(spool.Config{Dir: folder})
			if err != nil {
				t.Fatal(err)
			}
			half := New(Config{Store: store, Spool: queue})
			for i := range 3 {
				w := half.nextAppend([]Click{{URLID: strconv.Itoa(i), At: commandstest.At}}, false)
				if err := half.spoolAppend(w); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					intrude(t, server.URL(), w.Stream)
				}
			}
			for _, appends := range spooledAppends(t, queue) {
				if diverted, err := half.deliver(t.Context(), appends[0][:2]); diverted != 2 || err != nil {
					t.Fatalf("%d diverted, %v", diverted, err)
				}
			}
			if err := queue.Close(); err != nil { // like a kill: the segment is not deleted yet
				t.Fatal(err)
			}
			c := count(t, store, folder, Config{}, spool.Config{})
			c.drained()
			c.end()
			allOnce(t, server, 3)
		})
	}
}
