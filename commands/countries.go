package commands

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
)

// maxCountries bounds the file of Countries, in bytes. The largest files with countries have about 130 MB.
const maxCountries = 256 << 20

// Countries tells which countries addresses belong to, from a file in the MaxMind DB format with records as GeoLite2-Country
// and its like have them. The file is held in memory, and read again by Run when it has changed; one that can then not be
// read leaves the countries as they were, and is logged once. It is safe for concurrent use.
type Countries struct {
	file  watchedFile // touched by Run only
	known atomic.Pointer[maxminddb.Reader]
}

// ReadCountries reads a file of countries. Its error is about the file.
func ReadCountries(path string, logger *slog.Logger) (*Countries, error) {
	c := &Countries{}
	c.file = watchedFile{path: path, what: "countries", most: maxCountries, load: c.load, logger: logger}
	if err := c.file.open(); err != nil {
		return nil, err
	}
	return c, nil
}

// Of returns the ISO 3166-1 code of the country of an address, such as DE; empty: unknown.
func (c *Countries) Of(address netip.Addr) string {
	var code string
	err := c.known.Load().Lookup(address).DecodePath(&code, "country", "iso_code")
	if err != nil || len(code) != 2 || !isUpper(code[0]) || !isUpper(code[1]) {
		return ""
	}
	return code
}

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

// Run looks every second whether the file has changed, until ctx ends.
func (c *Countries) Run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			c.file.renew(ctx)
		}
	}
}

func (c *Countries) load() error {
	content, err := os.ReadFile(c.file.path) // and not mapped: a file that is written over would fail its readers
	if err != nil {
		return err
	}
	reader, err := maxminddb.OpenBytes(content)
	if err != nil {
		return fmt.Errorf("%s: %w", c.file.path, err)
	}
	c.known.Store(reader)
	return nil
}
