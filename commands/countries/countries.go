// Package countries looks up the country of an IP address.
package countries

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync/atomic"

	"github.com/oschwald/maxminddb-golang/v2"

	"linkledger/commands/watchedfile"
)

// maxSize bounds the file of a DB, in bytes. The largest files with countries have about 130 MB.
const maxSize = 256 << 20

// DB maps IP addresses to countries. Its file has the MaxMind DB format with the record layout of
// GeoLite2-Country. The file is held in memory. Run reads it again when it has changed. DB is safe
// for concurrent use.
type DB struct {
	path  string
	file  *watchedfile.File // used by Run only
	known atomic.Pointer[maxminddb.Reader]
}

// Read reads a file of countries. An error means that the file cannot be used.
func Read(path string, logger *slog.Logger) (*DB, error) {
	c := &DB{path: path}
	file, err := watchedfile.Open(watchedfile.Config{
		Path: path, Content: "countries", MaxSize: maxSize, Load: c.load, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	c.file = file
	return c, nil
}

// Of returns the ISO 3166-1 code of the country of an address, such as DE; empty: unknown.
func (c *DB) Of(address netip.Addr) string {
	var code string
	err := c.known.Load().Lookup(address).DecodePath(&code, "country", "iso_code")
	if err != nil || len(code) != 2 || !isUpper(code[0]) || !isUpper(code[1]) {
		return ""
	}
	return code
}

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

// Run looks every second whether the file has changed, until ctx ends.
func (c *DB) Run(ctx context.Context) error {
	c.file.Run(ctx)
	return nil
}

func (c *DB) load() error {
	// The file is read and not mapped into memory, because an overwritten file would make look-ups
	// fail.
	content, err := os.ReadFile(c.path)
	if err != nil {
		return err
	}
	reader, err := maxminddb.OpenBytes(content)
	if err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	c.known.Store(reader)
	return nil
}
