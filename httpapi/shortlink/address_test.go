package shortlink

import (
	_ "embed"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"linkledger/commands/hashes"
)

//go:embed testdata/pasted.txt
var pasted string

// parsed returns the URL of a request for a path, as net/http reads it. A path with a % that escapes
// nothing is none to net/http, and is mended before: see package fastpath.
func parsed(path string) *url.URL {
	if u, err := url.ParseRequestURI(path); err == nil {
		return u
	}
	return &url.URL{Path: path}
}

func TestPastedAddresses(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(pasted) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		given, want, ok := strings.Cut(line, " -> ")
		path, err := strconv.Unquote(given)
		if !ok || err != nil {
			t.Fatalf("the line %s: %v", line, err)
		}
		for below, isQR := range map[string]bool{"": false, QRPath: true, QRPath + ")": true, QRPath + "%20": true} {
			if isQR && strings.ContainsAny(path, "?") {
				continue
			}
			u, ok := Address(parsed(path + below))
			if want == "none" {
				if ok && (!isQR || !strings.HasSuffix(path, "/.") && !strings.HasSuffix(path, "/..")) {
					t.Errorf("%s stands for %q", path+below, u.Path)
				}
				continue
			}
			name, isImage := strings.CutSuffix(strings.TrimPrefix(u.Path, "/"), QRPath)
			if got := Hashes(name); !ok || isImage != isQR || !slices.Equal(got, strings.Fields(want)) {
				t.Errorf("%s stands for %q, QR code %v; want %s", path+below, got, isImage, want)
			}
		}
	}
}

// FuzzAddress checks that an address is bounded in look-ups and is its own address, and that a plain short link has the
// path of its hash.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"/abc", "//abc)", "/%2561%25", "/_A_/qr.png)", "/&lt;x&gt;", "/a/_b", "/v3)", "/\u200ba", "/a%2Fqr.png/b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") {
			return
		}
		short, ok := Address(u)
		if IsPath(u.Path) && (!ok || short.Path != u.Path) {
			t.Errorf("%q is the address %q, %v", path, short.Path, ok)
		}
		if !ok {
			return
		}
		name, _ := strings.CutSuffix(short.Path[1:], QRPath)
		found := Hashes(name)
		if len(found) == 0 || len(found) > maxSpellings {
			t.Errorf("%q stands for %q", path, found)
		}
		for _, hash := range found {
			if !hashes.Valid(hash) || hashes.Served(hash) && hash != name {
				t.Errorf("%q stands for %q", path, found)
			}
		}
		if again, ok := Address(short); !ok || !slices.Equal(Hashes(strings.TrimSuffix(again.Path[1:], QRPath)), found) {
			t.Errorf("%q is the address %q, and that is %q", path, short.Path, again.Path)
		}
	})
}
