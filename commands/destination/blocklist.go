package destination

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"linkledger/commands/watchedfile"
)

const (
	maxBlocklist = 64 << 20 // bytes
	// blocklistInterval is the least time between two checks of the file.
	blocklistInterval = time.Second
)

// Blocklist holds hosts that no link may lead to. It reads them from a file with one host per line;
// a # begins a comment. A host stands for its subdomains and for all its spellings. An IP address
// stands for itself. Blocks reads a changed file again, and looks for a change at most once a
// second. If the changed file cannot be read, the hosts stay as they were, and the failure is
// logged once. Lines that name no host block nothing and are logged. It is safe for concurrent use.
type Blocklist struct {
	path   string
	logger *slog.Logger

	mu      sync.Mutex
	file    *watchedfile.File
	hosts   map[string]struct{}
	checked time.Time
}

// ReadBlocklist reads a file of blocked hosts. An error means that the file cannot be used.
func ReadBlocklist(path string, logger *slog.Logger) (*Blocklist, error) {
	b := &Blocklist{path: path, logger: logger, checked: time.Now()}
	file, err := watchedfile.Open(watchedfile.Config{
		Path: path, Content: "blocked hosts", MaxSize: maxBlocklist, Load: b.load, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	b.file = file
	return b, nil
}

// Blocks reports whether no link may lead to a host. The host is in the form of ShortHost, without
// a port.
func (b *Blocklist) Blocks(host string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.checked) >= blocklistInterval {
		b.checked = time.Now()
		b.file.Renew(context.Background())
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
	file, err := os.Open(b.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hosts := make(map[string]struct{})
	var useless uselessLines
	lines := bufio.NewScanner(io.LimitReader(file, maxBlocklist))
	for number := 1; lines.Scan(); number++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		entry := strings.TrimSpace(line)
		if entry == "" {
			continue
		}
		host, err := blockedHost(entry)
		if err != nil {
			useless.add(number, entry, err)
			continue
		}
		hosts[host] = struct{}{}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", b.path, err)
	}
	b.hosts = hosts
	useless.log(b.logger, b.path)
	return nil
}

// blockedHost returns the host of a line, in the form of ShortHost.
func blockedHost(entry string) (string, error) {
	if strings.Contains(entry, "*") {
		return "", errors.New("a host includes its subdomains, so write it without *")
	}
	entry = strings.Trim(entry, "\ufeff.\u3002\uff0e\uff61") // a byte order mark, and dots
	if address, err := netip.ParseAddr(entry); err == nil && address.Is6() {
		entry = "[" + entry + "]"
	}
	return canonicalHost(entry)
}

const (
	maxUselessLines = 10 // logged of one file
	maxUselessEntry = 80 // bytes logged of a line
)

// uselessLines are the lines of a Blocklist that block nothing.
type uselessLines struct {
	count int
	first []string
}

func (u *uselessLines) add(number int, entry string, err error) {
	u.count++
	if len(u.first) < maxUselessLines {
		u.first = append(
			u.first,
			fmt.Sprintf("line %d, %q: %s", number, entry[:min(len(entry), maxUselessEntry)], err),
		)
	}
}

func (u *uselessLines) log(logger *slog.Logger, path string) {
	if u.count > 0 {
		logger.Warn("lines of the file of blocked hosts block nothing, write one host in each",
			slog.String("file", path), slog.Int("lines", u.count), slog.Any("first", u.first))
	}
}
