package words

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"linkledger/commands/access"
	"linkledger/events"
)

// TestEveryNameHasWords checks that all settings of a link and all scopes have words.
func TestEveryNameHasWords(t *testing.T) {
	t.Parallel()
	for _, s := range events.AllSettings {
		if _, ok := fields[s.Name]; !ok {
			t.Errorf("the setting %s has no word", s.Name)
		}
	}
	for _, name := range access.All.Names() {
		if word := Scope(name); word == name || strings.Contains(word, ":") {
			t.Errorf("the scope %s has no words", name)
		}
	}
	if got := Field("of_a_newer_version"); got != "of a newer version" {
		t.Errorf("an unknown field is called %q", got)
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 s", time.Microsecond: "less than 1 ms", 250 * time.Millisecond: "250 ms",
		1499 * time.Millisecond: "1 s", 59 * time.Second: "59 s", 11*time.Minute + 58*time.Second: "11 min 58 s",
		time.Hour: "1 h", 25*time.Hour + 59*time.Minute: "1 d 1 h", 3*time.Hour + 7*time.Minute: "3 h 7 min",
		59*time.Minute + 59900*time.Millisecond: "1 h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"urls[0].max_clicks must be an integer":           "Most clicks must be an integer",
		"expiration_date must be a calendar date":         "Last day must be a calendar date",
		`The label "max_clicks" is wrong`:                 `The label "max_clicks" is wrong`,
		"The caller lacks the scope links:write, keys":    "You may not change links, make and revoke keys here",
		"URL not found in DB":                             "There is no such link",
		"Supported are GET, HEAD":                         "Nothing can be done that way at this address",
		"":                                                "",
		"https://example.com/ is blocked":                 "https://example.com/ is blocked",
		"one cannot have the hash, because total_clicks ": "One cannot have the hash, because clicks ",
	} {
		if got := Refusal(reason); got != want {
			t.Errorf("%q is told as %q, want %q", reason, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	if got := cut(10, "0123456789"); got != (cutText{Whole: "0123456789"}) {
		t.Errorf("a short text is cut to %+v", got)
	}
	long := "https://example.com/" + strings.Repeat("é", 200) + "/end"
	got := cut(30, long)
	if got.Whole != long || utf8.RuneCountInString(got.Short) != 30 ||
		!strings.HasPrefix(got.Short, "https://example.com") || !strings.HasSuffix(got.Short, "/end") {
		t.Errorf("cut to %+v", got)
	}
}
