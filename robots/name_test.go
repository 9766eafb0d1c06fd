package robots

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	t.Parallel()
	const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"
	for agent, want := range map[string]string{
		chrome: "",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://x)":                     "",
		"Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0": "",

		chrome + " Edg/138.0.0.0":                        "",
		chrome + " AcmeWatch/1.2":                        "AcmeWatch",
		chrome + " AcmeWatch-1.2":                        "AcmeWatch",
		chrome + " AcmeWatch 1.2b3":                      "AcmeWatch",
		chrome + " AcmeWatch2":                           "AcmeWatch",
		chrome + " v2.1 AcmeWatch":                       "AcmeWatch",
		chrome + " Site24x7":                             "Site24x7",
		chrome + " 360Spider":                            "360Spider",
		chrome + " Device 123456789":                     "Device",
		chrome + " 123a45b67":                            "",
		chrome + " anna@example.com":                     "",
		chrome + " Jürgens":                              "",
		chrome + " [FBAN/FBIOS;FBDV/iPhone12,1]":         "",
		chrome + " (anna (of) Bonn) Foo":                 "Foo",
		chrome + " Foo (anna":                            "Foo",
		"Better Uptime Bot " + chrome:                    "Better Uptime Bot",
		"Yahoo! Slurp":                                   "Yahoo! Slurp",
		"facebookexternalhit/1.1 Facebot Twitterbot/1.0": "facebookexternalhit Facebot",
		"okhttp/4.12.0":                                  "okhttp",
		"MyApp/12 CFNetwork/1494.0.7 Darwin/23.4.0":      "MyApp CFNetwork Darwin",
		"Foo/1.0 +https://example.com/anna":              "Foo +https",
		"":                                               "",
		"-":                                              "",
		"1.0":                                            "",
		"\x00\xff":                                       "",
		strings.Repeat("x", MaxName+1) + " Foo":          "Foo",
		strings.Repeat("(", 600) + "Foo":                 "",
		strings.Repeat("Foo ", 200):                      "Foo Foo Foo Foo Foo Foo Foo Foo",
		strings.Repeat(" ", MaxLength) + "Foo":           "",

		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 " +
			"Mobile/15E148 Safari/604.1": "",
	} {
		if got := Name(agent); got != want {
			t.Errorf("%.250s is %q, want %q", agent, got, want)
		}
	}
}

var (
	allowed   = regexp.MustCompile(`^[A-Za-z0-9._:+! -]*$`)
	versioned = regexp.MustCompile(`[0-9][._-][0-9]`)
)

// checkName checks what a click keeps of an agent: few signs, no version, nothing in brackets, and a
// name that says by the same words what the agent says.
func checkName(t *testing.T, table *Table, agent string) (kept string) {
	t.Helper()
	name := Name(agent)
	if len(name) > MaxName || countDigits(name) > 4 || !allowed.MatchString(name) || versioned.MatchString(name) {
		t.Errorf("%q has the name %q", agent, name)
	}
	plain := strings.ToLower(uncommented(agent))
	for _, part := range strings.Fields(name) {
		if !strings.Contains(plain, strings.ToLower(part)) || slices.Contains(ordinary, strings.ToLower(part)) {
			t.Errorf("%q has the name %q, with %s", agent, name, part)
		}
	}
	for _, human := range []bool{false, table.LooksHuman(agent)} {
		robot := table.IsRobot(agent)
		if kept = table.Program(agent, robot, human); kept != "" && kept != name {
			t.Errorf("%q keeps %q of %q", agent, kept, name)
		}
		if table.Rejudge(kept, robot, human) != robot {
			t.Errorf("%q, kept as %q, is a robot: %t", agent, kept, !robot)
		}
	}
	return kept
}

// TestKept checks the names of the agents of people and robots, and how many of them can be judged
// anew.
func TestKept(t *testing.T) {
	t.Parallel()
	table := BuiltIn()
	kept := func(agents []string) (n int) {
		for _, agent := range agents {
			if checkName(t, table, agent) != "" {
				n++
			}
		}
		return n
	}
	people, robots := agentsOf(t, "people.txt"), agentsOf(t, "robots.txt")
	if n := kept(people); n > len(people)/2 { // most of the list are rare browsers and apps
		t.Errorf("clicks keep the names of %d of %d people", n, len(people))
	}
	if n := kept(robots); n < len(robots)*7/10 {
		t.Errorf("clicks keep the names of %d of %d robots", n, len(robots))
	}
	// What would have been found later, if the words for it had not been there at the visit.
	unaware, err := Parse("[only robots]\n")
	if err != nil {
		t.Fatal(err)
	}
	counted, found := 0, 0
	for _, agent := range robots {
		robot, human := unaware.IsRobot(agent), unaware.LooksHuman(agent)
		if robot {
			continue
		}
		counted++
		if table.Rejudge(unaware.Program(agent, robot, human), robot, human) {
			found++
		}
	}
	if t.Logf("%d of %d robots are found later", found, counted); found < counted/2 {
		t.Errorf("%d of %d robots that look like people are found later", found, counted)
	}
}

// TestRejudge checks how a kept name changes a verdict.
func TestRejudge(t *testing.T) {
	t.Parallel()
	words, err := Parse("[robots]\nacmewatch\n- hotjar\n[people]\nabbot app\ncurl\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		program            string
		robot, human, want bool
	}{
		"no name":                       {"", false, true, false},
		"no name of a robot":            {"", true, true, true},
		"a new robot":                   {"Foo AcmeWatch", false, true, true},
		"still a person":                {"Instagram", false, true, false},
		"no longer a robot":             {"Hotjar", true, true, false},
		"no robot, but no browser":      {"Hotjar", true, false, true},
		"a person by a word":            {"curl", true, false, false},
		"a robot within a person":       {"Abbot App", true, false, false},
		"a robot beside a person":       {"Abbot App Googlebot", false, true, true},
		"a robot that nothing is known": {"Unheard", true, false, true},
	} {
		if got := words.Rejudge(test.program, test.robot, test.human); got != test.want {
			t.Errorf("%s: %q is a robot: %t", name, test.program, got)
		}
	}
}

// FuzzName checks the names of any agents, by the words of the program and by others.
func FuzzName(f *testing.F) {
	for _, agent := range []string{
		"Mozilla/5.0 (X11; Linux) Gecko Foo/1.2 (anna) Bot", "a.1.2-3 4x5_6 +http://x/y", "((]>foo\xff\u200b", "12345a",
		"A!B:C_d/e/f;g,h|i\"j", "0:0 1-a-2",
	} {
		f.Add(agent, "[robots]\nfoo*\n[people]\n^bar\n")
	}
	builtIn := BuiltIn()
	f.Fuzz(func(t *testing.T, agent, words string) {
		checkName(t, builtIn, agent)
		if table, err := Parse(words); err == nil {
			checkName(t, table, agent)
		}
	})
}
