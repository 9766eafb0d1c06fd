package installation_test

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkledger/cmd/linkledger-bench/internal/caller"
	"linkledger/cmd/linkledger-bench/internal/installation"
	"linkledger/internal/programtest"
)

// TestStart runs the real program on a log of some links, with several accounts that create more.
func TestStart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes: run without -short")
	}
	program, err := programtest.Path(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	size := installation.Size{Links: 70, Accounts: 2, Keys: 2}
	s, err := installation.Start(t.Context(), program, filepath.Join(t.TempDir(), "data"), size)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	head, err := s.Store.Head(t.Context())
	if err != nil || s.Last == 0 || head.Commit < s.Last {
		t.Errorf("the last of the links is at %d, the log ends at %d, %v", s.Last, head.Commit, err)
	}
	if n := len(linksOf(t, s, s.Lister, http.MethodGet, "/urls?limit=1000", "")); n != size.Links {
		t.Errorf("%d links are listed, want %d", n, size.Links)
	}
	if len(s.Creators) != size.Accounts*size.Keys {
		t.Fatalf("%d creators for %+v", len(s.Creators), size)
	}
	for _, account := range append([]caller.Account{s.Client, s.Owner}, s.Creators...) {
		linksOf(t, s, account, http.MethodPost, "/urls", `{"urls":[{"long_url":"https://example.com/"}]}`)
	}
	if err := s.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	for _, account := range s.Creators { // both keys of an account have created one
		if n := len(linksOf(t, s, account, http.MethodGet, "/urls", "")); n != size.Keys {
			t.Errorf("%s has %d links, want %d", account.Username, n, size.Keys)
		}
	}
	version, postgres, err := s.Versions(t.Context())
	if err != nil || version != "development" || postgres == "" { // as go build names it
		t.Errorf("the versions are %q and %q, %v", version, postgres, err)
	}
}

func linksOf(t *testing.T, s *installation.Service, account caller.Account, method, path, body string) []string {
	t.Helper()
	client := caller.New(s.Base, 1, account)
	defer client.Close()
	links, err := client.URLs(t.Context(), method, path, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", account.Username, err)
	}
	var hashes []string
	for _, link := range links {
		hashes = append(hashes, link.Hash)
	}
	return hashes
}

// TestStartsAreRefused checks that the error about a program that cannot start has its output.
func TestStartsAreRefused(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes: run without -short")
	}
	folder := filepath.Join(t.TempDir(), "data")
	if _, err := installation.Start(t.Context(), "/bin/false", folder, installation.Size{}); err == nil ||
		!strings.Contains(err.Error(), "make the log") {
		t.Errorf("a program that ends at once: %v", err)
	}
	command := installation.ProgramCommand(t.Context(), "/bin/sh", "-c", "echo the reason >&2; exit 3")
	_, err := command.Output()
	if text := installation.OutputOf(err).Error(); !strings.Contains(text, "the reason") || !strings.Contains(text, "3") {
		t.Errorf("the error of a command is %q", text)
	}
}

// TestNetworkDelays sends bytes there and back through a network.
func TestNetworkDelays(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	echoed := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = io.Copy(conn, conn)
			_ = conn.Close()
		}
		echoed <- err
	}()
	const delay = 20 * time.Millisecond
	network, err := installation.StartNetwork("esdb://"+listener.Addr().String()+"?tls=false", delay)
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(network.URL, "esdb://"), "?tls=false")
	if address == listener.Addr().String() || address == network.URL {
		t.Fatalf("the network is at %s", network.URL)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	answer := make([]byte, 4)
	if _, err = conn.Write([]byte("ping")); err == nil {
		_, err = io.ReadFull(conn, answer)
	}
	if took := time.Since(began); err != nil || string(answer) != "ping" || took < 2*delay {
		t.Errorf("%q comes back after %v, %v; want 2 times %v", answer, took, err, delay)
	}
	_ = conn.Close()
	network.Stop()
	_ = listener.Close()
	<-echoed
	if _, err := installation.StartNetwork("esdb://%zz", delay); err == nil {
		t.Error("an address that is none is taken")
	}
}
