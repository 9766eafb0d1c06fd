package keyfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linkledger/projections/keystore/keyfile"
)

// key returns a master key of equal bytes.
func key(t *testing.T, filler byte, former *keyfile.MasterKey) *keyfile.MasterKey {
	t.Helper()
	k, err := keyfile.NewMasterKey(bytes.Repeat([]byte{filler}, keyfile.MasterKeySize), former)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestMasterKey(t *testing.T) {
	t.Parallel()
	one := key(t, 1, nil)
	two := key(t, 2, one)
	if one.Name() == two.Name() || two.Former() != one || one.Former() != nil {
		t.Errorf("names %s and %s, former %v", one.Name(), two.Name(), two.Former())
	}
	if _, err := keyfile.NewMasterKey(make([]byte, keyfile.MasterKeySize-1), nil); err == nil {
		t.Error("a short master key is taken")
	}
	wrapped := one.Wrap("account", []byte("secret"))
	for name, tc := range map[string]struct {
		by              *keyfile.MasterKey
		account, master string
		wrapped         []byte
		want            error
	}{
		"the same key":    {one, "account", one.Name(), wrapped, nil},
		"the next key":    {two, "account", one.Name(), wrapped, nil},
		"no key":          {nil, "account", one.Name(), wrapped, keyfile.ErrNoMasterKey},
		"another key":     {key(t, 3, nil), "account", one.Name(), wrapped, keyfile.ErrOtherMasterKey},
		"former for next": {one, "account", two.Name(), wrapped, keyfile.ErrOtherMasterKey},
		"another account": {one, "other", one.Name(), wrapped, keyfile.ErrDamaged},
		"damage":          {one, "account", one.Name(), wrapped[1:], keyfile.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.by.Unwrap(tc.account, tc.master, tc.wrapped)
			if !errors.Is(err, tc.want) || (err == nil) != (string(got) == "secret") {
				t.Errorf("%q, %v; want %v", got, err, tc.want)
			}
		})
	}
}

// rows are the rows of two accounts, in the files aa and bb.
var rows = []string{`{"account_id":"1aa","wrapped":null}`, `{"account_id":"1bb","wrapped":"x"}`}

// fill makes a complete copy in a folder.
func fill(t *testing.T, c *keyfile.Copy) {
	t.Helper()
	for i, shard := range []string{keyfile.ShardOf("1AA"), keyfile.ShardOf("1bb")} {
		if err := c.Replace(shard, rows[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range keyfile.WholeTables() {
		if err := c.Replace(table, []string{`{"of":"` + table + `"}`}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(c.SetSigningKey(`"k"`), c.Finish()); err != nil {
		t.Fatal(err)
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	for name, master := range map[string]*keyfile.MasterKey{"sealed": key(t, 1, nil), "plain": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "copy")
			c := keyfile.NewExport(folder, master)
			if err := c.Check(); !errors.Is(err, keyfile.ErrNoCopy) {
				t.Errorf("of nothing: %v", err)
			}
			if quoted, err := c.SigningKey(); quoted != "" || err != nil {
				t.Errorf("signing key %s, %v", quoted, err)
			}
			fill(t, c)
			content, err := os.ReadFile(filepath.Join(folder, keyfile.Sessions))
			if err != nil || bytes.Contains(content, []byte("master\":\"\"")) == (master != nil) {
				t.Errorf("the file is %s, %v", content, err)
			}
			to := keyfile.NewExport(filepath.Join(t.TempDir(), "to"), key(t, 2, nil))
			restored, err := c.CopyTo(to)
			if err != nil || restored != (keyfile.Restored{Keys: 2, Sessions: 1}) || to.Check() != nil {
				t.Errorf("%+v, %v, %v", restored, err, to.Check())
			}
			for i, shard := range []string{"account_keys.aa", "account_keys.bb"} {
				if got, err := to.Read(shard); err != nil || !slices.Equal(got, rows[i:i+1]) {
					t.Errorf("%s has %q, %v", shard, got, err)
				}
			}
			if quoted, err := c.SigningKey(); quoted != `"k"` || err != nil {
				t.Errorf("signing key %s, %v", quoted, err)
			}
			if err := os.Remove(filepath.Join(folder, "account_keys.bb")); err != nil {
				t.Fatal(err)
			}
			if err := c.Check(); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("without a listed file: %v", err)
			}
		})
	}
}

// TestFiles checks which files are refused.
func TestFiles(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "copy")
	c := keyfile.OpenCopy(folder, key(t, 1, nil))
	fill(t, c)
	moved, err := os.ReadFile(filepath.Join(folder, keyfile.Secrets))
	if err != nil {
		t.Fatal(err)
	}
	if err := keyfile.OpenCopy(folder, nil).Replace("new", nil); !errors.Is(err, keyfile.ErrNoMasterKey) {
		t.Errorf("written without a key: %v", err)
	}
	if err := keyfile.OpenCopy(folder, key(t, 2, nil)).Check(); !errors.Is(err, keyfile.ErrOtherMasterKey) {
		t.Errorf("with another key: %v", err)
	}
	for name, tc := range map[string]struct {
		content string
		want    error
	}{
		"no JSON": {"{", keyfile.ErrDamaged}, "of another file": {string(moved), keyfile.ErrDamaged},
		"newer":      {strings.Replace(string(moved), `"format":1`, `"format":2`, 1), keyfile.ErrNewerCopy},
		"not sealed": {`{"format":1,"master":"","sealed":"W10="}`, keyfile.ErrOtherMasterKey},
	} {
		if err := os.WriteFile(filepath.Join(folder, "other"), []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read("other"); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if err := c.Replace("other", nil); errors.Is(err, keyfile.ErrNewerCopy) != (name == "newer") {
			t.Errorf("%s is replaced: %v", name, err)
		}
	}
}
