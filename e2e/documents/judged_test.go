package documents_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/projections"
)

// TestClicksAreJudgedAnew follows links with agents of people and robots, gives other words to a rebuild, and checks
// that the words change the numbers of earlier clicks and not the numbers of later clicks.
func TestClicksAreJudgedAnew(t *testing.T) {
	t.Parallel()
	const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 " +
		"Safari/537.36"
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	words := filepath.Join(t.TempDir(), "words.txt")
	if err := os.WriteFile(words, []byte("[robots]\nacmewatch\n[people]\nbetter uptime bot\ncurl\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"},
		{"long_url":"https://example.com/","custom_hash":"two","max_clicks":2}]}`)
	follow := func(hash, agent string, want int, header ...string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.Base+"/"+hash, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("User-Agent", agent)
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response, err := e2etest.NoRedirects.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s with %s: %s, want %d", hash, agent, response.Status, want)
		}
	}
	numbers := func(when string, clicks int, systems string) {
		t.Helper()
		stats := d.Call("GET", "/stats/one", "")["stats"].([]any)[0].(map[string]any)
		daily := fmt.Sprintf("map[%s:map[total:%d unique:%[2]d]]", time.Now().UTC().Format(time.DateOnly), clicks)
		if stats["total_clicks"] != float64(clicks) || stats["unique_clicks"] != float64(clicks) ||
			fmt.Sprint(stats["daily_clicks"]) != daily {
			t.Errorf("%s: %v, want %d clicks", when, stats, clicks)
		}
		dimensions := d.Call("GET", "/urls/one/dimensions", "")["dimensions"].(map[string]any)
		if got := fmt.Sprint(dimensions["os"]); got != systems {
			t.Errorf("%s: systems %s, want %s", when, got, systems)
		}
		if out := e2etest.Operator(t, folder, "projections", "verify", "--all"); strings.Count(out, ", 0 different\n") !=
			len(projections.Names()) {
			t.Errorf("%s: output of verify:\n%s", when, out)
		}
	}
	for _, agent := range []string{
		firefox, chrome + " AcmeWatch/1.2", "Better Uptime Bot " + chrome, "curl/8.5.0",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
	} {
		follow("one", agent, http.StatusFound)
	}
	follow("one", firefox+" AcmeReader/1.0", http.StatusFound, "Sec-Purpose", "prefetch")
	follow("two", chrome+" AcmeWatch/1.2", http.StatusFound)
	numbers("at first", 2, "[map[clicks:1 value:Linux] map[clicks:1 value:Windows]]")

	e2etest.Operator(t, folder, "projections", "rebuild", "--agents", words)
	numbers("by words", 3, "[map[clicks:1 value:Linux] map[clicks:1 value:Windows]]")
	follow("two", firefox, http.StatusFound) // the robot's click stays used
	follow("two", firefox, http.StatusGone)
	follow("one", chrome+" AcmeWatch/1.3", http.StatusFound) // another visitor
	numbers("later", 4, "[map[clicks:2 value:Windows] map[clicks:1 value:Linux]]")

	out, log, code := e2etest.CommandIn(
		t, []string{"LINKLEDGER_AGENTS=/nowhere"}, "projections", "rebuild", "--all", "--data", folder,
	)
	if code != 0 {
		t.Errorf("with the environment of a service: %d, %s%s", code, out, log)
	}
	numbers("built again", 4, "[map[clicks:2 value:Windows] map[clicks:1 value:Linux]]")
	e2etest.Operator(t, folder, "projections", "rebuild", "links", "--built-in-agents")
	numbers("by the words of the program", 3, "[map[clicks:2 value:Windows] map[clicks:1 value:Linux]]")

	for _, wrong := range []struct{ args, want string }{
		{"tags --agents " + words, "tags counts no clicks"},
		{"--all --agents /nowhere/words.txt", "--agents: open /nowhere/words.txt"},
		{"--all --built-in-agents --agents " + words, "not both"},
	} {
		args := append([]string{"projections", "rebuild", "--data", folder}, strings.Fields(wrong.args)...)
		if _, log, code := e2etest.Command(t, args...); code != e2etest.ExitUsage || !strings.Contains(log, wrong.want) {
			t.Errorf("%s: %d, %s", wrong.args, code, log)
		}
	}
	d.Interrupt()
}
