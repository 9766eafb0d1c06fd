package datafolder

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func access(t *testing.T, data string, names ...string) *StoreAccess {
	t.Helper()
	a, err := OpenStoreAccess(data, append(names, "localhost"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestStoreAccessIsKept checks that the certificate is created again only if necessary, and that
// the password stays the same.
func TestStoreAccessIsKept(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	var first *StoreAccess
	synctest.Test(t, func(t *testing.T) { first = access(t, data) }) // in the year 2000
	same := func(a, b *StoreAccess) bool {
		if a.Password != b.Password {
			t.Error("the password has changed")
		}
		return bytes.Equal(a.server.Certificate[0], b.server.Certificate[0])
	}
	second := access(t, data)
	if same(first, second) {
		t.Error("an expired certificate is kept")
	}
	if !same(second, access(t, data)) {
		t.Error("a valid certificate is replaced")
	}
	third := access(t, data, "192.0.2.1", "store.example")
	if same(second, third) || !same(third, access(t, data, "store.example")) {
		t.Error("want a new certificate exactly if it lacks a name")
	}
	folder := filepath.Join(data, "access")
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func(string) error{
		func(file string) error { return os.WriteFile(file, []byte("damaged"), 0o600) }, os.Remove,
	} {
		for _, file := range []string{caFile, serverFile} {
			before := access(t, data)
			if err := damage(filepath.Join(folder, file)); err != nil {
				t.Fatal(err)
			}
			if same(before, access(t, data)) {
				t.Errorf("%s is not repaired", file)
			}
		}
	}
	wantMode(t, folder, fs.ModeDir|0o700)
	if err := os.Truncate(filepath.Join(folder, "password"), 0); err != nil {
		t.Fatal(err)
	}
	if a := access(t, data); a.Password == "" || a.Password == first.Password {
		t.Errorf("an empty password was replaced with %q", string(a.Password))
	}
	if left, err := os.ReadDir(data); err != nil || len(left) != 1 {
		t.Errorf("want only the folder access, found %v, %v", left, err)
	}
}

// TestStoreAccessIsMadeOnce starts processes at the same time and checks that the first one creates the files and the
// others use them.
func TestStoreAccessIsMadeOnce(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	made := make([]*StoreAccess, 8)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() { made[i] = access(t, data) })
	}
	all.Wait()
	for _, a := range made {
		if a.Password != made[0].Password || !bytes.Equal(a.server.Certificate[0], made[0].server.Certificate[0]) {
			t.Error("two processes have different files")
		}
	}
}

func TestStoreNames(t *testing.T) {
	t.Parallel()
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"127.0.0.1:0": "127.0.0.1 127.0.0.1", "localhost:0": "127.0.0.1 localhost", ":0": machine, "0.0.0.0:0": machine,
		"[::1]:0": "::1 ::1",
	} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			if strings.HasPrefix(address, "[") && !hasIPv6() {
				continue // a machine or container without IPv6
			}
			t.Fatal(err)
		}
		if got := strings.Join(StoreNames(listener, address), " "); got != "localhost 127.0.0.1 ::1 "+want {
			t.Errorf("%s: %s", address, got)
		}
		_ = listener.Close()
	}
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode() != want {
		t.Errorf("%s: %v, %v; want %s", path, info.Mode(), err, want)
	}
}

// hasIPv6 reports whether a process can listen on the loopback address of IPv6.
func hasIPv6() bool {
	listener, err := net.Listen("tcp", "[::1]:0")
	return err == nil && listener.Close() == nil
}
