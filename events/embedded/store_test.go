package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// serveFailing is serve for a store that cannot be closed without an error.
func serveFailing(t *testing.T, store *Store) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- store.Serve(ln) }()
	t.Cleanup(func() {
		_ = store.Close()
		<-served
	})
	return &server{store, ln.Addr().String()}
}

func TestBlocksStayInMemory(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	large := []proposed{{kind: "test.happened.v1", data: make([]byte, 1<<20)}}
	for i := range 3 * memTable >> 20 { // memtables begin small and double
		stream := fmt.Sprint("s", i)
		if out := s.writer.submit(t.Context(), 0, func(l *ledger) outcome { return l.planAppend(stream, expectNoStream, large) }); out.err != nil {
			t.Fatal(out.err)
		}
	}
	if tables := s.db.Metrics().MemTable; tables.Size+tables.ZombieSize < 2*memTable {
		t.Fatalf("memtables take %d bytes, which shows nothing", tables.Size+tables.ZombieSize)
	}
	hits := s.db.Metrics().BlockCache.Hits
	for range 2 {
		if _, err := loadState(s.db, "s0"); err != nil {
			t.Fatal(err)
		}
	}
	if again := s.db.Metrics().BlockCache; again.Hits == hits {
		t.Errorf("nothing that was read is read from memory, which holds %d blocks", again.Count)
	}
}

func TestOpenOnDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "events")
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if out := s.testAppend("s", expectNoStream, "a"); out.err != nil {
		t.Fatal(out.err)
	}
	if _, err := Open(Config{Dir: dir}); !errors.Is(err, ErrLocked) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("second open: %v, want ErrLocked in one line", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if got := s.Stat().Events; got != uint64(len(systemEvents))+1 {
		t.Errorf("%d events", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

func TestOpenRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, text string
		want       error
	}{
		"newer format": {formatFile, "linkledger events 2\n", ErrFormat},
		"no format":    {formatFile, "hello\n", ErrForeign},
		"other files":  {"notes.txt", "hello\n", ErrForeign},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(Config{Dir: dir})
		if !errors.Is(err, tc.want) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %v in one line", name, err, tc.want)
		}
		if got := listing(t, dir); got != tc.file {
			t.Errorf("%s: the folder holds %q now", name, got)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"a file":        {Dir: file},
		"no folder":     {},
		"negative size": {Dir: t.TempDir(), MaxAppendSize: -1},
		"huge size":     {Dir: t.TempDir(), MaxAppendSize: LargestAppendSize + 1},
	} {
		if s, err := Open(cfg); err == nil {
			s.Close()
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestOpenAfterUnfinishedCreation(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	if err := disk.MkdirAll("store", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LOCK", formatDraft} {
		f, err := disk.Create(disk.PathJoin("store", name), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	s, err := Open(Config{Dir: "store", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCloseEndsSubscriptions(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := dial(t, s)
	all, err := c.SubscribeToAll(testContext(t), esdb.SubscribeToAllOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	one, err := c.SubscribeToStream(testContext(t), "s", esdb.SubscribeToStreamOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for _, sub := range []*esdb.Subscription{all, one} {
		if ev := sub.Recv(); ev.CaughtUp == nil {
			t.Fatalf("got %+v, want caught up", ev)
		}
	}
	if n := s.Stat().Subscriptions; n != 2 {
		t.Fatalf("%d subscriptions, want 2", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []*esdb.Subscription{all, one} {
		ev := sub.Recv()
		if ev.SubscriptionDropped == nil || status.Code(ev.SubscriptionDropped.Error) != codes.Unavailable {
			t.Fatalf("got %+v, want Unavailable", ev)
		}
	}
	if n := s.Stat().Subscriptions; n != 0 {
		t.Fatalf("%d subscriptions after Close", n)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); !errors.Is(err, ErrClosed) {
		t.Fatalf("serve after close: %v", err)
	}
	if out := s.testAppend("s", expectAny, "a"); !errors.Is(out.err, ErrClosed) {
		t.Fatalf("append after close: %+v", out)
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := dialURL(t, "esdb+discover://"+s.addr+"?tls=false")
	appendTo(t, c, "s", esdb.NoStream{}, "a")
	version, err := c.GetServerVersion()
	if err != nil || version.Major != 23 {
		t.Fatalf("version %+v, %v", version, err)
	}
}

func TestGossipOfWildcardListener(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	ln, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	port := ln.Addr().(*net.TCPAddr).Port
	conn, err := grpc.NewClient(fmt.Sprintf("127.0.0.1:%d", port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	info, err := gossip.NewGossipClient(conn).Read(testContext(t), &shared.Empty{})
	if err != nil || len(info.Members) != 1 {
		t.Fatalf("%v, %v", info, err)
	}
	m := info.Members[0]
	if m.HttpEndPoint.Address != "127.0.0.1" || m.HttpEndPoint.Port != uint32(port) || m.State != gossip.MemberInfo_Leader || !m.IsAlive {
		t.Fatalf("member %v", m)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatalf("serve returned %v after Close", err)
	}
}
