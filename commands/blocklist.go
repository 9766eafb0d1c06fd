package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	maxBlocklist = 64 << 20 // bytes
	// blocklistInterval is how often the file of a Blocklist is looked at.
	blocklistInterval = time.Second
)

// Blocklist holds hosts that no link may lead to, read from a file with one host per line; what follows a # is a comment.
// A host stands for its subdomains too. The file is read again when it has changed, as noticed within a second while it is
// asked; one that can then not be read leaves the hosts as they were, and is logged once. It is safe for concurrent use.
type Blocklist struct {
	mu      sync.Mutex
	file    watchedFile
	hosts   map[string]struct{}
	checked time.Time
}

// ReadBlocklist reads a file of blocked hosts. Its error is about the file.
func ReadBlocklist(path string, logger *slog.Logger) (*Blocklist, error) {
	b := &Blocklist{checked: time.Now()}
	b.file = watchedFile{path: path, what: "blocked hosts", most: maxBlocklist, load: b.load, logger: logger}
	if err := b.file.open(); err != nil {
		return nil, err
	}
	return b, nil
}

// Blocks tells whether no link may lead to a host, which is in lower case and without a port.
func (b *Blocklist) Blocks(host string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.checked) >= blocklistInterval {
		b.checked = time.Now()
		b.file.renew(context.Background())
	}
	for host != "" {
		if _, ok := b.hosts[host]; ok {
			return true
		}
		_, host, _ = strings.Cut(host, ".")
	}
	return false
}

func (b *Blocklist) load() (err error) {
	file, err := os.Open(b.file.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hosts := make(map[string]struct{})
	lines := bufio.NewScanner(io.LimitReader(file, maxBlocklist))
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if host := strings.Trim(strings.ToLower(strings.TrimSpace(line)), "."); host != "" {
			hosts[host] = struct{}{}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", b.file.path, err)
	}
	b.hosts = hosts
	return nil
}
