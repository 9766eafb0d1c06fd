package codec

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linkledger/events"
)

func drawClick(t *rapid.T) events.Click {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9.-]{1,20}`), rapid.String())
	if rapid.IntRange(0, 3).Draw(t, "plain") > 0 {
		text = rapid.StringMatching(`[ -~]{0,9}`)
	}
	at := time.Unix(
		rapid.Int64Range(-1<<36, 1<<38).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"),
	)
	if rapid.IntRange(0, 9).Draw(t, "zone") > 0 {
		at = at.UTC()
	}
	return events.Click{
		URLID: text.Draw(t, "url"), Visitor: text.Draw(t, "visitor"), Former: text.Draw(t, "former"), At: at,
		Bot: rapid.Bool().Draw(t, "bot"), Referrer: text.Draw(t, "referrer"), Browser: text.Draw(t, "browser"),
		OS: text.Draw(t, "os"), Device: text.Draw(t, "device"), Country: text.Draw(t, "country"),
		Program: text.Draw(t, "program"),
	}
}

// TestClicksAreJSON checks that clicks are decoded as encoding/json does it.
func TestClicksAreJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body, err := Encode(events.ClicksRecorded{Clicks: rapid.SliceOfN(rapid.Custom(drawClick), 0, 4).Draw(t, "clicks")})
		if err == nil { // else a year that RFC 3339 cannot write
			readAlike(t, body)
		}
	})
}

// TestClicksAreReadDirectly checks that usual clicks are decoded without encoding/json.
func TestClicksAreReadDirectly(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"clicks.recorded.v1", "clicks.recorded.v1+visitor", "clicks.recorded.v1+program"} {
		golden, err := os.ReadFile("../testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var usual bytes.Buffer
		if err := json.Compact(&usual, golden); err != nil {
			t.Fatal(err)
		}
		if _, ok := readClicks(usual.Bytes()); !ok {
			t.Errorf("%s is read by encoding/json", name)
		}
	}
}

// readAlike checks that a body is decoded as encoding/json decodes it, if readClicks decodes it at
// all.
func readAlike(t interface{ Fatalf(string, ...any) }, body []byte) {
	e, ok := readClicks(body)
	if !ok {
		return
	}
	var want events.ClicksRecorded
	if err := json.Unmarshal(body, &want); err != nil || !reflect.DeepEqual(e, want) {
		t.Fatalf("%s is read as\n%+v, want\n%+v, %v", body, e, want, err)
	}
}

func FuzzClicks(f *testing.F) {
	for _, name := range []string{"clicks.recorded.v1", "clicks.recorded.v1+visitor", "clicks.recorded.v1+program"} {
		golden, err := os.ReadFile("../testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		var stored bytes.Buffer
		if err := json.Compact(&stored, golden); err != nil {
			f.Fatal(err)
		}
		if _, ok := readClicks(stored.Bytes()); !ok {
			f.Errorf("%s is not read", name)
		}
		f.Add(stored.Bytes())
	}
	f.Add([]byte("]}"))
	f.Fuzz(func(t *testing.T, body []byte) { readAlike(t, body) })
}

// BenchmarkClicks compares the decoder with encoding/json.
func BenchmarkClicks(b *testing.B) {
	bare := events.Click{
		URLID: "01935f6e-0000-7000-8000-00000000000b", Visitor: "5b41362bc82b7f3d56edc5a306db2210",
		At: time.Date(2026, 11, 21, 10, 20, 30, 123456000, time.UTC),
	}
	full := bare
	full.Referrer, full.Browser, full.OS, full.Device, full.Country = "news.example.com", "Chrome", "Windows", "desktop", "DE"
	for name, click := range map[string]events.Click{"bare": bare, "full": full} {
		e := events.ClicksRecorded{Clicks: slices.Repeat([]events.Click{click}, 1000)}
		body, err := Encode(e)
		if err != nil {
			b.Fatal(err)
		}
		for codec, decode := range map[string]func([]byte) (events.Event, error){
			"own": decodeClicks, "library": decode[events.ClicksRecorded],
		} {
			b.Run(name+"/"+codec, func(b *testing.B) {
				for b.Loop() {
					if _, err := decode(body); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(e.Clicks)), "ns/click")
			})
		}
	}
}
