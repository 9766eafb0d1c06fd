package countries

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

// countryFile returns a file in the MaxMind DB format that maps networks to countries.
func countryFile(t testing.TB, countries map[string]mmdbtype.String) []byte {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "GeoLite2-Country", IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	for network, code := range countries {
		_, parsed, err := net.ParseCIDR(network)
		if err == nil {
			err = tree.Insert(parsed, mmdbtype.Map{"country": mmdbtype.Map{"iso_code": code}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := tree.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestCountries(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countries.mmdb")
	if _, err := Read(path, slog.New(slog.DiscardHandler)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	changes := 0
	save := func(file []byte) {
		t.Helper()
		changes++
		at := time.Now().Add(time.Duration(changes) * time.Minute)
		if err := errors.Join(os.WriteFile(path, file, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	first := countryFile(t, map[string]mmdbtype.String{
		"192.0.2.0/24": "DE", "2001:db8::/32": "FR", "198.51.100.0/24": "nowhere", "203.0.113.0/24": "d\x00",
	})
	save([]byte("no such file"))
	if _, err := Read(path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file of another format: %v", err)
	}
	save(first)
	var log strings.Builder
	countries, err := Read(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	of := func(address, want string) {
		t.Helper()
		if got := countries.Of(netip.MustParseAddr(address)); got != want {
			t.Errorf("the country of %s is %q, want %q", address, got, want)
		}
	}
	of("192.0.2.7", "DE")
	of("2001:db8::7", "FR")
	for _, unknown := range []string{"198.51.100.7", "203.0.113.7", "192.0.3.1", "::1"} {
		of(unknown, "")
	}
	save(first[:len(first)/2]) // only half of the file is written
	for range 3 {
		countries.file.Renew(t.Context())
		of("192.0.2.7", "DE")
	}
	if got := strings.Count(log.String(), "\n"); got != 1 {
		t.Errorf("logged %d times:\n%s", got, log.String())
	}
	save(countryFile(t, map[string]mmdbtype.String{"192.0.2.0/24": "AT"}))
	countries.file.Renew(t.Context())
	of("192.0.2.7", "AT")
	of("2001:db8::7", "")
}

func BenchmarkCountries(b *testing.B) {
	path := filepath.Join(b.TempDir(), "countries.mmdb")
	if err := os.WriteFile(path, countryFile(b, map[string]mmdbtype.String{"192.0.2.0/24": "DE"}), 0o600); err != nil {
		b.Fatal(err)
	}
	countries, err := Read(path, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	address := netip.MustParseAddr("192.0.2.7")
	for b.Loop() {
		countries.Of(address)
	}
}
