package redirect

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/httpapi/agent"
)

func TestAgents(t *testing.T) {
	t.Parallel()
	known, err := newAgents(agent.NewList())
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]agent.Agent{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 " +
			"Mobile/15E148 Safari/604.1": {Browser: "Safari", OS: "iOS", Device: "mobile"},
		"Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0": {
			Browser: "Firefox", OS: "Linux", Device: "desktop",
		},
		"Mozilla/5.0 (iPad; CPU OS 16_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.0 " +
			"Safari/604.1": {
			Browser: "Safari", OS: "iOS", Device: "tablet",
		},
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":  {Robot: true},
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)": {Robot: true, Program: "facebookexternalhit"},
		"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)":                {Robot: true, Program: "Slackbot-LinkExpanding"},
		"Better Uptime Bot Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0": {
			Robot: true, Browser: "Chrome", OS: "Linux", Device: "desktop", Program: "Better Uptime Bot",
		},
		// The name alone does not say what the agent says, so nothing is kept.
		"Mozilla/5.0 (X11; Linux x86_64; EvilBot) Gecko/20100101 Firefox/120.0 Foo/1.0": {Robot: true},
		"WhatsApp/2.23.20.0":        {Robot: true, Program: "WhatsApp"},
		"curl/8.0":                  {Robot: true, Program: "curl"},
		"Lynx/2.9 (Mallory's name)": {Program: "Lynx"}, // a name that is not on the lists is not stored
		"":                          {Robot: true},
		"Lynx/2.9 " + strings.Repeat("x", 20_000) + "Googlebot": {Program: "Lynx"},
	} {
		for range 2 { // the second time from the cache
			if got := known.read(header); got != want {
				t.Errorf("%s is %v; want %v", header, got, want)
			}
		}
	}
}

// TestChangedAgents checks that a changed table judges agents that were judged before.
func TestChangedAgents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agents.txt")
	save := func(text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	save("[people]\ncurl\n", time.Now())
	list, err := agent.ReadList(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	known, err := newAgents(list)
	if err != nil {
		t.Fatal(err)
	}
	if known.read("curl/8.0").Robot {
		t.Error("the file has no effect")
	}
	save("[people]\n", time.Now().Add(time.Minute))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = list.Run(ctx) })
	for deadline := time.Now().Add(time.Minute); !known.read("curl/8.0").Robot; {
		if time.Now().After(deadline) {
			t.Fatal("the changed file has no effect")
		}
		<-time.After(10 * time.Millisecond)
	}
	stop()
	running.Wait()
}

func BenchmarkKnownAgent(b *testing.B) {
	known, err := newAgents(agent.NewList())
	if err != nil {
		b.Fatal(err)
	}
	const header = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"
	for b.Loop() {
		known.read(header)
	}
}
