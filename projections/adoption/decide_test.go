package adoption

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"linkledger/events"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	serving := Serving{
		DatabaseAdopted: events.DatabaseAdopted{System: "1", Database: 5, Timeline: 2, Token: "b"}, Number: 2,
	}
	adopted := Found{
		System: "1", Database: 5, Timeline: 2, Token: "b", Former: "a", Made: 2, Keys: true, Prepared: true, Built: true,
	}
	for name, c := range map[string]struct {
		change  func(*Found)
		replace int64
		want    Verdict
	}{
		"the adopted one":          {func(*Found) {}, 0, Serve},
		"its promoted standby":     {func(f *Found) { f.Timeline = 3 }, 0, Adopt},
		"a former primary":         {func(f *Found) { f.Timeline, f.Token, f.Former = 1, "a", "" }, 0, Refuse},
		"a standby of before":      {func(f *Found) { f.Timeline, f.Token, f.Former = 3, "a", "" }, 0, Refuse},
		"promoted beside it":       {func(f *Found) { f.Token = "c" }, 0, Refuse},
		"another cluster":          {func(f *Found) { f.System = "2" }, 0, Refuse},
		"another database":         {func(f *Found) { f.Database = 6 }, 0, Refuse},
		"a standby":                {func(f *Found) { f.Standby = true }, 0, Refuse},
		"only keys":                {func(f *Found) { f.System, f.Built = "2", false }, 0, Adopt},
		"an empty former primary":  {func(f *Found) { f.Timeline, f.Token, f.Built = 1, "a", false }, 0, Refuse},
		"replaced by an operator":  {func(f *Found) { f.System = "2" }, 2, Adopt},
		"replaced once already":    {func(f *Found) { f.System = "2" }, 1, Refuse},
		"ended before the event":   {func(f *Found) { f.Timeline, f.Token, f.Former, f.Made = 3, "c", "b", 3 }, 0, Adopt},
		"standby of an ended node": {func(f *Found) { f.Timeline, f.Token, f.Former, f.Made = 4, "c", "b", 3 }, 0, Adopt},
	} {
		found := adopted
		c.change(&found)
		if got := Decide(serving, found, c.replace); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	old := adopted
	old.Timeline = 1
	if said := refusal(serving, old).Error(); !strings.Contains(said, "--replace-database=2") {
		t.Error(said)
	}
}

// TestHistories promotes standbys, and starts nodes that end half way through an adoption. At most
// one database is served, and one that was left is never served again.
func TestHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var log Serving
		tokens := 0
		left := map[int]bool{} // by database
		databases := []Found{{System: "1", Database: 5, Timeline: 1, Keys: true, Prepared: true, Built: true}}
		served := -1
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			n := rapid.IntRange(0, len(databases)-1).Draw(t, "database")
			if rapid.Bool().Draw(t, "promotes") {
				standby := databases[n]
				standby.Timeline++
				databases = append(databases, standby)
				continue
			}
			found := databases[n]
			verdict := Decide(log, found, 0)
			if verdict == Adopt {
				token := found.Token
				if !found.pending(log.Token) {
					tokens++
					token = string(rune('a' + tokens))
				}
				found.Token, found.Former, found.Made = token, log.Token, found.Timeline
				databases[n] = found
				if rapid.Bool().Draw(t, "ends") {
					continue
				}
				if served >= 0 && served != n {
					left[served] = true
				}
				served = n
				log = Serving{
					DatabaseAdopted: events.DatabaseAdopted{
						System: found.System, Database: found.Database, Timeline: found.Timeline, Token: token,
					},
					Number: log.Number + 1,
				}
			}
			if verdict != Refuse && left[n] {
				t.Fatalf("database %d is served again", n)
			}
			for other, found := range databases {
				if other != served && log.Number > 0 && Decide(log, found, 0) == Serve {
					t.Fatalf("databases %d and %d are served", served, other)
				}
			}
		}
	})
}
