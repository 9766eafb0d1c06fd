package commands

import (
	"bufio"
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
	path   string
	logger *slog.Logger

	mu      sync.Mutex
	hosts   map[string]struct{}
	read    fileVersion
	checked time.Time
}

// fileVersion tells versions of a file apart.
type fileVersion struct {
	modified time.Time
	size     int64
}

// ReadBlocklist reads a file of blocked hosts. Its error is about the file.
func ReadBlocklist(path string, logger *slog.Logger) (*Blocklist, error) {
	b := &Blocklist{path: path, logger: logger}
	version, err := versionOf(b.path)
	if err == nil {
		err = b.load(version)
	}
	if err != nil {
		return nil, fmt.Errorf("blocked hosts: %w", err)
	}
	b.checked = time.Now()
	return b, nil
}

// Blocks tells whether no link may lead to a host, which is in lower case and without a port.
func (b *Blocklist) Blocks(host string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.checked) >= blocklistInterval {
		b.checked = time.Now()
		b.renew()
	}
	for host != "" {
		if _, ok := b.hosts[host]; ok {
			return true
		}
		_, host, _ = strings.Cut(host, ".")
	}
	return false
}

// renew reads the file again if it has changed.
func (b *Blocklist) renew() {
	version, err := versionOf(b.path)
	if err == nil && version == b.read {
		return
	}
	if err == nil {
		err = b.load(version)
	}
	if err != nil && b.read != version {
		b.read = version // a version that cannot be read is logged once
		b.logger.Error("blocked hosts stay as they were", slog.Any("error", err))
	}
}

// versionOf returns the version of a file; zero for one that is not there.
func versionOf(path string) (fileVersion, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileVersion{}, err
	}
	return fileVersion{info.ModTime(), info.Size()}, nil
}

func (b *Blocklist) load(version fileVersion) (err error) {
	if version.size > maxBlocklist {
		return fmt.Errorf("%s has %d bytes, at most %d are read", b.path, version.size, maxBlocklist)
	}
	file, err := os.Open(b.path)
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
		return fmt.Errorf("%s: %w", b.path, err)
	}
	b.hosts, b.read = hosts, version
	return nil
}
