package robots

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "words.txt")
	if _, err := ReadFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := ReadFile(t.TempDir()); err == nil {
		t.Error("a folder is read")
	}
	for text, want := range map[string]string{
		"[robots]\nacmewatch\n":                "",
		"[robots]\nfoo\nacme\x00watch\n":       "line 3, \"acme\\x00watch\": the line has the character NUL",
		"[robots]\nfoo\n\nacme\xffwatch\n":     "line 4, \"acme\\xffwatch\": the line is not UTF-8",
		"# \xff\n":                             "line 1",
		"[robots]\n- unheardof\n":              "line 2",
		strings.Repeat("#\n", MaxFile/2) + "#": "more than 1048576 bytes",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := ReadFile(path)
		if want == "" {
			if err != nil || !table.IsRobot("Mozilla/5.0 (X11; Linux) Gecko AcmeWatch") {
				t.Errorf("%q: %v", text, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}
