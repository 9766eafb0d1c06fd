package proxies_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"linkledger/e2e/e2etest"
)

// TestVisitors checks that visitors have a country if a file contains it, and that they keep their
// identity under a new key while the previous key is set.
func TestVisitors(t *testing.T) {
	t.Parallel()
	folder, countries := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "countries.mmdb")
	writeCountries(t, countries, "127.0.0.0/8", "DE")
	var key string
	for _, start := range []struct {
		flags  []string
		unique float64
		want   string
	}{
		{[]string{"--countries", countries}, 1, "[map[clicks:1 value:DE]]"},
		{[]string{"--visitor-key", "next", "--former-visitor-key", "visitor"}, 1, "[map[clicks:1 value:DE]]"},
		{[]string{"--visitor-key", "next", "--countries", countries}, 1, "[map[clicks:2 value:DE]]"},
		{[]string{"--visitor-key", "third"}, 2, "[map[clicks:2 value:DE]]"},
	} {
		d := e2etest.StartDev(t, folder, start.flags...)
		if key == "" {
			key = d.Key
			d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
		}
		d.Key = key
		if redirected, err := e2etest.Visit(t.Context(), d.Base, "one", "visitor"); err != nil || !redirected {
			t.Fatalf("redirected: %t, %v", redirected, err)
		}
		stats := d.Call("GET", "/stats/one", "")["stats"].([]any)[0].(map[string]any)
		if stats["unique_clicks"] != start.unique {
			t.Errorf("with %v: %v", start.flags, stats)
		}
		dimensions := d.Call("GET", "/urls/one/dimensions", "")["dimensions"].(map[string]any)
		if got := fmt.Sprint(dimensions["country"]); got != start.want {
			t.Errorf("with %v: countries %s, want %s", start.flags, got, start.want)
		}
		d.Interrupt()
	}
}

// writeCountries writes a file in the MaxMind DB format.
func writeCountries(t *testing.T, path, network string, code mmdbtype.String) {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "GeoLite2-Country", IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	_, parsed, err := net.ParseCIDR(network)
	if err == nil {
		err = tree.Insert(parsed, mmdbtype.Map{"country": mmdbtype.Map{"iso_code": code}})
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tree.WriteTo(file)
	if closing := file.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
}
