package operations_test

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/events/eventstore"
)

var storeLine = regexp.MustCompile(`(?m)^  event store +(".+")$`)

// printedStore returns the connection string in dev's greeting, unquoted by a shell.
func printedStore(d *e2etest.Dev) string {
	d.T.Helper()
	printed := storeLine.FindStringSubmatch(d.Greeting)
	if printed == nil {
		d.T.Fatalf("no connection string in\n%s", d.Greeting)
	}
	out, err := exec.CommandContext(d.T.Context(), "sh", "-c", "printf %s "+printed[1]).Output()
	if err != nil {
		d.T.Fatal(err)
	}
	return string(out)
}

// TestStoreOfDevNeedsPassword checks that dev's event store accepts only users who can read its
// data folder, although every user of the machine can connect.
func TestStoreOfDevNeedsPassword(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	printed := printedStore(d)
	at, err := url.Parse(printed)
	if err != nil {
		t.Fatal(err)
	}
	ca := at.Query().Get("tlsCaFile")
	var strangers sync.WaitGroup
	for _, stranger := range []string{
		"esdb://" + at.Host + "?tls=false",
		"esdb://" + at.User.String() + "@" + at.Host + "?tls=false",
		"esdb://" + at.Host + "?tls=true&tlsCaFile=" + ca,
		"esdb://linkledger:guess@" + at.Host + "?tls=true&tlsCaFile=" + ca,
		"esdb://admin:changeit@" + at.Host + "?tls=true&tlsVerifyCert=false",
	} {
		strangers.Go(func() {
			if err := readHead(t, stranger, 300*time.Millisecond); err == nil {
				t.Errorf("%s was let in", stranger)
			}
			if out, err := exec.CommandContext(
				t.Context(), e2etest.Program, "account", "rotate-key", "--username", e2etest.DemoUser, "--eventstore", stranger,
			).CombinedOutput(); err == nil {
				t.Errorf("%s has taken over the account: %s", stranger, out)
			}
		})
	}
	strangers.Wait()
	d.Call("GET", "/account", "") // the printed key is still valid

	wantForeignClient(t, printed)
	if err := readHead(t, printed, e2etest.StartTimeout); err != nil {
		t.Errorf("with the printed connection string: %v", err)
	}
	if out, err := exec.CommandContext(
		t.Context(), e2etest.Program, "account", "show", "--username", e2etest.DemoUser, "--data", folder,
	).CombinedOutput(); err != nil {
		t.Errorf("an operator command: %v\n%s", err, out)
	}
	wantClosed(t, folder)
	d.Interrupt()

	// A restart keeps the password, and a folder from a version without passwords still works.
	again := e2etest.StartDev(t, folder)
	login, _, _ := strings.Cut(printed, "@")
	if !strings.HasPrefix(printedStore(again), login+"@") {
		t.Error("the second start has another password")
	}
	again.Interrupt()
	if err := os.RemoveAll(filepath.Join(folder, "access")); err != nil {
		t.Fatal(err)
	}
	former := e2etest.StartDev(t, folder)
	wantForeignClient(t, printedStore(former))
	if err := readHead(t, printed, 300*time.Millisecond); err == nil {
		t.Error("the former password is accepted")
	}
	former.Interrupt()
}

// readHead makes the first call that our programs make to an event store.
func readHead(t *testing.T, connection string, timeout time.Duration) error {
	t.Helper()
	store, err := eventstore.Open(eventstore.Config{URL: connection})
	if err != nil {
		t.Error(err)
		return err
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	_, err = store.Head(ctx)
	return err
}

// wantForeignClient checks that the official client, which any program may use, reads the log.
func wantForeignClient(t *testing.T, connection string) {
	t.Helper()
	config, err := esdb.ParseConnectionString(connection)
	if err != nil {
		t.Fatal(err)
	}
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.StartTimeout)
	defer cancel()
	read, err := client.ReadAll(ctx, esdb.ReadAllOptions{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := read.Recv(); err != nil {
		t.Errorf("the official client: %v", err)
	}
}

// wantClosed checks that other users of the machine can neither read a file of a running dev nor
// connect to a socket.
func wantClosed(t *testing.T, folder string) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		found++
		switch mode := info.Mode(); {
		case path == folder:
		case entry.IsDir():
			if mode.Perm()&0o007 == 0 {
				return fs.SkipDir // its content is not accessible to others
			}
			t.Errorf("others may enter %s: %s", path, mode)
		case mode.Perm()&0o007 != 0:
			t.Errorf("others may open %s: %s", path, mode)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 6 {
		t.Errorf("only %d files were checked", found)
	}
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode() != want {
		t.Errorf("%s: %v, %v; want %s", path, info.Mode(), err, want)
	}
}

// TestStoreWithoutPasswordStaysOnLoopback checks that an event store without a password refuses to
// listen beyond the loopback address, before it opens its folder.
func TestStoreWithoutPasswordStaysOnLoopback(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	certificate, key := e2etest.WriteCertificate(t, parent)
	tls := []string{"--tls-certificate", certificate, "--tls-key", key}
	for _, address := range []string{
		"0.0.0.0:0", ":0", "[::]:0", "0:0", "[::ffff:0.0.0.0]:0", "192.0.2.1:2113", "[2001:db8::1]:2113",
		"[::ffff:192.0.2.1]:2113",
	} {
		for _, flags := range [][]string{nil, tls} {
			data := filepath.Join(parent, "none")
			args := append([]string{"eventstore", "--data", data, "--listen", address}, flags...)
			out, err := exec.CommandContext(t.Context(), e2etest.Program, args...).CombinedOutput()
			e2etest.WantOneLine(t, out, err, "--listen (LINKLEDGER_LISTEN)")
			if _, err := os.Stat(data); err == nil {
				t.Fatalf("%q has opened its folder", args)
			}
			if _, err := e2etest.RunWith(t, nil, append([]string{"config"}, args...)...); err == nil {
				t.Errorf("config %q finds nothing wrong", args)
			}
		}
	}
	for _, address := range []string{"127.0.0.1:0", "127.9.9.9:0", "[::1]:0", "localhost:0", "[::ffff:127.0.0.1]:0"} {
		if _, err := e2etest.RunWith(t, nil, "config", "eventstore", "--listen", address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	secured := append(slices.Clone(tls), "--user=a", "--password=b", "--listen=:0")
	if _, err := e2etest.RunWith(t, nil, append([]string{"config", "eventstore"}, secured...)...); err != nil {
		t.Errorf("with TLS and a password: %v", err)
	}
	if _, err := e2etest.RunWith(
		t, map[string]string{"LINKLEDGER_INSECURE": "true"}, "config", "eventstore", "--listen=:0",
	); err != nil {
		t.Errorf("with LINKLEDGER_INSECURE: %v", err)
	}
}

func TestInsecureStoreWarns(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--insecure", "--listen=0.0.0.0:0"}, {"--listen=127.0.0.1:0"}} {
		store := exec.CommandContext(
			t.Context(), e2etest.Program,
			append([]string{"eventstore", "--data", filepath.Join(t.TempDir(), "events")}, flags...)...,
		)
		log := installtest.LogOf(t, store)
		if err := store.Start(); err != nil {
			t.Fatal(err)
		}
		log.Await("level=WARN", "the event store has no password")
		if err := store.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := store.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestStoreFolderIsClosed checks that other users can neither request a backup nor read the events, also with umask 0
// and a folder that was open to all.
func TestStoreFolderIsClosed(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "events")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	store := exec.CommandContext(
		t.Context(), "sh", "-c", `umask 0; exec "$0" "$@"`, e2etest.Program, "eventstore", "--data", folder, "--listen",
		"127.0.0.1:0",
	)
	log := installtest.LogOf(t, store)
	if err := store.Start(); err != nil {
		t.Fatal(err)
	}
	log.Await("event store is ready")
	wantMode(t, folder, fs.ModeDir|0o770)
	wantMode(t, filepath.Join(folder, "admin.sock"), fs.ModeSocket|0o600)
	if _, said, code := e2etest.Command(t, "eventstore", "stat", folder); code != 0 {
		t.Errorf("stat: %d %s", code, said)
	}
	if err := store.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := store.Wait(); err != nil {
		t.Error(err)
	}
}
