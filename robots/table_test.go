package robots

import (
	"strings"
	"testing"
)

// TestChanges checks how the text of an operator changes the table of the program.
func TestChanges(t *testing.T) {
	t.Parallel()
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
	for name, test := range map[string]struct {
		text, agent string
		robot       bool
	}{
		"nothing":                  {"", chrome, false},
		"comments and blank lines": {"# nothing\n\n  \r\n[robots]\n# Chrome\n", chrome, false},
		"a robot":                  {"[robots]\nUnheardOf\n", chrome + " unheardof/2", true},
		"a robot, part of a word":  {"[robots]\nunheard\n", chrome + " unheardof/2", false},
		"a robot, open":            {"[robots]\nunheard*\n", chrome + " UnheardOf/2", true},
		"a robot, inside":          {"[robots]\n*heardof\n", chrome + " UnheardOf/2", true},
		"a robot, anchored":        {"[robots]\n^unheardof\n", chrome + " UnheardOf/2", false},
		"a robot at the start":     {"[robots]\n^unheardof\n", "UnheardOf/2 " + chrome, true},
		"a robot with a gap":       {"[robots]\nunheard*of it\n", chrome + " unheard (1.2; of it)", true},
		"too long a gap": {
			"[robots]\nunheard*of it\n", chrome + " unheard " + strings.Repeat("x", 80) + " of it", false,
		},
		"a byte order mark":       {"\ufeff[robots]\r\nunheardof\r\n", chrome + " unheardof/2", true},
		"a person":                {"[people]\ncurl\n", "curl/8.0", false},
		"a person hides a robot":  {"[people]\nabbot app\n", chrome + " Abbot App/1", false},
		"a robot beside a person": {"[people]\nabbot app\n", chrome + " Abbot App/1 Googlebot", true},
		"a removed robot":         {"[robots]\n- *-google\n", chrome + " PlayStore-Google", false},
		"added again":             {"[robots]\n- *-google\n*-google\n", chrome + " PlayStore-Google", true},
		"only other robots":       {"[only robots]\nUnheardOf\n", chrome + " SomeBot", false},
		"other engines":           {"[only engines]\nunheardof\n", chrome, true},
		"other systems":           {"[only systems]\nunheardof\n", chrome, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := table.IsRobot(test.agent); got != test.robot {
				t.Errorf("%s is a robot: %t", test.agent, got)
			}
		})
	}
}

func TestUnreadableTables(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"googlebot\n":                           "line 1, \"googlebot\": write a section before the first word",
		"[robots]\n\n[robot]\n":                 "line 3, \"[robot]\": write [SECTION] or [only SECTION], with one of people, robots",
		"[only]\n":                              "write [SECTION]",
		"[robots]\n*\n":                         "line 2, \"*\": write ^ or *",
		"[robots]\n^*bot\n":                     "write ^ or *",
		"[robots]\na*b*c\n":                     "at most one *",
		"[robots]\n- unheardof\n":               "no such word to remove",
		"[robots]\n\xff\n":                      "not UTF-8",
		"[robots]\n" + strings.Repeat("x", 300): "1 to 200 bytes",
		"[robots]\n" + numbered("word", 30_000): "at most 20000 words",
		"[robots]\n" + strings.Join(strings.Split("!$%&/()=?+~,;:_<>|0123", ""), "\n"): "more than 20 words of one byte",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %s", text, err, want)
		}
	}
}

// TestText checks that the text of a table makes the same table.
func TestText(t *testing.T) {
	t.Parallel()
	changed, err := Parse("[robots]\n*acme*watch\n- hotjar\n[people]\n^bar*\n[only engines]\n@\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []*Table{BuiltIn(), changed} {
		again, err := Parse(table.Text())
		if err != nil {
			t.Fatal(err)
		}
		if again.Text() != table.Text() {
			t.Errorf("the text changes to %s", again.Text())
		}
		for _, name := range []string{"people.txt", "robots.txt"} {
			for _, agent := range agentsOf(t, name) {
				if again.IsRobot(agent) != table.IsRobot(agent) {
					t.Errorf("%s is judged otherwise", agent)
				}
			}
		}
	}
}

// numbered returns lines with a word and a number as letters.
func numbered(word string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(word)
		for ; i > 0; i /= 26 {
			b.WriteByte(byte('a' + i%26))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// FuzzTable checks that no text and no agent stops a table, and that words are found in any case.
func FuzzTable(f *testing.F) {
	f.Add("[robots]\na*b\n- *bot\n[only people]\n^x*\n", "Mozilla/5.0 (aXb)")
	f.Add("[people]\n@\n\ufeff\n", "\xff@")
	builtIn := BuiltIn()
	f.Fuzz(func(t *testing.T, text, agent string) {
		if table, err := Parse(text); err == nil {
			again, err := Parse(table.Text())
			if err != nil || again.Text() != table.Text() || again.IsRobot(agent) != table.IsRobot(agent) {
				t.Errorf("%q is another table: %v", text, err)
			}
		}
		if !builtIn.IsRobot(agent[:min(len(agent), 400)] + " GoogleBOT") {
			t.Errorf("%q with a Googlebot is a person", agent)
		}
	})
}

func BenchmarkIsRobot(b *testing.B) {
	table := BuiltIn()
	for name, agent := range map[string]string{
		"person": "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Mobile " +
			"Safari/537.36",
		"robot": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				table.IsRobot(agent)
			}
		})
	}
}
